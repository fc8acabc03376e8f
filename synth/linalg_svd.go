package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// svd plans the decomposition u s v^H. A matrix that is not wide is reflected to
// r, whose rows are rotated until they are orthogonal (Hestenes, 1958): they are
// then s v^H, and the rotations are the left vectors of r. A wide one is the
// transpose of such a matrix.
func (j *linalg) svd() {
	s := j.types[0].Shape
	m, n, full := s[len(s)-2], s[len(s)-1], j.in.Attrs[0][0] != 0
	k := min(m, n)
	cols, rows := k, k
	if full {
		cols, rows = m, n
	}
	a, from := j.operand(0, m, n), strided{}
	u, vh := j.fresh(m, cols), j.fresh(rows, n)
	left, right := u, vh.transposed() // the longer vectors, the shorter ones
	if from = a; m < n {
		from, m, n = a.transposed(), n, m
		left, right, cols = right, left, rows
	}
	work := j.fresh(m, n)
	back := j.scaled(work, from, m, n)
	f := j.reflect(work, m, n)
	x, lengths := j.orthogonal(work, n)
	order := j.order(lengths, n)
	sorted, one := j.fresh(n, 1), j.ones()
	j.ordered(sorted, lengths, one, order, n, 1)
	j.values(j.result(1, n, 1), sorted, back, n, j.noise(1, max(m, n)))

	inverse, turned := j.inverse(lengths, sorted, n, max(m, n)), j.fresh(n, n)
	j.ordered(right.transposed(), x, inverse, order, n, n)
	j.complete(right, n)
	j.ordered(turned.transposed(), j.conjugate(x.from(0, x.row/2)), one, order, n, n)
	q := j.fresh(m, cols)
	f.form(q, cols)
	j.multiply(blockProduct{a: q, b: turned, c: left, m: m, n: n, k: n})
	j.copy(left.from(0, n), q.from(0, n), m, cols-n)
	j.upright(u, vh, s[len(s)-2], s[len(s)-1], k, full)
}

// inverse appends the inverses of lengths; 0 for those that are rounding errors
// next to the greatest.
func (j *linalg) inverse(lengths, sorted strided, n, side int) strided {
	to, top, eps := j.fresh(n, 1), sorted, j.eps()*float64(side)
	top.row = 0
	j.each(elementwise{fmt.Sprintf("inverse eps=%g", eps), to, []strided{lengths, top}, n, 1,
		func(x arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
			small := x.Compare(scalar.Le, x.re(from[0]), x.Mul(x.real(eps), x.re(from[1])))
			return x.Select(small, x.number(0), x.over(x.number(1), from[0]))
		}})
	return to
}

// complete appends orthonormal columns in the place of those that are 0: those of
// the q of all, which the others are, but for phases.
func (j *linalg) complete(v strided, n int) {
	work, q := j.fresh(n, n), j.fresh(n, n)
	j.copy(work, v, n, n)
	f := j.reflect(work, n, n)
	f.form(q, n)
	diagonal := work
	diagonal.row, diagonal.col = 0, n+1
	j.each(elementwise{"oriented", v, []strided{q, diagonal}, n, n,
		func(x arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
			return x.Mul(from[0], x.phase(from[1]))
		}})
}

// upright appends the results: of each right vector, the first element of the
// largest magnitude is positive, and the left one turns with it. Of the right ones
// the adjoints are given.
func (j *linalg) upright(u, vh strided, m, n, k int, full bool) {
	cols, rows := k, k
	if full {
		cols, rows = m, n
	}
	signs := j.lengths(vh, rows, n).from(0, 1)
	signs.col = 0
	j.each(elementwise{"upright rows", j.result(2, rows, n), []strided{vh, signs}, rows, n, turned})
	across := signs
	across.row, across.col = 0, signs.row
	to := j.result(0, m, cols)
	j.each(elementwise{"upright columns", to, []strided{u, across}, m, k, turnedBack})
	j.copy(to.from(0, k), u.from(0, k), m, cols-k)
}

func turned(x arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
	return x.Mul(from[0], from[1])
}

func turnedBack(x arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
	return x.Mul(from[0], x.conj(from[1]))
}
