package fallback

import "math"

// Functions of package math that lose digits of float64 somewhere.

// acos keeps its digits near 1, where math.Acos takes a difference.
func acos(x float64) float64 { return 2 * math.Atan2(math.Sqrt(1-x), math.Sqrt(1+x)) }

// tan adds the terms that math.Tan leaves out near 0.
func tan(x float64) float64 {
	if z := x * x; z < 1e-6 {
		return x + x*z*(1.0/3+z*(2.0/15+z*(17.0/315)))
	}
	return math.Tan(x)
}

func rsqrt(x float64) float64 { return 1 / math.Sqrt(x) }

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// sign keeps NaN and the sign of zero.
func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}
