package sweep

import (
	"slices"

	"nxvk/ops"
)

// fillOf is the fill of operand i of an operation.
func fillOf(op ops.Op, i int) Fill {
	f := op.Info()
	last := i == f.Arity-1
	switch {
	case f.Kind == ops.Index && i == 1:
		return Indices
	case f.Flags&ops.Predicate != 0 && i == 0:
		return Fraction
	case (op == ops.Cholesky || op == ops.Eigh) && i == 0:
		return Symmetric
	case f.Kind == ops.LinAlg && op != ops.QR && op != ops.SVD && i == 0:
		return Dominant
	case f.Domain == ops.Positive, f.Domain == ops.AboveOne, f.Domain == ops.Small, f.Domain == ops.NonZero && last, f.Domain == ops.ShiftBy && last:
		return Positive
	case f.Domain == ops.OpenUnit:
		return Fraction
	}
	return Uniform
}

// pointwise adds an operation to operands of these types.
func (b *builder) pointwise(op ops.Op, types ...ops.Type) {
	var ins []int
	for i, t := range types {
		ins = append(ins, b.param(fillOf(op, i), t))
	}
	d := types[len(types)-1].DType
	switch f := op.Info(); {
	case f.Result == ops.BoolType:
		d = ops.U8
	case f.Result == ops.FloatType && d.IsInteger():
		d = ops.F32
	case f.Result == ops.RealType:
		d = d.Real()
	}
	b.finish(b.do(op, d, nil, ins...))
}

// pointwiseOps lists the pointwise operations for which f is true.
func pointwiseOps(f func(*ops.Info) bool) (list []ops.Op) {
	for op := range ops.Count {
		if i := op.Info(); i.Kind == ops.Pointwise && f(i) {
			list = append(list, op)
		}
	}
	return list
}

// The operations that families draw. ofPairs take complex numbers.
var (
	simple      = []ops.Op{ops.Abs, ops.Negate, ops.Sign, ops.Ceil, ops.Floor, ops.Round, ops.IsNaN, ops.IsInfinity, ops.LogicalNot}
	bitwise     = []ops.Op{ops.BitwiseNot, ops.PopulationCount, ops.CountLeadingZeros}
	ofPairs     = []ops.Op{ops.Conjugate, ops.RealPart, ops.Imag, ops.Phase, ops.Abs}
	bits        = []ops.Op{ops.BitwiseAnd, ops.BitwiseOr, ops.BitwiseXor, ops.LeftShift, ops.RightShift, ops.Quotient}
	arith       = []ops.Op{ops.Add, ops.Subtract, ops.Multiply, ops.Divide, ops.Min, ops.Max, ops.Remainder}
	comparisons = pointwiseOps(func(i *ops.Info) bool { return i.Arity == 2 && i.Result == ops.BoolType })
	// functions are those that compute more than an instruction of the device.
	functions = append(pointwiseOps(func(i *ops.Info) bool { return i.Arity == 1 && i.Result == ops.FloatType }), ops.Pow, ops.Atan2)
)

// noComplex are functions that PyTorch has for real numbers alone.
var noComplex = []ops.Op{ops.Erf, ops.Erfc, ops.ErfInv, ops.Cbrt, ops.Atan2, ops.Expm1, ops.Log1p}

func drawFunction(b *builder) {
	op := one(b, functions...)
	d := b.dtype(floats)
	switch {
	case b.chance(5) && op != ops.Pow:
		d = ops.S32
	case b.chance(5) && !slices.Contains(noComplex, op):
		d = ops.C64
	}
	n := op.Info().Arity
	t := typed(d, b.shape(b.rank(), b.elements(d, n+1))...)
	b.pointwise(op, slices.Repeat([]ops.Type{t}, n)...)
}

func drawUnary(b *builder) {
	op, d := one(b, simple...), b.dtype(reals)
	switch k := b.IntN(10); {
	case k < 2:
		op, d = one(b, bitwise...), b.dtype(ints)
	case k < 4:
		op, d = one(b, ofPairs...), ops.C64
	case d.IsInteger() && op != ops.LogicalNot:
		op = one(b, ops.Abs, ops.Negate, ops.Sign)
	}
	b.pointwise(op, typed(d, b.shape(b.rank(), b.elements(d, 2))...))
}

func drawBinary(b *builder) {
	op, d := one(b, arith...), b.dtype(reals)
	if b.chance(20) {
		op, d = one(b, bits...), b.dtype(ints)
	}
	t := typed(d, b.shape(b.rank(), b.elements(d, 3))...)
	b.pointwise(op, t, t)
}

func drawCompare(b *builder) {
	d := b.dtype(reals)
	t := typed(d, b.shape(b.rank(), b.elements(d, 3))...)
	switch k := b.IntN(10); {
	case k < 3:
		b.pointwise(ops.Select, typed(ops.U8, t.Shape...), t, t)
	case k < 5:
		x := b.param(Uniform, t)
		b.finish(b.do(ops.Clip, d, nil, x, b.number(d, 0), b.number(d, 1)))
	default:
		b.pointwise(one(b, comparisons...), t, t)
	}
}

