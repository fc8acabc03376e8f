package elementwise

import (
	"math"

	"nxvk/fallback/dense"
	"nxvk/fallback/hostmath"
	"nxvk/ops"
)

func one[C dense.Class](f func(x C) C) scalar[C]         { return scalar[C]{one: f} }
func two[C dense.Class](f func(x, y C) C) scalar[C]      { return scalar[C]{Two: f} }
func three[C dense.Class](f func(x, y, z C) C) scalar[C] { return scalar[C]{three: f} }

// add, sub, ... are the operators that classes share.
func add[C dense.Class](x, y C) C { return x + y }
func sub[C dense.Class](x, y C) C { return x - y }
func Mul[C dense.Class](x, y C) C { return x * y }

func negate[C dense.Class](x C) C { return -x }

func itself[C dense.Class](x C) C { return x }

func equal[C dense.Class](x, y C) C      { return dense.Truth[C](x == y) }
func notEqual[C dense.Class](x, y C) C   { return dense.Truth[C](x != y) }
func LogicalAnd[C dense.Class](x, y C) C { return dense.Truth[C](x != 0 && y != 0) }
func LogicalOr[C dense.Class](x, y C) C  { return dense.Truth[C](x != 0 || y != 0) }
func logicalXor[C dense.Class](x, y C) C { return dense.Truth[C]((x != 0) != (y != 0)) }
func logicalNot[C dense.Class](x C) C    { return dense.Truth[C](x == 0) }

func greater[C dense.RealClass](x, y C) C      { return dense.Truth[C](x > y) }
func less[C dense.RealClass](x, y C) C         { return dense.Truth[C](x < y) }
func greaterEqual[C dense.RealClass](x, y C) C { return dense.Truth[C](x >= y) }
func lessEqual[C dense.RealClass](x, y C) C    { return dense.Truth[C](x <= y) }

// Smaller returns NaN where an operand is NaN, and the first of equal operands, which
// matters for zeros of different signs.
func Smaller[C dense.Stored](x, y C) C {
	if y < x || y != y {
		return y
	}
	return x
}

func Larger[C dense.Stored](x, y C) C {
	if x < y || y != y {
		return y
	}
	return x
}

// clip returns the lower bound for NaN, as Nx does.
func clip[C dense.RealClass](x, lo, hi C) C {
	if !(x > lo) {
		x = lo
	}
	if !(x < hi) {
		x = hi
	}
	return x
}

// common enters the functions that all classes share.
func common[C dense.Class](t *Scalars[C]) {
	t[ops.Add], t[ops.Subtract], t[ops.Multiply] = two(add[C]), two(sub[C]), two(Mul[C])
	t[ops.Equal], t[ops.NotEqual] = two(equal[C]), two(notEqual[C])
	t[ops.LogicalAnd], t[ops.LogicalOr], t[ops.LogicalXor] = two(LogicalAnd[C]), two(LogicalOr[C]), two(logicalXor[C])
	t[ops.LogicalNot], t[ops.Negate] = one(logicalNot[C]), one(negate[C])
}

// ordered enters the functions of the classes that have an order.
func ordered[C dense.RealClass](t *Scalars[C]) {
	common(t)
	t[ops.Min], t[ops.Max] = two(Smaller[C]), two(Larger[C])
	t[ops.Greater], t[ops.Less] = two(greater[C]), two(less[C])
	t[ops.GreaterEqual], t[ops.LessEqual] = two(greaterEqual[C]), two(lessEqual[C])
	t[ops.Clip] = three(clip[C])
	t[ops.RealPart], t[ops.Imag] = one(itself[C]), one(func(C) C { return 0 })
}

var FloatScalars = func() (t Scalars[float64]) {
	ordered(&t)
	for op, f := range map[ops.Op]struct {
		one  func(float64) float64
		each func([]float64)
	}{
		ops.Exp: {hostmath.Exp, hostmath.ExpEach}, ops.Expm1: {hostmath.Expm1, nil}, ops.Log: {hostmath.Log, hostmath.LogEach}, ops.Log1p: {hostmath.Log1p, hostmath.Log1pEach},
		ops.Sigmoid: {hostmath.Sigmoid, hostmath.SigmoidEach},
		ops.Cos:     {hostmath.Cos, hostmath.CosEach}, ops.Sin: {hostmath.Sin, hostmath.SinEach}, ops.Tan: {hostmath.Tan, nil},
		ops.Cosh: {hostmath.Cosh, hostmath.CoshEach}, ops.Sinh: {hostmath.Sinh, hostmath.SinhEach}, ops.Tanh: {hostmath.Tanh, hostmath.TanhEach},
		ops.Acos: {hostmath.Acos, hostmath.AcosEach}, ops.Asin: {hostmath.Asin, hostmath.AsinEach}, ops.Atan: {hostmath.Atan, hostmath.AtanEach},
		ops.Acosh: {hostmath.Acosh, hostmath.AcoshEach}, ops.Asinh: {hostmath.Asinh, hostmath.AsinhEach}, ops.Atanh: {hostmath.Atanh, hostmath.AtanhEach},
		ops.Sqrt: {math.Sqrt, nil}, ops.Rsqrt: {rsqrt, rsqrtEach}, ops.Cbrt: {hostmath.Cbrt, nil},
		ops.Erf: {hostmath.Erf, hostmath.ErfEach}, ops.Erfc: {hostmath.Erfc, hostmath.ErfcEach}, ops.ErfInv: {hostmath.ErfInv, hostmath.ErfInvEach},
		ops.Abs: {math.Abs, nil}, ops.Ceil: {math.Ceil, ceilEach}, ops.Floor: {math.Floor, floorEach},
		ops.Round: {math.Round, roundEach}, ops.Sign: {hostmath.Sign, signEach}, ops.Phase: {hostmath.Phase, hostmath.PhaseEach},
		ops.IsNaN:      {func(x float64) float64 { return dense.Truth[float64](x != x) }, isNaNEach},
		ops.IsInfinity: {func(x float64) float64 { return dense.Truth[float64](math.IsInf(x, 0)) }, isInfinityEach},
	} {
		t[op] = scalar[float64]{one: f.one, each: f.each}
	}
	t[ops.Divide] = two(func(x, y float64) float64 { return x / y })
	t[ops.Pow], t[ops.Remainder], t[ops.Atan2] = two(hostmath.Pow), two(math.Mod), two(hostmath.Atan2)
	return t
}()
