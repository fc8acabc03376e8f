package elementwise

import (
	"math/cmplx"

	"nxvk/fallback/dense"
	"nxvk/fallback/hostmath"
	"nxvk/ops"
)

// ComplexScalars has the functions of complex numbers. A result that is real by the table
// of operations is in the real part.
var ComplexScalars = func() (t Scalars[complex128]) {
	common(&t)
	for op, f := range map[ops.Op]func(complex128) complex128{
		ops.Exp: cmplx.Exp, ops.Log: hostmath.Clog, ops.Sqrt: hostmath.Csqrt,
		ops.Expm1:   hostmath.Cexpm1,
		ops.Log1p:   hostmath.Clog1p,
		ops.Sigmoid: hostmath.Csigmoid,
		ops.Cos:     cmplx.Cos, ops.Sin: cmplx.Sin, ops.Tan: hostmath.Ctan,
		ops.Cosh: cmplx.Cosh, ops.Sinh: cmplx.Sinh, ops.Tanh: hostmath.Ctanh,
		ops.Acos: hostmath.Cacos, ops.Asin: hostmath.Casin, ops.Atan: hostmath.Catan,
		ops.Acosh: hostmath.Cacosh, ops.Asinh: hostmath.Casinh, ops.Atanh: hostmath.Catanh,
		ops.Rsqrt:     hostmath.Crsqrt,
		ops.Cbrt:      hostmath.Ccbrt,
		ops.Erf:       onReal(hostmath.Erf),
		ops.Erfc:      onReal(hostmath.Erfc),
		ops.ErfInv:    onReal(hostmath.ErfInv),
		ops.Abs:       func(z complex128) complex128 { return complex(cmplx.Abs(z), 0) },
		ops.RealPart:  func(z complex128) complex128 { return complex(real(z), 0) },
		ops.Imag:      func(z complex128) complex128 { return complex(imag(z), 0) },
		ops.Phase:     func(z complex128) complex128 { return complex(hostmath.Atan2(imag(z), real(z)), 0) },
		ops.Conjugate: cmplx.Conj,
		ops.Sign:      hostmath.Csign,
		ops.IsNaN: func(z complex128) complex128 {
			return dense.Truth[complex128](real(z) != real(z) || imag(z) != imag(z))
		},
		ops.IsInfinity: func(z complex128) complex128 { return dense.Truth[complex128](cmplx.IsInf(z)) },
	} {
		t[op] = one(f)
	}
	t[ops.Divide] = two(func(x, y complex128) complex128 { return x / y })
	t[ops.Pow] = two(hostmath.Cpow)
	t[ops.Atan2] = two(hostmath.Catan2)
	return t
}()

// onReal applies a function of real numbers to the real part.
func onReal(f func(float64) float64) func(complex128) complex128 {
	return func(z complex128) complex128 { return complex(f(real(z)), 0) }
}
