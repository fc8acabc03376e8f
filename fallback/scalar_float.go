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
	for op, f := range map[ops.Op]struct {
		one  func(float64) float64
		each func([]float64)
	}{
		ops.Exp: {exp, expEach}, ops.Expm1: {expm1, nil}, ops.Log: {log, logEach}, ops.Log1p: {log1p, log1pEach},
		ops.Sigmoid: {sigmoid, sigmoidEach},
		ops.Cos:     {cos, cosEach}, ops.Sin: {sin, sinEach}, ops.Tan: {tan, tanEach},
		ops.Cosh: {cosh, coshEach}, ops.Sinh: {sinh, sinhEach}, ops.Tanh: {tanh, tanhEach},
		ops.Acos: {acos, acosEach}, ops.Asin: {asin, asinEach}, ops.Atan: {atan, atanEach},
		ops.Acosh: {acosh, acoshEach}, ops.Asinh: {asinh, asinhEach}, ops.Atanh: {atanh, atanhEach},
		ops.Sqrt: {math.Sqrt, nil}, ops.Rsqrt: {rsqrt, rsqrtEach}, ops.Cbrt: {cbrt, nil},
		ops.Erf: {erf, erfEach}, ops.Erfc: {erfc, erfcEach}, ops.ErfInv: {erfInv, erfInvEach},
		ops.Abs: {math.Abs, nil}, ops.Ceil: {math.Ceil, ceilEach}, ops.Floor: {math.Floor, floorEach},
		ops.Round: {math.Round, roundEach}, ops.Sign: {sign, signEach}, ops.Phase: {phase, phaseEach},
		ops.IsNaN:      {func(x float64) float64 { return truth[float64](x != x) }, isNaNEach},
		ops.IsInfinity: {func(x float64) float64 { return truth[float64](math.IsInf(x, 0)) }, isInfinityEach},
	} {
		t[op] = scalar[float64]{one: f.one, each: f.each}
	}
	t[ops.Divide] = two(func(x, y float64) float64 { return x / y })
	t[ops.Pow], t[ops.Remainder], t[ops.Atan2] = two(pow), two(math.Mod), two(atan2)
	return t
}()
