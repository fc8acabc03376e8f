package codegen

import (
	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// Cast converts a value from one element type to another; both are in the types
// in which they are computed. Integers wrap; floats truncate toward zero and
// wrap; NaN becomes 0 and the infinities the extremes of to.
func (e *Emitter) Cast(x kernel.Value, from, to ops.DType) kernel.Value {
	switch {
	case from == to:
		return x
	case from.IsFloat() && to.IsInteger():
		return e.truncate(x, to)
	case WideType(from) == scalar.F64 && to.IsFloat() && to != ops.F32 && to != ops.BF16:
		return e.roundOdd(x)
	case WideType(from) == scalar.F64 && WideType(to) == scalar.F32 && e.Target.Flushes64:
		return e.shorten(x)
	case WideType(from) == scalar.F32 && to == ops.F64 && !e.Target.CPU:
		return e.lengthen(x)
	}
	return e.Convert(x, WideType(to))
}

// IsTrue reports whether a value of any type is not zero.
func (e *Emitter) IsTrue(x kernel.Value) kernel.Value {
	t := e.Type(x)
	if t == scalar.Bool {
		return x
	}
	return e.Compare(scalar.Ne, x, e.Const(t, 0))
}

// AsBits converts a Bool to 0 or 1 of a type.
func (e *Emitter) AsBits(x kernel.Value, t scalar.Type) kernel.Value {
	if e.Type(x) != scalar.Bool {
		return x
	}
	return e.Convert(x, t)
}

// lengthen converts f32 to f64. Subnormals, which the conversion of a GPU may
// flush though its arithmetic keeps them, are converted as the integers that
// their bits are.
func (e *Emitter) lengthen(x kernel.Value) kernel.Value {
	bits := e.Bitcast(x, scalar.U32)
	mantissa := e.And(bits, 1<<23-1)
	zero := e.Int(scalar.U32, 0)
	tiny := e.Prim(scalar.AndB, scalar.Bool,
		e.Compare(scalar.Eq, e.And(bits, 0xff<<23), zero), e.Compare(scalar.Ne, mantissa, zero))
	v := e.Mul(e.Convert(mantissa, scalar.F64), e.Float(scalar.F64, 0x1p-149))
	negative := e.Compare(scalar.Ne, e.And(bits, 1<<31), zero)
	v = e.Select(negative, e.Prim(scalar.Neg, scalar.F64, v), v)
	return e.Select(tiny, v, e.Convert(x, scalar.F64))
}

// shorten converts f64 to f32 where the device's conversion flushes subnormals (lavapipe of Mesa 26). The bits of one are
// its multiple of the least subnormal, which f64 rounds to an integer.
func (e *Emitter) shorten(x kernel.Value) kernel.Value {
	sign := e.And(e.Convert(e.Shr(e.Bitcast(x, scalar.U64), 32), scalar.U32), 1<<31)
	negative := e.Compare(scalar.Lt, x, e.Float(scalar.F64, 0))
	size := e.Select(negative, e.Prim(scalar.Neg, scalar.F64, x), x)
	tiny := e.Compare(scalar.Lt, size, e.Float(scalar.F64, 0x1p-126))
	const whole = 0x1p52 // f64 has no fractions from here on
	multiple := e.Mul(e.Select(tiny, size, e.Float(scalar.F64, 0)), e.Float(scalar.F64, 0x1p149))
	rounded := e.Sub(e.Add(multiple, e.Float(scalar.F64, whole)), e.Float(scalar.F64, whole))
	bits := e.Prim(scalar.Or, scalar.U32, e.Convert(rounded, scalar.U32), sign)
	return e.Select(tiny, e.Bitcast(bits, scalar.F32), e.Convert(x, scalar.F32))
}

// roundOdd converts f64 to f32 by rounding to odd (Boldo and Melquiond 2008):
// an inexact result gets an odd last bit. A second rounding to fewer bits then
// gives the same as a single rounding.
func (e *Emitter) roundOdd(x kernel.Value) kernel.Value {
	y := e.Convert(x, scalar.F32)
	back := e.Convert(y, scalar.F64)
	bits := e.Bitcast(y, scalar.U32)
	// Away from zero the neighbour has the next higher bits, toward zero the
	// next lower ones.
	abs := func(v kernel.Value) kernel.Value {
		neg := e.Compare(scalar.Lt, v, e.Float(scalar.F64, 0))
		return e.Select(neg, e.Prim(scalar.Neg, scalar.F64, v), v)
	}
	one := e.Int(scalar.U32, 1)
	grow := e.Compare(scalar.Lt, abs(back), abs(x))
	next := e.Select(grow, e.Add(bits, one), e.Sub(bits, one))
	even := e.Compare(scalar.Eq, e.And(bits, 1), e.Int(scalar.U32, 0))
	number := e.Compare(scalar.Eq, x, x)
	inexact := e.Prim(scalar.AndB, scalar.Bool, number, e.Compare(scalar.Ne, back, x))
	odd := e.Select(e.Prim(scalar.AndB, scalar.Bool, inexact, even), next, bits)
	return e.Bitcast(odd, scalar.F32)
}

// truncate converts a float to an integer, with shifts of its mantissa: exact
// for every float, where the device's conversion is defined in range only.
func (e *Emitter) truncate(x kernel.Value, to ops.DType) kernel.Value {
	t := WideType(to)
	work, mantissa, bias := unsignedOf(t), 23, 127
	word := scalar.U32
	if e.Type(x) == scalar.F64 {
		work, word, mantissa, bias = scalar.U64, scalar.U64, 52, 1023
	}
	bits := e.Bitcast(x, word)
	exp := e.Convert(e.And(e.Shr(bits, mantissa), uint64(2*bias+1)), scalar.U32)
	mant := e.Or(e.And(bits, 1<<mantissa-1), e.Const(word, 1<<mantissa))
	mant = e.Convert(mant, work)
	point := e.Int(scalar.U32, bias+mantissa) // exponent of the numbers that equal their mantissa
	left := e.Sub(exp, point)
	right := e.Sub(point, exp)
	zero := e.Const(work, 0)
	limit := e.Int(scalar.U32, 8*kernel.TypeSize(work))
	shifted := func(op scalar.Op, n kernel.Value) kernel.Value {
		fits := e.Compare(scalar.Lt, n, limit)
		n = e.Select(fits, n, e.Int(scalar.U32, 0))
		return e.Select(fits, e.Prim(op, work, mant, n), zero)
	}
	mag := e.Select(e.Compare(scalar.Le, point, exp), shifted(scalar.Shl, left), shifted(scalar.Shr, right))
	negative := e.Compare(scalar.Ne, e.Shr(bits, 8*kernel.TypeSize(word)-1), e.Const(word, 0))
	out := e.Convert(e.Select(negative, e.Sub(zero, mag), mag), t)
	special := e.Compare(scalar.Eq, exp, e.Int(scalar.U32, 2*bias+1))
	lowest, highest := IntegerLimits(to)
	extreme := e.Select(negative, e.Const(t, lowest), e.Const(t, highest))
	isNaN := e.Compare(scalar.Ne, e.And(bits, 1<<mantissa-1), e.Const(word, 0))
	return e.Select(special, e.Select(isNaN, e.Const(t, 0), extreme), out)
}

func unsignedOf(t scalar.Type) scalar.Type {
	if kernel.Is64(t) {
		return scalar.U64
	}
	return scalar.U32
}

// IntegerLimits are the least and the greatest integer of a type, as bits.
func IntegerLimits(d ops.DType) (lowest, highest uint64) {
	n := uint(d.Bits())
	if d.Class() == ops.Unsigned {
		return 0, ^uint64(0) >> (64 - n)
	}
	return ^uint64(0) << (n - 1), 1<<(n-1) - 1
}
