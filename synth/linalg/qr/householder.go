package qr

import (
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/scalar"
)

// householder is I - tau v v^H with a 1 in front of v, which takes a column to
// size in front and zeros beneath. tau is real.
type householder struct {
	size, tau kernel.Value
	inverse   kernel.Value // of what the column is divided by, which gives v
	across    kernel.Value // the same for lifted products with the column
	nothing   kernel.Value // whether the column stays as it is
}

// lift returns a power of two, by whose square products with a column are lifted, and
// the least lifted sum of squares that has all its digits. A matrix whose largest element
// is about 1 may have columns that are rounding errors of rounding errors (1e-21 in f32,
// where the matrix has rank 1). Squares of these vanish, and tau would be wrong: q would
// not be orthogonal. Columns below 2^-100 of the matrix, 2^-930 in f64, stay as they are.
func lift(x factor.Arith) (by, least float64) {
	if x.T.Part() == scalar.F64 {
		return 0x1p450, 0x1p-960
	}
	return 0x1p50, 0x1p-100
}

// lifted is an element of a column, times the square of the lift.
func lifted(x factor.Arith, v kernel.Value) kernel.Value {
	by, _ := lift(x)
	return x.Mul(x.Real(by*by), v)
}

// newHouseholder finds the reflector of a column from its first element and the lifted sum
// of the squared magnitudes beneath; last says that there are no rows beneath. The
// diagonal of a real r is not negative.
func newHouseholder(x factor.Arith, head, beneath, last kernel.Value) (h householder) {
	if x.T.Complex() {
		return householderComplex(x, head, beneath, last)
	}
	by, least := lift(x)
	head = x.Mul(head, x.Real(by))
	size := x.Sqrt(x.Fma(head, head, beneath))
	// head - size without cancellation; the second form is a quotient.
	negative := x.Compare(scalar.Le, head, x.Number(0))
	first := x.Select(negative, x.Sub(head, size), x.Over(x.Neg(beneath), x.Add(head, size)))
	eps := x.Eps()
	h.nothing = x.Compare(scalar.Le, beneath, x.Mul(x.Number(16*eps*eps), x.Mul(size, size)))
	h.nothing = x.Or2(h.nothing, x.Compare(scalar.Lt, beneath, x.Real(least)))
	inverse := x.Over(x.Number(1), first)
	ratio := x.Mul(x.Mul(beneath, inverse), inverse)
	h.tau = x.Select(h.nothing, x.Number(0), x.Over(x.Number(2), x.Add(x.Number(1), ratio)))
	h.size = x.Mul(size, x.Real(1/by))
	h.inverse, h.across = x.Mul(inverse, x.Real(by)), x.Mul(inverse, x.Real(1/by))
	return h
}

// householderComplex turns a column against its own phase, as the host does, and
// as nothing cancels.
func householderComplex(x factor.Arith, head, beneath, last kernel.Value) (h householder) {
	by, least := lift(x)
	beneath, _ = x.Parts(beneath)
	head = x.Mul(x.Real(by), head)
	phase := x.Phase(head)
	re, im := x.Parts(head)
	squares := x.Fma(re, re, x.Fma(im, im, beneath))
	length := x.Sqrt(squares)
	h.size = x.Neg(x.Mul(phase, x.Mul(length, x.Real(1/by))))
	isNumber := x.Compare(scalar.Eq, length, length)
	h.nothing = x.Or2(x.Compare(scalar.Lt, squares, x.Real(least)), x.And2(last, isNumber))
	far := x.Add(x.Abs(head), length) // from head to -phase length
	inverse := x.Over(factor.Conj(x.Emitter, phase), far)
	h.inverse, h.across = x.Mul(x.Real(by), inverse), x.Mul(x.Real(1/by), inverse)
	ratio := x.Over(x.Over(beneath, far), far)
	h.tau = x.Select(h.nothing, x.Real(0), x.Over(x.Real(2), x.Add(x.Real(1), ratio)))
	return h
}
