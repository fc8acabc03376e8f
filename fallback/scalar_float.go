package fallback

import (
	"math"

	"nxvk/ops"
)

// truth is 1 or 0.
func truth[T stored | class](b bool) T {
	if b {
		return 1
	}
	return 0
}

func one[C class](f func(x C) C) scalar[C]         { return scalar[C]{one: f} }
func two[C class](f func(x, y C) C) scalar[C]      { return scalar[C]{two: f} }
func three[C class](f func(x, y, z C) C) scalar[C] { return scalar[C]{three: f} }

// add, sub, ... are the operators that classes share.
func add[C class](x, y C) C { return x + y }
func sub[C class](x, y C) C { return x - y }
func mul[C class](x, y C) C { return x * y }

func negate[C class](x C) C { return -x }

func itself[C class](x C) C { return x }

func equal[C class](x, y C) C      { return truth[C](x == y) }
func notEqual[C class](x, y C) C   { return truth[C](x != y) }
func logicalAnd[C class](x, y C) C { return truth[C](x != 0 && y != 0) }
func logicalOr[C class](x, y C) C  { return truth[C](x != 0 || y != 0) }
func logicalXor[C class](x, y C) C { return truth[C]((x != 0) != (y != 0)) }
func logicalNot[C class](x C) C    { return truth[C](x == 0) }

func greater[C realClass](x, y C) C      { return truth[C](x > y) }
func less[C realClass](x, y C) C         { return truth[C](x < y) }
func greaterEqual[C realClass](x, y C) C { return truth[C](x >= y) }
func lessEqual[C realClass](x, y C) C    { return truth[C](x <= y) }

// smaller and larger give NaN where an operand is NaN, and of equal operands the
// first, which tells where one zero is negative.
func smaller[C stored](x, y C) C {
	if y < x || y != y {
		return y
	}
	return x
}

func larger[C stored](x, y C) C {
	if x < y || y != y {
		return y
	}
	return x
}

// clip gives the lower bound for NaN, as Nx does.
func clip[C realClass](x, lo, hi C) C {
	if !(x > lo) {
		x = lo
	}
	if !(x < hi) {
		x = hi
	}
	return x
}

// common are the functions that all classes share.
func common[C class](t *scalars[C]) {
	t[ops.Add], t[ops.Subtract], t[ops.Multiply] = two(add[C]), two(sub[C]), two(mul[C])
	t[ops.Equal], t[ops.NotEqual] = two(equal[C]), two(notEqual[C])
	t[ops.LogicalAnd], t[ops.LogicalOr], t[ops.LogicalXor] = two(logicalAnd[C]), two(logicalOr[C]), two(logicalXor[C])
	t[ops.LogicalNot], t[ops.Negate] = one(logicalNot[C]), one(negate[C])
}

// ordered are the functions that the classes with an order share.
func ordered[C realClass](t *scalars[C]) {
	common(t)
	t[ops.Min], t[ops.Max] = two(smaller[C]), two(larger[C])
	t[ops.Greater], t[ops.Less] = two(greater[C]), two(less[C])
	t[ops.GreaterEqual], t[ops.LessEqual] = two(greaterEqual[C]), two(lessEqual[C])
	t[ops.Clip] = three(clip[C])
	t[ops.RealPart], t[ops.Imag] = one(itself[C]), one(func(C) C { return 0 })
}

var floatScalars = func() (t scalars[float64]) {
	ordered(&t)
	for op, f := range map[ops.Op]func(float64) float64{
		ops.Exp: exp, ops.Expm1: expm1, ops.Log: log, ops.Log1p: log1p,
		ops.Sigmoid: sigmoid,
		ops.Cos:     cos, ops.Sin: sin, ops.Tan: tan,
		ops.Cosh: cosh, ops.Sinh: sinh, ops.Tanh: tanh,
		ops.Acos: acos, ops.Asin: asin, ops.Atan: atan,
		ops.Acosh: acosh, ops.Asinh: asinh, ops.Atanh: atanh,
		ops.Sqrt: math.Sqrt, ops.Rsqrt: rsqrt,
		ops.Cbrt: cbrt, ops.Erf: erf, ops.Erfc: erfc, ops.ErfInv: erfInv,
		ops.Abs: math.Abs, ops.Ceil: math.Ceil, ops.Floor: math.Floor, ops.Round: math.Round,
		ops.Sign:       sign,
		ops.Phase:      phase,
		ops.IsNaN:      func(x float64) float64 { return truth[float64](x != x) },
		ops.IsInfinity: func(x float64) float64 { return truth[float64](math.IsInf(x, 0)) },
	} {
		t[op] = one(f)
	}
	for op, f := range map[ops.Op]func([]float64){
		ops.Exp: expEach, ops.Log: logEach, ops.Log1p: log1pEach, ops.Rsqrt: rsqrtEach,
		ops.Sigmoid: sigmoidEach, ops.Tanh: tanhEach, ops.Sinh: sinhEach, ops.Cosh: coshEach,
		ops.Acosh: acoshEach, ops.Asinh: asinhEach, ops.Atanh: atanhEach,
		ops.Cos: cosEach, ops.Sin: sinEach, ops.Tan: tanEach,
		ops.Acos: acosEach, ops.Asin: asinEach, ops.Atan: atanEach, ops.Phase: phaseEach,
		ops.Ceil: ceilEach, ops.Floor: floorEach, ops.Round: roundEach,
		ops.Erf: erfEach, ops.Erfc: erfcEach, ops.ErfInv: erfInvEach,
		ops.Sign: signEach, ops.IsNaN: isNaNEach, ops.IsInfinity: isInfinityEach,
	} {
		t[op].each = f
	}
	t[ops.Divide] = two(func(x, y float64) float64 { return x / y })
	t[ops.Pow], t[ops.Remainder], t[ops.Atan2] = two(pow), two(math.Mod), two(atan2)
	return t
}()
