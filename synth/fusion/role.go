package fusion

import (
	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// opPattern is the part that an instruction can have in a unit.
type opPattern uint8

const (
	patternOpaque      opPattern = iota // a unit of its own
	patternView                         // a view: part of whatever looks through it
	patternCreate                       // a value that takes no memory: part of whatever wants it
	patternElementwise                  // an operation on elements
	patternContraction                  // a product of matrices, or a convolution
	patternReduction                    // a reduction
)

// patternOf says what an instruction can be, by itself, and why that is no part of others
// where it is alone.
func (f *partitioner) patternOf(in *ops.Instr) (opPattern, Reason) {
	switch {
	case len(in.Outs) != 1:
		return patternOpaque, manyResults
	case !f.t.Computes(in.Outs[0].Type.DType):
		return patternOpaque, OtherType
	}
	for _, o := range in.Ins {
		if why := f.takes(o); why != "" {
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
		return f.bitcast(in)
	case info.Kind == ops.Movement:
		return f.looking(in)
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
		return patternOpaque, notFolding
	}
	return patternOpaque, ownKernels
}

// takes says why a kernel may not have an operand, which must be a value of a type that
// the device has, or a number.
func (f *partitioner) takes(o ops.Operand) Reason {
	switch {
	case o.Lit != nil && len(o.Lit.Type.Shape) > 0:
		return ReadsTensor
	case o.Lit == nil && !f.t.Computes(f.typeOf(o).DType):
		return OtherType
	}
	return ""
}

// looking is the role of a movement of elements.
func (f *partitioner) looking(in *ops.Instr) (opPattern, Reason) {
	switch {
	case !f.t.Allows(lowering.RuleViews):
		return patternOpaque, off(lowering.RuleViews)
	case in.Ins[0].Lit != nil:
		return patternOpaque, ownKernels
	}
	x := f.typeOf(in.Ins[0])
	_, ok := strided.ViewOf(in, x.Shape)
	switch {
	case in.Op == ops.Pad && !ok:
		return patternElementwise, ""
	case in.Op == ops.Pad && in.Ins[1].Lit == nil: // nobody looks at the padding
		return patternOpaque, ownKernels
	case x.DType == in.Outs[0].Type.DType && (ok || in.Op == ops.Slice):
		return patternView, ""
	}
	return patternOpaque, ownKernels
}

// bitcast is an operation on elements where these are one word: the parts of a complex
// number are two.
func (f *partitioner) bitcast(in *ops.Instr) (opPattern, Reason) {
	if in.Ins[0].Lit != nil || f.typeOf(in.Ins[0]).DType.IsComplex() || in.Outs[0].Type.DType.IsComplex() {
		return patternOpaque, OtherType
	}
	return patternElementwise, ""
}
