package ops

import "testing"

// TestExamples: each operation that computes has an example, and the table takes
// it in some type.
func TestExamples(t *testing.T) {
	for op := Op(0); op < Count; op++ {
		taken, last := 0, error(nil)
		for _, d := range DTypes() {
			in, types, ok := Example(op, d)
			if !ok {
				if k := op.Info().Kind; k != Control && op != Tensor && !op.Info().Internal {
					t.Errorf("%v has no example", op)
				}
				taken++
				break
			}
			if err := in.Check(types); err != nil {
				last = err
			} else {
				taken++
			}
		}
		if taken == 0 {
			t.Errorf("the example of %v fits no type: %v", op, last)
		}
	}
}
