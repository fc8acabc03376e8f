package hostmath

import (
	"math"
	"math/cmplx"
)

// The complex functions with poles. Sums of exponentials cancel near these poles. The formulas
// here do not, so each part is within a few units in the last place of the result's magnitude.

// tanhOne is the argument from which on tanh differs from 1 by less than a unit in the last
// place.
const tanhOne = 22

// Ctanh is Kahan's (Branch Cuts for Complex Elementary Functions, 1987), of
// tan(y) and sinh(x). Far from the imaginary axis it is 1 or -1, but for
// 4 sin(y) cos(y) exp(-2|x|).
func Ctanh(z complex128) complex128 {
	if !isFinitePair(z) {
		return cmplx.NaN()
	}
	x, y := real(z), imag(z)
	t := Tan(y)
	b := 1 + t*t
	if math.Abs(x) > tanhOne {
		e := math.Exp(-math.Abs(x))
		return complex(math.Copysign(1, x), 4*t/b*e*e)
	}
	s := math.Sinh(x)
	d := 1 + b*s*s
	return complex(b*math.Sqrt(1+s*s)*s/d, t/d)
}

// Ctan is -i tanh(iz).
func Ctan(z complex128) complex128 {
	w := Ctanh(complex(-imag(z), real(z)))
	return complex(imag(w), -real(w))
}

// Csigmoid is 1 / (1 + exp(-z)), on the left exp(z) / (1 + exp(z)). With
// e = exp(-|x|) the real part of the denominator is (1 - e) + e (1 + cos(y)).
func Csigmoid(z complex128) complex128 {
	x, y := real(z), imag(z)
	e := math.Exp(-math.Abs(x))
	c, s := Cos(y/2), e*Sin(y)
	d := 2*e*c*c - math.Expm1(-math.Abs(x))
	if x < 0 {
		return complex(e*Cos(y), s) / complex(d, s)
	}
	return 1 / complex(d, -s)
}
