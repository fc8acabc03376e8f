package synth

import (
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// householder is I - tau v v^H with a 1 in front of v, which takes a column to
// size in front and zeros beneath. tau is real.
type householder struct {
	size, tau, inverse kernel.Value // inverse is that of what v is divided by
	nothing            kernel.Value // whether the column stays as it is
}

// householder finds the reflector of a column from its first element and the sum
// of the squared magnitudes beneath; last says that there are no rows beneath. The
// diagonal of a real r is not negative.
func (x arith) householder(head, beneath, last kernel.Value) (h householder) {
	if x.t.Complex() {
		return x.householderComplex(head, beneath, last)
	}
	h.size = x.sqrt(x.fma(head, head, beneath))
	// Without cancellation: head - size, of which the second is a quotient.
	negative := x.Compare(scalar.Le, head, x.number(0))
	first := x.Select(negative, x.Sub(head, h.size), x.over(x.neg(beneath), x.Add(head, h.size)))
	eps := x.eps()
	h.nothing = x.Compare(scalar.Le, beneath, x.Mul(x.number(16*eps*eps), x.Mul(h.size, h.size)))
	h.inverse = x.over(x.number(1), first)
	ratio := x.Mul(x.Mul(beneath, h.inverse), h.inverse)
	h.tau = x.Select(h.nothing, x.number(0), x.over(x.number(2), x.Add(x.number(1), ratio)))
	return h
}

// householderComplex turns a column against its own phase, as the host does, and
// as nothing cancels.
func (x arith) householderComplex(head, beneath, last kernel.Value) (h householder) {
	beneath, _ = x.Parts(beneath)
	re, im := x.Parts(head)
	length := x.sqrt(x.fma(re, re, x.fma(im, im, beneath)))
	size, phase := x.abs(head), x.phase(head)
	h.size = x.neg(x.Mul(phase, length))
	isNumber := x.Compare(scalar.Eq, length, length)
	h.nothing = x.either(x.zero(length), x.both(last, isNumber))
	far := x.Add(size, length) // from head to -phase length
	h.inverse = x.over(x.conj(phase), far)
	ratio := x.over(x.over(beneath, far), far)
	h.tau = x.Select(h.nothing, x.real(0), x.over(x.real(2), x.Add(x.real(1), ratio)))
	return h
}
