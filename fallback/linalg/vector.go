package linalg

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/cblas128"
)

// axpy adds alpha x to y.
func axpy[C field](alpha C, x, y []C) {
	switch alpha := any(alpha).(type) {
	case float64:
		x, y := any(x).([]float64), any(y).([]float64)
		blas64.Axpy(alpha, blas64.Vector{N: len(x), Data: x, Inc: 1}, blas64.Vector{N: len(y), Data: y, Inc: 1})
	case complex128:
		x, y := any(x).([]complex128), any(y).([]complex128)
		cblas128.Axpy(alpha, cblas128.Vector{N: len(x), Data: x, Inc: 1}, cblas128.Vector{N: len(y), Data: y, Inc: 1})
	}
}

// dotu is the sum of products.
func dotu[C field](x, y []C) C {
	switch x := any(x).(type) {
	case []float64:
		y := any(y).([]float64)
		return any(blas64.Dot(blas64.Vector{N: len(x), Data: x, Inc: 1}, blas64.Vector{N: len(y), Data: y, Inc: 1})).(C)
	case []complex128:
		y := any(y).([]complex128)
		return any(cblas128.Dotu(cblas128.Vector{N: len(x), Data: x, Inc: 1}, cblas128.Vector{N: len(y), Data: y, Inc: 1})).(C)
	}
	panic("BUG: a field of other numbers")
}

// rotation is a plane rotation of two vectors: p becomes c p - conj(s) q, and
// q becomes s p + c q.
type rotation[C field] struct {
	c float64
	s C
}

// jacobiRotation returns the rotation that makes two vectors orthogonal, by at most 45 degrees.
// alpha and beta are their squared lengths, and gamma is their inner product, which is not 0.
func jacobiRotation[C field](alpha, beta float64, gamma C) (r rotation[C], t float64) {
	g := magnitude(gamma)
	tau := (beta - alpha) / (2 * g)
	root := 1.0
	switch {
	case tau > 1e150 || tau < -1e150:
		t = 1 / (2 * tau)
	default:
		if root = hypot1(tau); tau < 0 {
			root = -root
		}
		t = 1 / (tau + root)
	}
	r.c = 1 / hypot1(t)
	r.s = number[C](t*r.c) * (gamma / number[C](g))
	return r, t * g
}

func (r rotation[C]) apply(p, q []C) {
	c, s, sc := number[C](r.c), r.s, conj(r.s)
	for i, x := range p {
		y := q[i]
		p[i], q[i] = c*x-sc*y, s*x+c*y
	}
}

// normalizePhase multiplies a vector of length 1 by the phase that makes the first
// component of the largest magnitude real and positive, and returns the phase.
func normalizePhase[C field](v []C) C {
	top := 0.0
	for _, x := range v {
		top = max(top, magnitude(x))
	}
	// Magnitudes that differ by rounding are the same.
	lead := slices.IndexFunc(v, func(x C) bool { return magnitude(x) >= top*(1-1e-9) })
	if top == 0 {
		return 1
	}
	phase := conj(v[lead]) / number[C](magnitude(v[lead]))
	for i, x := range v {
		v[i] = applyPhase(x, phase)
	}
	v[lead] = number[C](realOf(v[lead]))
	return phase
}

// applyPhase multiplies a component of a vector of length 1 by a phase. A component of the size
// of rounding errors becomes 0, and a negative zero a positive one.
func applyPhase[C field](x, phase C) C {
	if magnitude(x) <= epsilon {
		return 0
	}
	return x*phase + 0
}

// hypot1 is the root of 1 + x^2, for x whose square does not overflow.
func hypot1(x float64) float64 { return math.Sqrt(1 + x*x) }
