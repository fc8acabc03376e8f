package graph

import (
	"math"
	"slices"

	"nxvk/ops"
)

// whole reports whether elements of a type are integers that take whole bytes:
// of narrower ones a client may have sent bits that do not count.
func whole(d ops.DType) bool { return d.IsInteger() && d.Bits() >= 8 }

// convertTwice leaves out a type on the way to another.
func convertTwice(w *work, in *ops.Instr) bool {
	m := w.inner(in, ops.AsType)
	if m == nil {
		return false
	}
	from, by, to := w.typeOf(m.Ins[0]).DType, m.Outs[0].Type.DType, in.Outs[0].Type.DType
	return whole(from) && whole(to) && holds(by, from) && become(in, ops.AsType, slices.Clone(m.Ins))
}

// holds reports whether an integer type has all numbers of another.
func holds(d, of ops.DType) bool {
	if d.Class() == of.Class() {
		return d.Bits() >= of.Bits()
	}
	return d.Class() == ops.Signed && of.Class() == ops.Unsigned && d.Bits() > of.Bits()
}

// numberOf is the scalar of a literal tensor of one element, nil for any other operand.
func numberOf(o ops.Operand) *ops.Literal {
	lit := o.Lit
	if lit == nil || lit.Hold != nil || len(lit.Type.Shape) == 0 || lit.Type.Size() != 1 || len(lit.Data) < lit.Type.Bytes() {
		return nil
	}
	t := ops.Type{DType: lit.Type.DType}
	return &ops.Literal{Type: t, Data: lit.Data[:t.Bytes()]}
}

// constantOperand has operations on elements take a number in the place of a
// tensor of equal elements, where their shape follows from the other operands.
func constantOperand(w *work, in *ops.Instr) bool {
	if in.Op.Info().Kind != ops.Pointwise {
		return false
	}
	for i, o := range in.Ins {
		lit := numberOf(o)
		if o.Lit == nil {
			lit = w.constantOf(o)
		}
		if lit == nil {
			continue
		}
		in.Ins[i] = ops.Operand{Lit: lit}
		types := make([]ops.Type, len(in.Ins))
		for k, p := range in.Ins {
			types[k] = w.typeOf(p)
		}
		if in.Check(types) == nil {
			return true
		}
		in.Ins[i] = o
	}
	return false
}

// undone takes two operations that undo one another away.
func undone(w *work, in *ops.Instr) bool {
	if in.Op != ops.Negate && in.Op != ops.BitwiseNot {
		return false
	}
	m, t := w.inner(in, in.Op), in.Outs[0].Type
	return m != nil && whole(t.DType) && m.Outs[0].Type.Equal(t) && w.typeOf(m.Ins[0]).Equal(t) &&
		become(in, ops.Reshape, slices.Clone(m.Ins))
}

// neutrals has the number that leaves the other operand as it is; of those
// that are not commutative it is the second operand.
var neutrals = map[ops.Op]int64{ops.Add: 0, ops.Subtract: 0, ops.Multiply: 1, ops.Quotient: 1, ops.BitwiseOr: 0,
	ops.BitwiseXor: 0, ops.BitwiseAnd: -1, ops.LeftShift: 0, ops.RightShift: 0}

func neutral(w *work, in *ops.Instr) bool {
	n, ok := neutrals[in.Op]
	if !ok {
		return false
	}
	for i, o := range in.Ins {
		other := in.Ins[1-i]
		if i == 0 && in.Op.Info().Flags&ops.Commutative == 0 || other.Lit != nil {
			continue
		}
		if w.equals(o, in.Outs[0].Type.DType, n) && w.typeOf(other).Equal(in.Outs[0].Type) {
			return become(in, ops.Reshape, []ops.Operand{other})
		}
	}
	return false
}

// equals reports whether all elements of an operand are the integer n once they
// are converted to a type of integers.
func (w *work) equals(o ops.Operand, d ops.DType, n int64) bool {
	lit := w.constantOf(o)
	if lit == nil || !whole(d) {
		return false
	}
	x, ok := lit.Integer()
	shift := 64 - d.Bits()
	return ok && x<<shift == n<<shift
}

// resultType converts a literal of arithmetic in floats to the type of the result, where that has its number and the other
// operand is of that type. So one kernel serves literals of all types, and package codegen knows the operands of a quotient
// of bf16 or f16.
func resultType(w *work, in *ops.Instr) (changed bool) {
	if !arithmetic(in) {
		return false
	}
	d := in.Outs[0].Type.DType
	for i, o := range in.Ins {
		if o.Lit == nil || o.Lit.Type.DType == d || len(o.Lit.Type.Shape) > 0 || w.typeOf(in.Ins[1-i]).DType != d {
			continue
		}
		if x, ok := o.Lit.Number(); ok {
			if lit := ops.NumberLiteral(d, x); lit != nil {
				in.Ins[i] = ops.Operand{Lit: lit}
				changed = true
			}
		}
	}
	return changed
}

// arithmetic is one of two operands whose result is a float.
func arithmetic(in *ops.Instr) bool {
	switch in.Op {
	case ops.Add, ops.Subtract, ops.Multiply, ops.Divide:
		return in.Outs[0].Type.DType.IsFloat()
	}
	return false
}

// largestPower bounds the exponents of the powers of two whose inverses are normal numbers of a float.
var largestPower = map[ops.DType]int{ops.F64: 1022, ops.F32: 126, ops.BF16: 126, ops.F16: 14}

// byPowerOfTwo multiplies by the inverse of a power of two.
func byPowerOfTwo(w *work, in *ops.Instr) bool {
	if in.Op != ops.Divide || !arithmetic(in) || in.Ins[1].Lit == nil {
		return false
	}
	d := in.Outs[0].Type.DType
	x, ok := in.Ins[1].Lit.Number()
	fraction, e := math.Frexp(math.Abs(x))
	if e--; !ok || fraction != 0.5 || max(e, -e) > largestPower[d] {
		return false
	}
	inverse := ops.NumberLiteral(d, 1/x)
	if inverse == nil || in.Ins[0].Lit == nil && !w.typeOf(in.Ins[0]).DType.IsInteger() && w.typeOf(in.Ins[0]).DType != d {
		return false
	}
	inverse.Type.Shape = in.Ins[1].Lit.Type.Shape
	return become(in, ops.Multiply, []ops.Operand{in.Ins[0], {Lit: inverse}})
}

// reductionOfOne replaces a reduction of axes that have one place each by a reshape.
func reductionOfOne(w *work, in *ops.Instr) bool {
	if in.Op.Info().Kind != ops.Reduce || in.Ins[0].Lit != nil {
		return false
	}
	from, to := w.typeOf(in.Ins[0]), in.Outs[0].Type
	if from.Size() != to.Size() || to.Size() == 0 || from.DType != to.DType || !whole(to.DType) {
		return false
	}
	if in.Op == ops.Any || in.Op == ops.All {
		if m := w.producer(in.Ins[0]); m == nil || m.Op.Info().Result != ops.BoolType {
			return false
		}
	}
	return become(in, ops.Reshape, slices.Clone(in.Ins))
}
