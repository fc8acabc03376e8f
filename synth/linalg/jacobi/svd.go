package jacobi

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/linalg/qr"
	"nxvk/synth/scalar"
)

// LowerSVD plans the decomposition u s v^H. A matrix that is not wide is reflected to
// r, whose rows are rotated until they are orthogonal (Hestenes, 1958): they are
// then s v^H, and the rotations are the left vectors of r. A wide one is the
// transpose of such a matrix.
func LowerSVD(j *factor.Job) {
	s := j.Types[0].Shape
	m, n, full := s[len(s)-2], s[len(s)-1], j.In.Attrs[0][0] != 0
	k := min(m, n)
	cols, rows := k, k
	if full {
		cols, rows = m, n
	}
	a, from := j.Operand(0, m, n), factor.Matrices{}
	u, vh := j.Fresh(m, cols), j.Fresh(rows, n)
	left, right := u, vh.Transposed() // the longer vectors, the shorter ones
	if from = a; m < n {
		from, m, n = a.Transposed(), n, m
		left, right, cols = right, left, rows
	}
	work := j.Fresh(m, n)
	back := j.Scaled(work, from, m, n)
	f := qr.Factor(j, work, m, n)
	if n == 1 {
		vectorSVD(j, f, work, back, left, right, m, cols)
		upright(j, u, vh, s[len(s)-2], s[len(s)-1], k, full)
		return
	}
	x, lengths := orthogonal(j, work, n)
	order := order(j, lengths, n)
	sorted, one := j.Fresh(n, 1), ones(j)
	reorder(j, sorted, lengths, one, order, n, 1)
	sortedValues(j, j.Result(1, n, 1), sorted, back, n, noise(j, 1, max(m, n)))

	inverse, vectors := inverse(j, lengths, sorted, n, max(m, n)), j.Fresh(n, n)
	reorder(j, right.Transposed(), x, inverse, order, n, n)
	complete(j, right, n)
	reorder(j, vectors.Transposed(), j.Conjugate(x.From(0, x.Row/2)), one, order, n, n)
	q := j.Fresh(m, cols)
	f.Form(q, cols)
	j.Multiply(factor.BlockProduct{A: q, B: vectors, C: left, M: m, N: n, K: n})
	j.Copy(left.From(0, n), q.From(0, n), m, cols-n)
	upright(j, u, vh, s[len(s)-2], s[len(s)-1], k, full)
}

// vectorSVD appends the decomposition of a vector, whose reflection to r is all of it: nothing is rotated.
func vectorSVD(j *factor.Job, f *qr.QR, r, back, left, right factor.Matrices, m, cols int) {
	length, q := j.Fresh(1, 1), j.Fresh(m, cols)
	j.Each(factor.Elementwise{Name: "magnitude", To: length, From: []factor.Matrices{r}, M: 1, N: 1,
		F: func(x factor.Arith, _, _ kernel.Value, from []kernel.Value) kernel.Value { return x.Abs(from[0]) }})
	sortedValues(j, j.Result(1, 1, 1), length, back, 1, noise(j, 1, m))
	f.Form(q, cols)
	r.Row, r.Col = 0, 0 // its first element, for all
	j.Each(factor.Elementwise{Name: "oriented vector", To: left, From: []factor.Matrices{q, r}, M: m, N: 1,
		F: func(x factor.Arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
			return x.Mul(from[0], x.Phase(from[1]))
		}})
	j.Copy(left.From(0, 1), q.From(0, 1), m, cols-1)
	j.Unit(right, 1, 1)
}

// inverse appends the inverses of lengths; 0 for those that are rounding errors
// next to the greatest.
func inverse(j *factor.Job, lengths, sorted factor.Matrices, n, side int) factor.Matrices {
	to, top, eps := j.Fresh(n, 1), sorted, j.Eps()*float64(side)
	top.Row = 0
	j.Each(factor.Elementwise{Name: fmt.Sprintf("inverse eps=%g", eps), To: to, From: []factor.Matrices{lengths, top}, M: n, N: 1,
		F: func(x factor.Arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
			small := x.Compare(scalar.Le, x.Re(from[0]), x.Mul(x.Real(eps), x.Re(from[1])))
			return x.Select(small, x.Number(0), x.Over(x.Number(1), from[0]))
		}})
	return to
}

// complete appends orthonormal columns in the place of those that are 0: those of
// the q of all, which the others are, but for phases.
func complete(j *factor.Job, v factor.Matrices, n int) {
	work, q := j.Fresh(n, n), j.Fresh(n, n)
	j.Copy(work, v, n, n)
	f := qr.Factor(j, work, n, n)
	f.Form(q, n)
	diagonal := work
	diagonal.Row, diagonal.Col = 0, n+1
	j.Each(factor.Elementwise{Name: "oriented", To: v, From: []factor.Matrices{q, diagonal}, M: n, N: n,
		F: func(x factor.Arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
			return x.Mul(from[0], x.Phase(from[1]))
		}})
}

// upright appends the results: of each right vector, the first element of the
// largest magnitude is positive, and the left one turns with it. Of the right ones
// the adjoints are given.
func upright(j *factor.Job, u, vh factor.Matrices, m, n, k int, full bool) {
	cols, rows := k, k
	if full {
		cols, rows = m, n
	}
	signs := columnLengths(j, vh, rows, n).From(0, 1)
	signs.Col = 0
	j.Each(factor.Elementwise{Name: "upright rows", To: j.Result(2, rows, n), From: []factor.Matrices{vh, signs}, M: rows, N: n, F: multiply})
	across := signs
	across.Row, across.Col = 0, signs.Row
	to := j.Result(0, m, cols)
	j.Each(factor.Elementwise{Name: "upright columns", To: to, From: []factor.Matrices{u, across}, M: m, N: k, F: multiplyConj})
	j.Copy(to.From(0, k), u.From(0, k), m, cols-k)
}

// multiply gives an element times a phase.
func multiply(x factor.Arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
	return x.Mul(from[0], from[1])
}

// multiplyConj gives an element times the conjugate of a phase.
func multiplyConj(x factor.Arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
	return x.Mul(from[0], factor.Conj(x.Emitter, from[1]))
}
