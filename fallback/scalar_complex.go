package fallback

import (
	"math"
	"math/cmplx"

	"nxvk/ops"
)

// Complex functions follow the formulas of Elixir's Complex, which fix the
// branch of every inverse; what the table says is real is in the real part.
// Where a part is infinite or NaN, tangents and inverse functions are what the
// arithmetic there makes of them, NaN for the most part, and not their limits.
var complexScalars = func() (t scalars[complex128]) {
	common(&t)
	for op, f := range map[ops.Op]func(complex128) complex128{
		ops.Exp: cmplx.Exp, ops.Log: clog, ops.Sqrt: csqrt,
		ops.Expm1:   cexpm1,
		ops.Log1p:   clog1p,
		ops.Sigmoid: csigmoid,
		ops.Cos:     cmplx.Cos, ops.Sin: cmplx.Sin, ops.Tan: ctan,
		ops.Cosh: cmplx.Cosh, ops.Sinh: cmplx.Sinh, ops.Tanh: ctanh,
		ops.Acos: cacos, ops.Asin: casin, ops.Atan: catan,
		ops.Acosh: cacosh, ops.Asinh: casinh, ops.Atanh: catanh,
		ops.Rsqrt:      crsqrt,
		ops.Cbrt:       ccbrt,
		ops.Erf:        onReal(erf),
		ops.Erfc:       onReal(erfc),
		ops.ErfInv:     onReal(erfInv),
		ops.Abs:        func(z complex128) complex128 { return complex(cmplx.Abs(z), 0) },
		ops.RealPart:   func(z complex128) complex128 { return complex(real(z), 0) },
		ops.Imag:       func(z complex128) complex128 { return complex(imag(z), 0) },
		ops.Phase:      func(z complex128) complex128 { return complex(atan2(imag(z), real(z)), 0) },
		ops.Conjugate:  cmplx.Conj,
		ops.Sign:       csign,
		ops.IsNaN:      func(z complex128) complex128 { return truth[complex128](real(z) != real(z) || imag(z) != imag(z)) },
		ops.IsInfinity: func(z complex128) complex128 { return truth[complex128](cmplx.IsInf(z)) },
	} {
		t[op] = one(f)
	}
	t[ops.Divide] = two(func(x, y complex128) complex128 { return x / y })
	t[ops.Pow] = two(cpow)
	t[ops.Atan2] = two(catan2)
	return t
}()

// csqrt is the principal root. On the negative axis it is the upper one,
// whatever the sign of a zero imaginary part: Elixir's comparison sees none,
// and the branches of the inverse functions follow from it.
func csqrt(z complex128) complex128 {
	if imag(z) == 0 {
		z = complex(real(z), 0)
	}
	return cmplx.Sqrt(z)
}

// crsqrt is the inverse of the principal root. It is NaN where the root is 0 or NaN or
// its imaginary part is infinite, as 1/w is in the arithmetic of Elixir's Complex.
func crsqrt(z complex128) complex128 {
	w := csqrt(z)
	if w == 0 || !isFinite(imag(w)) {
		return cmplx.NaN()
	}
	return 1 / w
}

// catan2 is NaN for numbers that are not real.
func catan2(x, y complex128) complex128 {
	if imag(x) != 0 || imag(y) != 0 {
		return cmplx.NaN()
	}
	return complex(atan2(real(x), real(y)), 0)
}

// ccbrt is the principal cube root.
func ccbrt(z complex128) complex128 {
	r, t := math.Cbrt(cmplx.Abs(z)), atan2(imag(z), real(z))/3
	if t == 0 { // r may be infinite
		return complex(r, t)
	}
	return cmplx.Rect(r, t)
}

// csign is 1 for every number but 0.
func csign(z complex128) complex128 { return truth[complex128](z != 0) }

// cpow is 1 where both are 0, and 0 for every other power of 0.
func cpow(x, y complex128) complex128 {
	if x == 0 {
		return truth[complex128](y == 0)
	}
	return cmplx.Pow(x, y)
}

// onReal applies a function that has a meaning for real numbers alone to the
// real part.
func onReal(f func(float64) float64) func(complex128) complex128 {
	return func(z complex128) complex128 { return complex(f(real(z)), 0) }
}
