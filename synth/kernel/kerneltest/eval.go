package kerneltest

import (
	"math"
	"math/bits"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// prim computes a primitive operation on bits as an IEEE device would.
func (v *invocation) prim(in *kernel.Inst) uint64 {
	var a [3]uint64
	for i, x := range in.Args {
		a[i] = v.vals[x]
	}
	from, to := v.k.Types[in.Args[0]], v.k.Types[in.Res[0]]
	switch in.Prim {
	case scalar.Select:
		if a[0] != 0 {
			return a[1]
		}
		return a[2]
	case scalar.AndB:
		return a[0] & a[1]
	case scalar.OrB:
		return a[0] | a[1]
	case scalar.NotB:
		return a[0] ^ 1
	case scalar.Bitcast:
		return a[0]
	case scalar.PackHalf:
		return uint64(kernel.PackHalf(float32(toFloat(scalar.F32, a[0]))))
	case scalar.RoundHalf:
		return fromFloat(scalar.F32, float64(kernel.UnpackHalf(kernel.PackHalf(float32(toFloat(scalar.F32, a[0]))))))
	case scalar.UnpackHalf:
		return fromFloat(scalar.F32, float64(kernel.UnpackHalf(uint16(a[0]))))
	case scalar.Pack:
		return a[0] | a[1]<<32
	case scalar.Lo:
		return a[0] & math.MaxUint32
	case scalar.Hi:
		return a[0] >> 32
	case scalar.Convert:
		return convert(from, to, a[0])
	case scalar.Eq, scalar.Ne, scalar.Lt, scalar.Le:
		return compare(in.Prim, from, a[0], a[1])
	}
	if kernel.IsFloat(to) {
		return clip(to, evalFloat(in.Prim, to, a))
	}
	return clip(to, evalInt(in.Prim, from, a))
}

// clip keeps the bits that a value of the type has.
func clip(t scalar.Type, bits uint64) uint64 {
	switch {
	case t == scalar.Bool:
		return bits & 1
	case kernel.Is64(t):
		return bits
	}
	return bits & math.MaxUint32
}

func truth(c bool) uint64 {
	if c {
		return 1
	}
	return 0
}

// signed extends the sign of an integer of the type.
func signed(t scalar.Type, x uint64) int64 {
	if kernel.Is64(t) {
		return int64(x)
	}
	return int64(int32(x))
}

func toFloat(t scalar.Type, x uint64) float64 {
	if t == scalar.F32 {
		return float64(math.Float32frombits(uint32(x)))
	}
	return math.Float64frombits(x)
}

func fromFloat(t scalar.Type, x float64) uint64 {
	if t == scalar.F32 {
		return uint64(math.Float32bits(float32(x)))
	}
	return math.Float64bits(x)
}

func compare(op scalar.Op, t scalar.Type, x, y uint64) uint64 {
	switch {
	case kernel.IsFloat(t):
		return ordered(op, toFloat(t, x), toFloat(t, y))
	case kernel.IsSigned(t):
		return ordered(op, signed(t, x), signed(t, y))
	}
	return ordered(op, x, y)
}

func ordered[T float64 | int64 | uint64](op scalar.Op, x, y T) uint64 {
	switch op {
	case scalar.Eq:
		return truth(x == y)
	case scalar.Ne:
		return truth(x != y)
	case scalar.Lt:
		return truth(x < y)
	}
	return truth(x <= y)
}

func convert(from, to scalar.Type, x uint64) uint64 {
	switch {
	case to == scalar.Bool:
		return truth(x != 0)
	case from == scalar.Bool && kernel.IsFloat(to):
		return fromFloat(to, float64(x))
	case kernel.IsFloat(from) && kernel.IsFloat(to):
		return fromFloat(to, toFloat(from, x))
	case kernel.IsFloat(from) && to == scalar.U64:
		return uint64(toFloat(from, x))
	case kernel.IsFloat(from):
		return clip(to, uint64(int64(toFloat(from, x))))
	case to == scalar.F32 && kernel.IsSigned(from):
		return uint64(math.Float32bits(float32(signed(from, x))))
	case to == scalar.F32:
		return uint64(math.Float32bits(float32(x)))
	case to == scalar.F64 && kernel.IsSigned(from):
		return math.Float64bits(float64(signed(from, x)))
	case to == scalar.F64:
		return math.Float64bits(float64(x))
	case kernel.IsSigned(from):
		return clip(to, uint64(signed(from, x)))
	}
	return clip(to, x)
}

// evalFloat computes in float64. For f32 that gives the correctly rounded
// result of every basic operation, because 53 >= 2*24+2 bits; the fused
// multiply-add is the exception.
func evalFloat(op scalar.Op, t scalar.Type, a [3]uint64) uint64 {
	x, y := toFloat(t, a[0]), toFloat(t, a[1])
	var r float64
	switch op {
	case scalar.Add:
		r = x + y
	case scalar.Sub:
		r = x - y
	case scalar.Mul:
		r = x * y
	case scalar.Div:
		r = x / y
	case scalar.Fma:
		return fma(t, a)
	case scalar.Neg:
		r = -x
	case scalar.Sqrt:
		r = math.Sqrt(x)
	case scalar.Floor:
		r = math.Floor(x)
	case scalar.Ceil:
		r = math.Ceil(x)
	case scalar.Trunc:
		r = math.Trunc(x)
	case scalar.RoundEven:
		r = math.RoundToEven(x)
	case scalar.Exp2:
		r = math.Exp2(x)
	case scalar.InverseSqrt:
		r = 1 / math.Sqrt(x)
	default:
		panic("BUG: not an operation of floats")
	}
	return fromFloat(t, r)
}

// fma rounds once.
func fma(t scalar.Type, a [3]uint64) uint64 {
	x, y, z := toFloat(t, a[0]), toFloat(t, a[1]), toFloat(t, a[2])
	if t == scalar.F64 {
		return math.Float64bits(math.FMA(x, y, z))
	}
	return fromFloat(t, float64(kernel.MulAdd32(float32(x), float32(y), float32(z))))
}

func evalInt(op scalar.Op, t scalar.Type, a [3]uint64) uint64 {
	x, y := a[0], a[1]
	switch op {
	case scalar.Add:
		return x + y
	case scalar.Sub:
		return x - y
	case scalar.Mul:
		return x * y
	case scalar.Div, scalar.Rem:
		return divide(op, t, x, y)
	case scalar.Neg:
		return -x
	case scalar.And:
		return x & y
	case scalar.Or:
		return x | y
	case scalar.Xor:
		return x ^ y
	case scalar.Not:
		return ^x
	case scalar.Shl:
		return x << y
	case scalar.Shr:
		if kernel.IsSigned(t) {
			return uint64(signed(t, x) >> y)
		}
		return x >> y
	case scalar.MulHi:
		return x * y >> 32
	case scalar.FindMSB:
		return uint64(bits.Len32(uint32(x)) - 1)
	case scalar.BitCount:
		return uint64(bits.OnesCount64(x))
	}
	panic("BUG: not an operation of integers")
}

// divide gives what some device gives where the quotient is not defined: the
// caller selects another value then.
func divide(op scalar.Op, t scalar.Type, x, y uint64) uint64 {
	switch {
	case y == 0:
		return 0
	case !kernel.IsSigned(t) && op == scalar.Div:
		return x / y
	case !kernel.IsSigned(t):
		return x % y
	case op == scalar.Div:
		return uint64(signed(t, x) / signed(t, y))
	}
	return uint64(signed(t, x) % signed(t, y))
}
