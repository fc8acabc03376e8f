package qr

import (
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/scalar"
)

// householder is I - tau v v^H with a 1 in front of v, which takes a column to
// size in front and zeros beneath. tau is real.
type householder struct {
	size, tau, inverse kernel.Value // inverse is that of what v is divided by
	nothing            kernel.Value // whether the column stays as it is
}

// newHouseholder finds the reflector of a column from its first element and the sum
// of the squared magnitudes beneath; last says that there are no rows beneath. The
// diagonal of a real r is not negative.
func newHouseholder(x factor.Arith, head, beneath, last kernel.Value) (h householder) {
	if x.T.Complex() {
		return householderComplex(x, head, beneath, last)
	}
	h.size = x.Sqrt(x.Fma(head, head, beneath))
	// head - size without cancellation; the second form is a quotient.
	negative := x.Compare(scalar.Le, head, x.Number(0))
	first := x.Select(negative, x.Sub(head, h.size), x.Over(x.Neg(beneath), x.Add(head, h.size)))
	eps := x.Eps()
	h.nothing = x.Compare(scalar.Le, beneath, x.Mul(x.Number(16*eps*eps), x.Mul(h.size, h.size)))
	h.inverse = x.Over(x.Number(1), first)
	ratio := x.Mul(x.Mul(beneath, h.inverse), h.inverse)
	h.tau = x.Select(h.nothing, x.Number(0), x.Over(x.Number(2), x.Add(x.Number(1), ratio)))
	return h
}

// householderComplex turns a column against its own phase, as the host does, and
// as nothing cancels.
func householderComplex(x factor.Arith, head, beneath, last kernel.Value) (h householder) {
	beneath, _ = x.Parts(beneath)
	re, im := x.Parts(head)
	length := x.Sqrt(x.Fma(re, re, x.Fma(im, im, beneath)))
	size, phase := x.Abs(head), x.Phase(head)
	h.size = x.Neg(x.Mul(phase, length))
	isNumber := x.Compare(scalar.Eq, length, length)
	h.nothing = x.Or2(x.Zero(length), x.And2(last, isNumber))
	far := x.Add(size, length) // from head to -phase length
	h.inverse = x.Over(factor.Conj(x.Emitter, phase), far)
	ratio := x.Over(x.Over(beneath, far), far)
	h.tau = x.Select(h.nothing, x.Real(0), x.Over(x.Real(2), x.Add(x.Real(1), ratio)))
	return h
}
