package fallback

import "math"

// Functions of package math that lose digits of float64 somewhere.

// log knows the exponents of subnormal numbers, which math.Log of amd64 does not.
func log(x float64) float64 {
	if 0 < x && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// atan2 keeps the side of y where y / x vanishes, which math.Atan2 forgets.
func atan2(y, x float64) float64 { return math.Copysign(math.Atan2(y, x), y) }

// acos keeps its digits near 1, where math.Acos takes a difference.
func acos(x float64) float64 { return 2 * math.Atan2(math.Sqrt(1-x), math.Sqrt(1+x)) }

// asin does the same near -1 and 1.
func asin(x float64) float64 { return math.Atan2(x, math.Sqrt((1-x)*(1+x))) }

// edge is where math.Cosh and math.Sinh begin to overflow, too early; beyond it the
// square of the exponential of a half does not.
const edge = 709

func cosh(x float64) float64 {
	if x = math.Abs(x); x > edge {
		h := exp(x / 2)
		return 0.5 * h * h
	}
	return math.Cosh(x)
}

func sinh(x float64) float64 {
	if math.Abs(x) > edge {
		return math.Copysign(cosh(x), x)
	}
	return math.Sinh(x)
}

func rsqrt(x float64) float64 { return 1 / math.Sqrt(x) }

// sigmoid keeps its digits where it is close to 0.
func sigmoid(x float64) float64 {
	if x < 0 {
		e := exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + exp(-x))
}

// sign keeps NaN and the sign of zero.
func sign(x float64) float64 {
	if x == 0 || x != x {
		return x
	}
	return math.Copysign(1, x)
}
