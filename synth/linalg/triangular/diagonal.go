package triangular

import (
	"slices"

	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/scalar"
)

// A division takes several times as long as the other operations between two unknowns. So the reciprocals of
// the diagonal are found before they are needed, and a quotient is a product that is corrected once (Markstein,
// "Computation of elementary functions on the IBM RISC System/6000 processor", 1990).

// reciprocal is 1/v, and 0 where that is not a normal number: zero, subnormal, infinite or NaN.
func reciprocal(x factor.Arith, v kernel.Value) kernel.Value {
	r := x.Over(x.Number(1), v)
	size := x.Abs(r)
	least, most := 0x1p-126, 0x1p127
	if x.T == scalar.F64 {
		least, most = 0x1p-1022, 0x1p1023
	}
	normal := x.And2(x.Compare(scalar.Le, x.Number(least), size), x.Compare(scalar.Le, size, x.Number(most)))
	return x.Select(normal, r, x.Number(0))
}

// diagonal is that of a small triangle in registers.
type diagonal struct {
	factor.Arith
	unit bool
	d, r []kernel.Value // the elements, and their reciprocals if there are any
}

// solve gives the unknowns of a small triangle from its elements under the diagonal, by columns and negated, and
// a right-hand side.
func (d diagonal) solve(t [][]kernel.Value, b []kernel.Value) []kernel.Value {
	if len(d.r) == 0 {
		return d.substitute(t, b, d.divided)
	}
	normal := d.Not(d.Zero(d.r[0]))
	for _, r := range d.r[1:] {
		normal = d.And2(normal, d.Not(d.Zero(r)))
	}
	return d.If(normal, func() []kernel.Value { return d.substitute(t, b, d.corrected) },
		func() []kernel.Value { return d.substitute(t, b, d.divided) })
}

// substitute solves the triangle with quotients of a kind.
func (d diagonal) substitute(t [][]kernel.Value, b []kernel.Value, quotient func(i int, v kernel.Value) kernel.Value) []kernel.Value {
	x := slices.Clone(b)
	for c := range x {
		x[c] = quotient(c, x[c])
		for i := c + 1; i < len(x); i++ {
			x[i] = d.Fma(t[c][i], x[c], x[i])
		}
	}
	return x
}

// divided is v by the i-th element.
func (d diagonal) divided(i int, v kernel.Value) kernel.Value {
	if d.unit {
		return v
	}
	return d.Over(v, d.d[i])
}

// corrected is v by the i-th element, whose reciprocal is a normal number. The correction is of no use where
// it is not a number, because v or the quotient is not finite, or makes a zero, which may lose its sign.
func (d diagonal) corrected(i int, v kernel.Value) kernel.Value {
	q := d.Mul(v, d.r[i])
	e := d.Fma(d.Neg(q), d.d[i], v)
	better := d.Fma(e, d.r[i], q)
	zero := d.Number(0)
	return d.Select(d.Or2(d.Compare(scalar.Lt, zero, better), d.Compare(scalar.Lt, better, zero)), better, q)
}
