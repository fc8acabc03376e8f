package synth

import (
	"fmt"
	"math"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// eigh plans the eigenvalues and eigenvectors of Hermitian matrices by Jacobi's
// rotations. Matrices of one pair of blocks are diagonal after a single step.
func (j *linalg) eigh() {
	n := j.side()
	a := j.fresh(n, n)
	back := j.scaled(a, j.operand(0, n, n), n, n)
	bound := j.fresh(1, 1)
	var vectors, values strided
	if n <= j.aloneSide() {
		x := j.fresh(n, n)
		j.hermitian(x, a, n)
		j.bound(bound, x, n)
		vectors, values = j.fresh(n, n), j.fresh(n, 1)
		j.rotate(pivots{s: x, w: vectors, sums: 1, n: n, pairs: 1, sweeps: mostSweeps, bound: &bound, values: &values})
	} else {
		vectors, values = j.diagonalise(a, bound, n)
	}
	units := j.units(j.lengths(vectors, n, n), back, n)
	order := j.order(values, n)
	sorted, one := j.fresh(n, 1), j.ones()
	j.ordered(sorted, values, one, order, n, 1)
	j.values(j.result(0, n, 1), sorted, back, n, j.noise(0, n))
	j.ordered(j.result(1, n, n).transposed(), j.conjugate(vectors), j.conjugate(units), order, n, n)
}

// units appends what makes vectors upright and of length 1; NaN, as back is, where the
// matrix has something that is not finite, since nothing is rotated then.
func (j *linalg) units(lengths, back strided, n int) strided {
	to := j.fresh(n, 1)
	back.row, back.col = 0, 0
	j.each(elementwise{"units", to, []strided{lengths, lengths.from(0, 1), back}, n, 1,
		func(x arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
			undefined := x.Compare(scalar.Ne, x.re(from[2]), x.re(from[2]))
			return x.Select(undefined, from[2], x.over(from[1], from[0]))
		}})
	return to
}

// aloneSide is how large a matrix one workgroup rotates by itself.
func (j *linalg) aloneSide() int {
	if 2*64*65*j.wide.Size() <= j.t.SharedMemory*7/8 {
		return 64
	}
	return j.pairSide()
}

// ones is a 1 for every matrix, at any place.
func (j *linalg) ones() strided {
	one := j.fresh(1, 1)
	j.each(elementwise{"one", one, nil, 1, 1, func(x arith, _, _ kernel.Value, _ []kernel.Value) kernel.Value { return x.number(1) }})
	one.row, one.col = 0, 0
	return one
}

// hermitian appends the Hermitian matrix that has the lower triangle of a.
func (j *linalg) hermitian(to, a strided, n int) {
	j.each(elementwise{"hermitian", to, []strided{a, a.transposed()}, n, n,
		func(x arith, i, k kernel.Value, from []kernel.Value) kernel.Value {
			v := x.Select(x.Compare(scalar.Le, k, i), from[0], x.conj(from[1]))
			return x.Select(x.same(i, k), x.re(v), v)
		}})
}

// bound appends what counts as nothing off the diagonal: the rounding of a
// typical eigenvalue.
func (j *linalg) bound(to, a strided, n int) {
	rows := j.lengths(a, n, n)
	norm := j.lengths(rows.transposed(), 1, n)
	eps := j.eps() / math.Sqrt(float64(n))
	j.each(elementwise{fmt.Sprintf("bound %g", eps), to, []strided{norm}, 1, 1,
		func(x arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
			return x.Mul(x.number(eps), from[0])
		}})
}

// zeros appends a matrix of zeros, unit one with a diagonal of ones.
func (j *linalg) zeros(to strided, m, n int) {
	j.each(elementwise{"zeros", to, nil, m, n, func(x arith, _, _ kernel.Value, _ []kernel.Value) kernel.Value { return x.number(0) }})
}

func (j *linalg) unit(to strided, m, n int) {
	j.each(elementwise{"identity", to, nil, m, n, func(x arith, i, k kernel.Value, _ []kernel.Value) kernel.Value {
		return x.Select(x.same(i, k), x.number(1), x.number(0))
	}})
}
