package hostmath

import (
	"math"
	"math/cmplx"
)

// The complex functions follow the formulas of Elixir's Complex, which fix the branch of
// every inverse. Where a part is infinite or NaN, tangents and inverse functions give what the
// arithmetic of these formulas gives, which is NaN as a rule, and not their limits.

// indicator is 1 where a condition holds, and 0 elsewhere.
func indicator(holds bool) complex128 {
	if holds {
		return 1
	}
	return 0
}

// isFinitePair reports whether both parts are finite: then z - z is 0, else NaN.
//
//lint:ignore SA4000 the operands are equal on purpose
func isFinitePair(z complex128) bool { return z-z == 0 }

// Csqrt is the principal root. On the negative axis it is the upper one, whatever the sign of
// a zero imaginary part: Elixir's comparison ignores that sign, and the branches of the
// inverse functions follow from this root.
func Csqrt(z complex128) complex128 {
	if imag(z) == 0 {
		z = complex(real(z), 0)
	}
	return cmplx.Sqrt(z)
}

// Crsqrt is the inverse of the principal root. It is NaN where the root is 0 or NaN or
// its imaginary part is infinite, as 1/w is in the arithmetic of Elixir's Complex.
func Crsqrt(z complex128) complex128 {
	w := Csqrt(z)
	if w == 0 || math.IsInf(imag(w), 0) || math.IsNaN(imag(w)) {
		return cmplx.NaN()
	}
	return 1 / w
}

// Catan2 is NaN for numbers that are not real.
func Catan2(x, y complex128) complex128 {
	if imag(x) != 0 || imag(y) != 0 {
		return cmplx.NaN()
	}
	return complex(Atan2(real(x), real(y)), 0)
}

// Ccbrt is the principal cube root.
func Ccbrt(z complex128) complex128 {
	r, t := math.Cbrt(cmplx.Abs(z)), Atan2(imag(z), real(z))/3
	if t == 0 { // r may be infinite
		return complex(r, t)
	}
	return cmplx.Rect(r, t)
}

// Csign is 1 for every number but 0.
func Csign(z complex128) complex128 { return indicator(z != 0) }

// Cpow is 1 where both are 0, and 0 for every other power of 0.
func Cpow(x, y complex128) complex128 {
	if x == 0 {
		return indicator(y == 0)
	}
	return cmplx.Pow(x, y)
}
