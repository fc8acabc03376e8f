package dot

import (
	"nxvk/ops"
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
)

// SplitAlways has SplitPays say so of every product. Tests set it.
var SplitAlways bool

// SplitPays reports whether a product of f32 and bf16 is sooner carried out as two products of bf16 on matrix
// hardware, one of the f32 rounded and one of what is left (graph.Split), than by multiply-adds of f32.
func SplitPays(in *ops.Instr, types []ops.Type, t *lowering.Target) bool {
	if SplitAlways {
		return true
	}
	left, right, k := pairAxes(types[0].Shape, types[1].Shape, in.Attrs)
	m, n, batches, target := left.free(), right.free(), left.batches(), GEMMTarget(t)
	if _, ok := target.MatrixProduct(ops.BF16, m, n, k, batches); !ok || m*n*k*batches == 0 {
		return false
	}
	a, okA := left.collapse()
	b, okB := right.collapse()
	if !okA || !left.contiguous(a) {
		a = left.ordered()
	}
	if !okB || !right.contiguous(b) {
		b = right.ordered()
	}
	whole := problem(ops.F32, &left, &right, k, a, b)
	half := whole
	half.Operands = ops.BF16
	wide, narrow := types[0].Size(), types[1].Size()
	if types[0].DType == ops.BF16 {
		wide, narrow = narrow, wide
	}
	const (
		converts = 6 // bytes for an element of bf16 that becomes f32
		splits   = 8 // for one of f32 that becomes two of bf16
		adds     = 8 // for a sum that is written and read again
	)
	return 2*half.Seconds(target)+gemm.Moved(splits*wide+adds*in.Outs[0].Type.Size()) <
		whole.Seconds(target)+gemm.Moved(converts*narrow)
}
