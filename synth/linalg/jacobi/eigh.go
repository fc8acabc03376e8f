package jacobi

import (
	"fmt"
	"math"

	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/scalar"
)

// LowerEigh plans the eigenvalues and eigenvectors of Hermitian matrices by Jacobi's
// rotations. Matrices of one pair of blocks are diagonal after a single step.
func LowerEigh(j *factor.Job) {
	n := j.Side()
	a := j.Fresh(n, n)
	back := j.Scaled(a, j.Operand(0, n, n), n, n)
	bound := j.Fresh(1, 1)
	var vectors, values factor.Matrices
	if n <= aloneSide(j) {
		x := j.Fresh(n, n)
		hermitian(j, x, a, n)
		boundOf(j, bound, x, n)
		vectors, values = j.Fresh(n, n), j.Fresh(n, 1)
		rotate(j, pivots{s: x, w: vectors, sums: 1, n: n, pairs: 1, sweeps: eighSweeps(j), bound: &bound, values: &values})
	} else {
		vectors, values = diagonalise(j, a, bound, n)
	}
	units := units(j, columnLengths(j, vectors, n, n), back, n)
	order := order(j, values, n)
	sorted, one := j.Fresh(n, 1), ones(j)
	reorder(j, sorted, values, one, order, n, 1)
	sortedValues(j, j.Result(0, n, 1), sorted, back, n, noise(j, 0, n))
	reorder(j, j.Result(1, n, n).Transposed(), j.Conjugate(vectors), j.Conjugate(units), order, n, n)
}

// units appends what makes vectors upright and of length 1; NaN, as back is, where the
// matrix has something that is not finite, since nothing is rotated then.
func units(j *factor.Job, lengths, back factor.Matrices, n int) factor.Matrices {
	to := j.Fresh(n, 1)
	back.Row, back.Col = 0, 0
	j.Each(factor.Elementwise{Name: "units", To: to, From: []factor.Matrices{lengths, lengths.From(0, 1), back}, M: n, N: 1,
		F: func(x factor.Arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
			undefined := x.Compare(scalar.Ne, x.Re(from[2]), x.Re(from[2]))
			return x.Select(undefined, from[2], x.Over(from[1], from[0]))
		}})
	return to
}

// eighSweeps is how many sweeps there are at most.
func eighSweeps(j *factor.Job) int {
	if j.Typ.Part() == scalar.F64 {
		return mostDouble
	}
	return MostSweeps
}

// aloneSide is how large a matrix one workgroup rotates by itself.
func aloneSide(j *factor.Job) int {
	if 2*64*65*j.Wide.Size() <= j.Target.SharedMemory*7/8 {
		return 64
	}
	return sideOfPairs(j)
}

// ones is a 1 for every matrix, at any place.
func ones(j *factor.Job) factor.Matrices {
	one := j.Fresh(1, 1)
	j.Each(factor.Elementwise{Name: "one", To: one, From: nil, M: 1, N: 1, F: func(x factor.Arith, _, _ kernel.Value, _ []kernel.Value) kernel.Value { return x.Number(1) }})
	one.Row, one.Col = 0, 0
	return one
}

// hermitian appends the Hermitian matrix that has the lower triangle of a.
func hermitian(j *factor.Job, to, a factor.Matrices, n int) {
	j.Each(factor.Elementwise{Name: "hermitian", To: to, From: []factor.Matrices{a, a.Transposed()}, M: n, N: n,
		F: func(x factor.Arith, i, k kernel.Value, from []kernel.Value) kernel.Value {
			v := x.Select(x.Compare(scalar.Le, k, i), from[0], factor.Conj(x.Emitter, from[1]))
			return x.Select(x.IsEqual(i, k), x.Re(v), v)
		}})
}

// boundOf appends what counts as nothing off the diagonal: the rounding of a
// typical eigenvalue.
func boundOf(j *factor.Job, to, a factor.Matrices, n int) {
	rows := columnLengths(j, a, n, n)
	norm := columnLengths(j, rows.Transposed(), 1, n)
	eps := j.Eps() / math.Sqrt(float64(n))
	j.Each(factor.Elementwise{Name: fmt.Sprintf("bound %g", eps), To: to, From: []factor.Matrices{norm}, M: 1, N: 1,
		F: func(x factor.Arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
			return x.Mul(x.Number(eps), from[0])
		}})
}
