package leapfrog

import (
	"nxvk/ops"
	"nxvk/synth/lowering"
)

// costs estimates the work of an element.
func costs(in *ops.Instr) int {
	switch in.Op {
	case ops.Exp, ops.Log, ops.Log1p, ops.Expm1, ops.Sigmoid, ops.Tanh, ops.Pow, ops.Sin, ops.Cos, ops.Erf, ops.Erfc, ops.ErfInv:
		return 20
	case ops.Divide, ops.Sqrt, ops.Rsqrt:
		return 4
	}
	if k := in.Op.Info().Kind; k == ops.Pointwise || takesMany(in) {
		return 1
	}
	return 0
}

// takesMany reports whether elements of an instruction's result each take many of
// its operands'.
func takesMany(in *ops.Instr) bool {
	k := in.Op.Info().Kind
	return k == ops.Reduce || k == ops.Contract || in.Op == ops.IndexedAdd
}

// supported reports whether a kernel can compute an instruction.
func (j *job) supported(in *ops.Instr) error {
	out := in.Outs[0].Type
	switch k := in.Op.Info().Kind; {
	case out.DType.IsComplex():
		return lowering.Unsupported("%v", out.DType)
	case (takesMany(in) || j.given(in.Outs[0].ID)) && out.DType != j.num:
		return lowering.Unsupported("%v of %v in a density of %v", in.Op, out.DType, j.num)
	case k == ops.Contract && in.Op != ops.Dot:
		return lowering.Unsupported("%v in a leapfrog kernel", in.Op)
	case k == ops.Pointwise || k == ops.Reduce || k == ops.Contract:
		return nil
	}
	if _, ok := leapfrogViews[in.Op]; !ok {
		return lowering.Unsupported("%v in a leapfrog kernel", in.Op)
	}
	if (in.Op == ops.Slice || in.Op == ops.PutSlice) && len(in.Attrs[0]) == 0 && len(out.Shape) > 0 {
		return lowering.Unsupported("starts that are computed")
	}
	return nil
}
