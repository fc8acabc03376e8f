package example

import (
	"testing"

	"nxvk/ops"
)

// TestExamples: each operation that computes has an example, and the table takes
// it in some type.
func TestExamples(t *testing.T) {
	for op := ops.Op(0); op < ops.Count; op++ {
		taken, last := 0, error(nil)
		for _, d := range ops.DTypes() {
			in, types, ok := Of(op, d)
			if !ok {
				if k := op.Info().Kind; k != ops.Control && op != ops.Tensor && k != ops.Composite {
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
