package synth_test

import (
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// Starts that are operands, values and literals of several types, move slices as
// starts that are attributes do; they are brought to where the slice fits.
func TestStartsThatAreOperands(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, d := range []ops.DType{ops.U8, ops.F32, ops.F64} {
			x, y := synthtest.Random(synthtest.Type(d, 6, 9, 8), 41), synthtest.Random(synthtest.Type(d, 2, 9, 4), 42)
			for _, at := range [][]int64{{0, 0, 0}, {3, 0, 4}, {-1, 5, 100}, {4, -3, 3}} {
				for _, it := range []ops.DType{ops.S8, ops.S32, ops.S64} {
					var operands []synthtest.Tensor
					var given []int
					for i, v := range at {
						operands = append(operands, synthtest.Tensor{Typ: synthtest.Type(it), N: []int64{v}, Lit: i == 2 && it == ops.S32})
						given = append(given, int(v))
					}
					lengths, strides := []int{2, 9, 4}, []int{1, 4, 1}
					out := synthtest.Type(d, 2, 3, 4)
					want := synthtest.Run(t, target, synthtest.Instr(ops.Slice, out, clamped(given, x, lengths), lengths, strides), x)
					got := synthtest.Run(t, target, synthtest.Instr(ops.Slice, out, []int{}, lengths, strides), append([]synthtest.Tensor{x}, operands...)...)
					synthtest.Same(t, synthtest.Describe(ops.Slice, x.Typ), got, want)
					want = synthtest.Run(t, target, synthtest.Instr(ops.PutSlice, x.Typ, clamped(given, x, y.Typ.Shape)), x, y)
					got = synthtest.Run(t, target, synthtest.Instr(ops.PutSlice, x.Typ, []int{}), append([]synthtest.Tensor{x, y}, operands...)...)
					synthtest.Same(t, synthtest.Describe(ops.PutSlice, x.Typ), got, want)
				}
			}
		}
	})
}

func clamped(at []int, x synthtest.Tensor, lengths []int) []int {
	at = slices.Clone(at)
	for i := range at {
		at[i] = max(0, min(at[i], x.Typ.Shape[i]-lengths[i]))
	}
	return at
}
