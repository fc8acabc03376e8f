package hostmath

import (
	"math"
	"math/cmplx"
)

// The complex logarithms and inverse functions. The formulas of Elixir's Complex fix their
// branches. Where these formulas cancel, the values are computed as Kahan does (Branch Cuts for
// Complex Elementary Functions, 1987), so each result is within a few units in the last place
// of its magnitude. On a branch cut the formulas ignore the sign of a zero part and Kahan's
// algorithms do not, so that sign is set first.

// upper returns a part of a number, with the sign of s where the part is zero.
func upper(part, s float64) float64 {
	if part == 0 {
		return math.Copysign(0, s)
	}
	return part
}

// logAbs is the logarithm of |z|. Near the unit circle it is half of log1p(|z|² - 1), where
// |z|² - 1 is a sum that does not cancel.
func logAbs(x, y float64) float64 {
	a, b := math.Abs(x), math.Abs(y)
	if a < b {
		a, b = b, a
	}
	if a > 0.5 && a < 2 && b < 2 {
		return 0.5 * math.Log1p((a-1)*(a+1)+b*b)
	}
	return Log(math.Hypot(a, b))
}

func Clog(z complex128) complex128 { return complex(logAbs(real(z), imag(z)), Atan2(imag(z), real(z))) }

func Clog1p(z complex128) complex128 {
	x, y := real(z), imag(z)
	angle := Atan2(upper(y, 1), 1+x)
	if math.Abs(x) < 0.5 && math.Abs(y) < 0.5 {
		return complex(0.5*math.Log1p(x*(2+x)+y*y), angle)
	}
	return complex(logAbs(1+x, y), angle)
}

// Cexpm1 is exp(z) - 1, with cos(y) - 1 = -2 sin(y/2)².
func Cexpm1(z complex128) complex128 {
	x, y := real(z), imag(z)
	s := Sin(y / 2)
	return complex(math.Expm1(x)*Cos(y)-2*s*s, Exp(x)*Sin(y))
}

// arcRoots are the roots of 1 - z and of 1 + z, v being the imaginary part of z
// with the sign that its zero has.
func arcRoots(x, v float64) (below, above complex128) {
	return cmplx.Sqrt(complex(1-x, -v)), cmplx.Sqrt(complex(1+x, v))
}

// Casin is -i log(iz + sqrt(1 - z²)).
func Casin(z complex128) complex128 {
	if !isFinitePair(z) {
		return cmplx.NaN()
	}
	x := real(z)
	side := 1.0
	if x > 1 {
		side = -1
	}
	below, above := arcRoots(x, upper(imag(z), side))
	a, b, c, d := real(below), imag(below), real(above), imag(above)
	return complex(Atan2(x, a*c-b*d), math.Asinh(a*d-b*c))
}

// Cacos is -i log(z + sqrt(z² - 1)), which is the negative of the principal value in
// the second and the fourth quadrant.
func Cacos(z complex128) complex128 {
	if !isFinitePair(z) {
		return cmplx.NaN()
	}
	x, y := real(z), imag(z)
	below, above := arcRoots(x, upper(y, x))
	p := 2 * Atan2(real(below), real(above))
	q := math.Asinh(real(above)*imag(below) - imag(above)*real(below))
	if x < 0 && y > 0 || x > 0 && y < 0 {
		return complex(-p, -q)
	}
	return complex(p, q)
}

// Cacosh is log(z + sqrt(z² - 1)).
func Cacosh(z complex128) complex128 {
	if !isFinitePair(z) {
		return rootLogFar(z)
	}
	w := Cacos(z)
	return complex(-imag(w), real(w))
}

// Casinh is log(z + sqrt(z² + 1)).
func Casinh(z complex128) complex128 {
	if !isFinitePair(z) {
		return rootLogFar(z)
	}
	w := Casin(complex(imag(z), -real(z)))
	return complex(-imag(w), real(w))
}

// rootLogFar is log(z + sqrt(z² ± 1)) where a part is infinite or NaN, in the arithmetic
// of Elixir's Complex. Where one is infinite and the other is finite and not 0, the parts
// of z² are infinite and its root is inf + copysign(inf, xy) i; if x is negative a part of
// the sum is inf - inf. Elsewhere a part of z² is NaN.
func rootLogFar(z complex128) complex128 {
	x, y := real(z), imag(z)
	switch {
	case math.IsInf(x, 0) == math.IsInf(y, 0) || math.IsNaN(x*y):
		return cmplx.NaN()
	case x < 0:
		return complex(math.Inf(1), math.NaN())
	}
	return complex(math.Inf(1), math.Copysign(math.Pi/4, y))
}

// atanhFar is where atanh(z) is 1/z but for a quarter turn.
const atanhFar = 0x1p60

// Catanh is log((1 + z) / (1 - z)) / 2.
func Catanh(z complex128) complex128 {
	if !isFinitePair(z) {
		return cmplx.NaN()
	}
	x, v := real(z), upper(imag(z), -real(z))
	if math.Abs(x) > atanhFar || math.Abs(v) > atanhFar {
		return complex(math.Copysign(real(1/complex(math.Abs(x), v)), x), math.Copysign(math.Pi/2, v))
	}
	u := math.Abs(x)
	near := 0.25 * math.Log1p(4*u/((1-u)*(1-u)+v*v))
	return complex(math.Copysign(near, x), 0.5*Atan2(2*v, (1-u)*(1+u)-v*v))
}

// Catan is i (log(1 - iz) - log(1 + iz)) / 2, computed by Catanh, with the sign of a zero part
// kept.
func Catan(z complex128) complex128 {
	v := upper(real(z), imag(z))
	w := Catanh(complex(imag(z), v))
	return complex(math.Copysign(imag(w), v), real(w))
}
