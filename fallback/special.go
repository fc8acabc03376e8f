package fallback

import "math"

func rsqrt(x float64) float64 { return 1 / math.Sqrt(x) }

// sign keeps NaN and the sign of zero.
func sign(x float64) float64 {
	if x == 0 || x != x {
		return x
	}
	return math.Copysign(1, x)
}
