package fallback

import (
	"testing"

	"nxvk/fallback/region"
	"nxvk/ops"
)

// TestNonzero holds predicates to what comparing with zero gives, for every
// type and values that differ from zero in one bit.
func TestNonzero(t *testing.T) {
	for _, d := range ops.DTypes() {
		scalar := ops.Type{DType: d}
		zero := Value{Type: scalar, Data: make([]byte, scalar.Bytes())}
		if region.Nonzero(zero) {
			t.Errorf("zero of %v is nonzero", d)
		}
		for bit := range d.Bits() {
			v := Value{Type: scalar, Data: make([]byte, scalar.Bytes())}
			v.Data[bit/8] = 1 << (bit % 8)
			in := ops.Instr{Op: ops.NotEqual, Outs: []ops.Result{{Type: ops.Type{DType: ops.U8}}}}
			want := []byte{0}
			if err := Run(&in, []Value{v, zero}, []Value{{Type: ops.Type{DType: ops.U8}, Data: want}}); err != nil {
				t.Fatal(err)
			}
			if got := region.Nonzero(v); got != (want[0] != 0) {
				t.Errorf("%v with bit %d: got %v, want %v", d, bit, got, want[0] != 0)
			}
		}
	}
}
