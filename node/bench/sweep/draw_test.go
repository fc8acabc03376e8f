package sweep

import (
	"bytes"
	"reflect"
	"testing"
)

// TestDraw draws cases of several seeds: each is well formed and within the limits, and does
// not depend on how many are drawn.
func TestDraw(t *testing.T) {
	for seed := range uint64(6) {
		for _, limit := range []int{1 << 16, 1 << 22, MaxBytes} {
			o := Options{Seed: seed, Count: 300, MaxBytes: limit}
			cases, err := Draw(o)
			if err != nil {
				t.Fatal(err)
			}
			for i := range cases {
				c := &cases[i]
				if _, _, err := c.Region(); err != nil {
					t.Fatalf("seed %d, case %d, %s: %v", seed, c.ID, c.Name, err)
				}
				for _, p := range c.Params {
					if x, err := p.of(); err != nil || x.Bytes() > limit {
						t.Errorf("seed %d, case %d, %s: an operand of %v has %d bytes, the limit is %d: %v", seed, c.ID, c.Name, x, x.Bytes(), limit, err)
					}
				}
				if c.Ops > opsPerByte*float64(limit) {
					t.Errorf("seed %d, case %d, %s: %g operations", seed, c.ID, c.Name, c.Ops)
				}
			}
			o.Count = 40
			few, err := Draw(o)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(few, cases[:40]) {
				t.Errorf("seed %d: the first cases depend on the number of cases", seed)
			}
			var list bytes.Buffer
			if err := Write(&list, few); err != nil {
				t.Fatal(err)
			}
			back, err := Read(&list)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(back, few) {
				t.Errorf("seed %d: the list that is read differs from the one that is written", seed)
			}
		}
	}
}
