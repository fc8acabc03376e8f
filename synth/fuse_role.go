package synth

import (
	"nxvk/ops"
	"nxvk/synth/kernel"
)

// role is the part that an instruction can have in a unit.
type role uint8

const (
	roleAlone   role = iota // a unit of its own
	roleView                // a view: part of whatever looks through it
	roleCreate              // a value that takes no memory: part of whatever wants it
	rolePoint               // an operation on elements
	roleProduct             // a product of matrices, or a convolution
	roleFold                // a reduction
)

// roleOf says what an instruction can be, by itself, and why that is no part of others
// where it is alone.
func (f *fuser) roleOf(in *ops.Instr) (role, reason) {
	switch {
	case len(in.Outs) != 1:
		return roleAlone, manyResults
	case !f.t.computes(in.Outs[0].Type.DType):
		return roleAlone, otherType
	}
	for _, o := range in.Ins {
		if why := f.takes(o); why != "" {
			return roleAlone, why
		}
	}
	info := in.Op.Info()
	switch {
	case in.Op == ops.Dot || in.Op == ops.Conv:
		return roleProduct, ""
	case in.Op == ops.Constant || in.Op == ops.Iota || in.Op == ops.Eye:
		return roleCreate, ""
	case in.Op == ops.Bitcast:
		return f.bitcast(in)
	case info.Kind == ops.Movement:
		return f.looking(in)
	case info.Kind == ops.Pointwise:
		if in.Op == ops.AsType || codeOf(in, f.typesOf(in)).For(f.t.computeType(in, f.typesOf(in)).Class()) != "" {
			return rolePoint, ""
		}
	case info.Kind == ops.Reduce && in.Ins[0].Lit == nil:
		if c := computes(in, f.typesOf(in)); info.Code.For(c.Class()) == "" {
			return roleAlone, ownKernels
		}
		if f.typeOf(in.Ins[0]).Size() > in.Outs[0].Type.Size() {
			return roleFold, ""
		}
		return roleAlone, notFolding
	}
	return roleAlone, ownKernels
}

// takes says why a kernel may not have an operand, which must be a value of a type that
// the device has, or a number.
func (f *fuser) takes(o ops.Operand) reason {
	switch {
	case o.Lit != nil && len(o.Lit.Type.Shape) > 0:
		return readsTensor
	case o.Lit == nil && !f.t.computes(f.typeOf(o).DType):
		return otherType
	}
	return ""
}

// looking is the role of a movement of elements.
func (f *fuser) looking(in *ops.Instr) (role, reason) {
	switch {
	case !f.t.allows(RuleViews):
		return roleAlone, off(RuleViews)
	case in.Ins[0].Lit != nil:
		return roleAlone, ownKernels
	}
	x := f.typeOf(in.Ins[0])
	_, ok := viewOf(in, x.Shape)
	switch {
	case in.Op == ops.Pad && !ok:
		return rolePoint, ""
	case in.Op == ops.Pad && in.Ins[1].Lit == nil: // nobody looks at the padding
		return roleAlone, ownKernels
	case x.DType == in.Outs[0].Type.DType && (ok || in.Op == ops.Slice):
		return roleView, ""
	}
	return roleAlone, ownKernels
}

// bitcast is an operation on elements where these are one word: the parts of a complex
// number are two.
func (f *fuser) bitcast(in *ops.Instr) (role, reason) {
	if in.Ins[0].Lit != nil || f.typeOf(in.Ins[0]).DType.IsComplex() || in.Outs[0].Type.DType.IsComplex() {
		return roleAlone, otherType
	}
	return rolePoint, ""
}

// computes reports whether a device loads, computes and stores a type.
func (t *Target) computes(d ops.DType) bool {
	switch elem := storage[d]; elem {
	case kernel.U64, kernel.I64:
		return t.Int64
	case kernel.F64:
		return t.Float64
	default:
		return t.narrow(elem)
	}
}

// cost is about how many primitive operations an instruction takes for an
// element.
func (t *Target) cost(in *ops.Instr, types []ops.Type) int {
	switch in.Op.Info().Kind {
	case ops.Create, ops.Movement:
		if in.Op == ops.Pad {
			return paddingCost
		}
		return 1
	case ops.Pointwise:
		if in.Op == ops.AsType {
			return conversionCost
		}
	}
	info, c := in.Op.Info(), t.computeType(in, types)
	arity, truths := len(in.Ins), truthsOf(info)
	if info.Kind == ops.Reduce {
		arity = 2
		if info.Compare {
			truths = 2
		}
	}
	fn, err := t.expression(info.Code, c, arity, truths)
	if err != nil {
		return expensive
	}
	return len(fn.Nodes)
}

// The cost of a conversion, between any types, of an element or padding, and that of
// what cannot be told.
const (
	conversionCost = 4
	paddingCost    = 6
	expensive      = 1 << 20
)
