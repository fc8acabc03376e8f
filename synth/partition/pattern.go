package partition

import (
	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// opPattern is how an instruction can take part in a fusion (TVM has similar op patterns).
type opPattern uint8

const (
	patternOpaque      opPattern = iota // a fusion of its own
	patternView                         // a view: part of every fusion that reads through it
	patternCreate                       // a value without memory: part of every reader
	patternElementwise                  // elementwise
	patternContraction                  // dot or conv
	patternReduction                    // a reduction along axes
)

// patternOf classifies an instruction, and gives a reason if it is opaque.
func (f *partitioner) patternOf(in *ops.Instr) (opPattern, Reason) {
	switch {
	case len(in.Outs) != 1:
		return patternOpaque, manyResults
	case !f.t.Computes(in.Outs[0].Type.DType):
		return patternOpaque, OtherType
	}
	for _, o := range in.Ins {
		if why := f.operandReason(o); why != "" {
			return patternOpaque, why
		}
	}
	info := in.Op.Info()
	switch {
	case in.Op == ops.Dot || in.Op == ops.Conv:
		return patternContraction, ""
	case in.Op == ops.Constant || in.Op == ops.Iota || in.Op == ops.Eye:
		return patternCreate, ""
	case in.Op == ops.Bitcast:
		return f.bitcastPattern(in)
	case info.Kind == ops.Index:
		return f.gatherPattern(in)
	case info.Kind == ops.Movement:
		return f.movementPattern(in)
	case info.Kind == ops.Pointwise:
		if in.Op == ops.AsType || codegen.CodeFor(in, f.typesOf(in)).For(codegen.ComputeType(f.t, in, f.typesOf(in)).Class()) != "" {
			return patternElementwise, ""
		}
	case info.Kind == ops.Reduce && in.Ins[0].Lit == nil:
		if c := codegen.ComputeClass(in, f.typesOf(in)); info.Code.For(c.Class()) == "" {
			return patternOpaque, ownKernels
		}
		if f.typeOf(in.Ins[0]).Size() > in.Outs[0].Type.Size() {
			return patternReduction, ""
		}
		return patternOpaque, nothingToReduce
	}
	return patternOpaque, ownKernels
}

// operandReason gives the reason why a kernel cannot read an operand. It can read values of
// types that the device supports, and scalar literals.
func (f *partitioner) operandReason(o ops.Operand) Reason {
	switch {
	case o.Lit != nil && len(o.Lit.Type.Shape) > 0:
		return ReadsTensor
	case o.Lit == nil && !f.t.Computes(f.typeOf(o).DType):
		return OtherType
	}
	return ""
}

// movementPattern classifies a movement of elements.
func (f *partitioner) movementPattern(in *ops.Instr) (opPattern, Reason) {
	switch {
	case !f.t.Allows(lowering.RuleViews):
		return patternOpaque, off(lowering.RuleViews)
	case in.Ins[0].Lit != nil:
		return patternOpaque, ownKernels
	}
	switch {
	case fusion.JoinsParts(in.Op):
		return f.partsPattern(in)
	case fusion.Updates(in):
		return f.updatePattern(in)
	}
	x := f.typeOf(in.Ins[0])
	_, ok := strided.ViewOf(in, x.Shape)
	switch {
	case in.Op == ops.Pad && !ok:
		return patternElementwise, ""
	case in.Op == ops.Pad && in.Ins[1].Lit == nil: // the padding value is a tensor that is not read
		return patternOpaque, ownKernels
	case x.DType == in.Outs[0].Type.DType && (ok || in.Op == ops.Slice):
		return patternView, ""
	}
	return patternOpaque, ownKernels
}

// bitcastPattern is elementwise if an element is one word. Complex numbers are two.
func (f *partitioner) bitcastPattern(in *ops.Instr) (opPattern, Reason) {
	if in.Ins[0].Lit != nil || f.typeOf(in.Ins[0]).DType.IsComplex() || in.Outs[0].Type.DType.IsComplex() {
		return patternOpaque, OtherType
	}
	return patternElementwise, ""
}
