package synth

import (
	"slices"
	"testing"

	"nxvk/ops"
)

// Starts that are operands, values and literals of several types, move slices as
// starts that are attributes do; they are brought to where the slice fits.
func TestStartsThatAreOperands(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, d := range []ops.DType{ops.U8, ops.F32, ops.F64} {
			x, y := random(typ(d, 6, 9, 8), 41), random(typ(d, 2, 9, 4), 42)
			for _, at := range [][]int64{{0, 0, 0}, {3, 0, 4}, {-1, 5, 100}, {4, -3, 3}} {
				for _, it := range []ops.DType{ops.S8, ops.S32, ops.S64} {
					var operands []tensor
					var given []int
					for i, v := range at {
						operands = append(operands, tensor{typ: typ(it), n: []int64{v}, lit: i == 2 && it == ops.S32})
						given = append(given, int(v))
					}
					lengths, strides := []int{2, 9, 4}, []int{1, 4, 1}
					out := typ(d, 2, 3, 4)
					want := run(t, target, instr(ops.Slice, out, clamped(given, x, lengths), lengths, strides), x)
					got := run(t, target, instr(ops.Slice, out, []int{}, lengths, strides), append([]tensor{x}, operands...)...)
					same(t, describe(ops.Slice, x.typ), got, want)
					want = run(t, target, instr(ops.PutSlice, x.typ, clamped(given, x, y.typ.Shape)), x, y)
					got = run(t, target, instr(ops.PutSlice, x.typ, []int{}), append([]tensor{x, y}, operands...)...)
					same(t, describe(ops.PutSlice, x.typ), got, want)
				}
			}
		}
	})
}

func clamped(at []int, x tensor, lengths []int) []int {
	at = slices.Clone(at)
	for i := range at {
		at[i] = max(0, min(at[i], x.typ.Shape[i]-lengths[i]))
	}
	return at
}