func drawCast(b *builder) {
	from, to := b.dtype(reals), b.dtype(reals)
	if from == to {
		to = one(b, ops.BF16, ops.F64, ops.S32)
	}
	wide := from
	if to.Size() > from.Size() {
		wide = to
	}
	x := b.param(Positive, typed(from, b.shape(b.rank(), b.elements(wide, 2))...))
	b.remark("to %v", to)
	b.finish(b.do(ops.AsType, to, nil, x))
}

func drawCreate(b *builder) {
	d := b.dtype(reals)
	switch s := b.shape(b.rank(), b.elements(d, 2)); b.IntN(3) {
	case 0:
		b.finish(b.shaped(ops.Constant, typed(d, s...), nil, b.number(d, 1)))
	case 1:
		axis := b.IntN(len(s)+1) - 1
		b.remark("axis %d", axis)
		b.finish(b.shaped(ops.Iota, typed(d, s...), [][]int{{axis}}))
	default:
		n := b.near(b.between(32, 16384))
		b.finish(b.shaped(ops.Eye, typed(d, n, n), nil))
	}
}

// drawBroadcast draws operands that differ in shape: rows, columns, planes and scalars.
func drawBroadcast(b *builder) {
	d := b.dtype(reals)
	s := b.shape(2+b.IntN(3), b.elements(d, 2))
	other := slices.Clone(s)
	if b.chance(20) {
		x := b.param(Positive, typed(d, s[len(s)-1:]...))
		axes := []int{len(s) - 1}
		b.remark("to %v", s)
		b.finish(b.shaped(ops.BroadcastTo, typed(d, s...), [][]int{axes}, x))
		return
	}
	switch b.IntN(5) {
	case 0:
		other = other[len(other)-1:]
	case 1:
		other[len(other)-1] = 1
	case 2:
		other[0] = 1
	case 3:
		other[b.IntN(len(other))] = 1
	case 4:
		other = ops.Shape{}
	}
	op := one(b, ops.Add, ops.Subtract, ops.Multiply, ops.Divide, ops.Max, ops.Greater)
	if left := typed(d, s...); b.chance(30) && len(other) == len(s) && op != ops.Greater { // both are broadcast
		k := b.IntN(len(s))
		if other[k] > 1 {
			left.Shape = slices.Clone(s)
			left.Shape[k] = 1
		}
		b.pointwise(op, left, typed(d, other...))
		return
	}
	b.pointwise(op, typed(d, s...), typed(d, other...))
}

// drawFused draws programs of pointwise operations that end in a reduction or do not.
func drawFused(b *builder) {
	d := b.dtype(floats)
	t := typed(d, b.shape(b.rank(), b.elements(d, 3))...)
	x, y := b.param(Uniform, t), b.param(Uniform, t)
	two, half := b.number(d, 2), b.number(d, 0.5)
	b.c.Program = true
	switch v := 0; b.IntN(4) {
	case 0:
		b.label = "gradient of sigmoid"
		v = b.do(ops.Sigmoid, d, nil, x)
		w := b.do(ops.Subtract, d, nil, v, b.do(ops.Multiply, d, nil, v, v))
		b.finish(b.do(ops.Multiply, d, nil, w, y))
	case 1:
		b.label = "gelu+add"
		v = b.do(ops.Erf, d, nil, b.do(ops.Multiply, d, nil, x, half))
		v = b.do(ops.Multiply, d, nil, x, b.do(ops.Add, d, nil, v, half))
		b.finish(b.do(ops.Add, d, nil, v, y))
	case 2:
		b.label = "momentum"
		v = b.do(ops.Add, d, nil, b.do(ops.Multiply, d, nil, x, half), y)
		b.finish(v, b.do(ops.Subtract, d, nil, y, b.do(ops.Multiply, d, nil, v, two)))
	default:
		b.label = "square error"
		v = b.do(ops.Subtract, d, nil, x, y)
		v = b.do(ops.Multiply, d, nil, v, v)
		axes := []int{}
		for i := range t.Shape {
			axes = append(axes, i)
		}
		b.finish(b.do(ops.Sum, d, [][]int{axes, {0}}, v))
	}
}

// drawSmall draws one operation of 2^16 to 2^22 elements.
func drawSmall(b *builder) {
	d := b.dtype(reals)
	n := b.between(1<<16, 1<<22)
	s := b.shape(b.rank(), n)
	t := typed(d, s...)
	switch b.IntN(6) {
	case 0, 1:
		b.pointwise(one(b, ops.Add, ops.Multiply, ops.Subtract), t, t)
	case 2:
		b.pointwise(one(b, ops.Negate, ops.Abs), t)
	case 3:
		b.pointwise(one(b, ops.Exp, ops.Tanh, ops.Sigmoid), typed(b.dtype(floats), s...))
	case 4:
		b.pointwise(ops.Add, t, typed(d))
	default:
		b.reduce(ops.Sum, typed(b.dtype(floats), s...), []int{len(s) - 1}, false)
	}
}
