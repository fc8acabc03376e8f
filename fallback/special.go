package fallback

import "math"

// Functions of package math that lose digits of float64 somewhere.

// atan2 keeps the side of y where y / x vanishes, which math.Atan2 forgets.
func atan2(y, x float64) float64 { return math.Copysign(math.Atan2(y, x), y) }

// acos keeps its digits near 1, where math.Acos takes a difference.
func acos(x float64) float64 { return 2 * math.Atan2(math.Sqrt(1-x), math.Sqrt(1+x)) }

// asin does the same near -1 and 1.
func asin(x float64) float64 { return math.Atan2(x, math.Sqrt((1-x)*(1+x))) }

func rsqrt(x float64) float64 { return 1 / math.Sqrt(x) }

// sign keeps NaN and the sign of zero.
func sign(x float64) float64 {
	if x == 0 || x != x {
		return x
	}
	return math.Copysign(1, x)
}
