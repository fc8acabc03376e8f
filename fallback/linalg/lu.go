package linalg

import (
	"nxvk/fallback/dense"
	"nxvk/fallback/sched"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// lu has the factors of a matrix with its rows permuted: the unit lower and the upper triangle
// in one. Row i was row rows[i] of the matrix.
type lu[C field] struct {
	a    []C
	n    int
	rows []int
	odd  bool // whether the permutation changes the sign of the determinant
}

// eliminate factors a square matrix with partial pivoting. A column without a
// pivot is left as it is.
func eliminate[C field](w *sched.Worker, a []C, n int) *lu[C] {
	f := &lu[C]{a: append([]C(nil), a...), n: n, rows: make([]int, n)}
	for i := range f.rows {
		f.rows[i] = i
	}
	if x, ok := any(f.a).([]float64); ok {
		pivots := make([]int, n)
		factorLU(w, n, x, pivots)
		for i, j := range pivots {
			f.exchange(i, j)
		}
		return f
	}
	p := dense.Pacer{Worker: w}
	for i := range n {
		f.step(i)
		p.Step((n - i) * (n - i))
	}
	return f
}

// exchange notes that two rows have changed places.
func (f *lu[C]) exchange(i, j int) {
	if i != j {
		f.rows[i], f.rows[j] = f.rows[j], f.rows[i]
		f.odd = !f.odd
	}
}

// step eliminates column i.
func (f *lu[C]) step(i int) {
	n, best := f.n, i
	for k := i + 1; k < n; k++ {
		if magnitude(f.a[k*n+i]) > magnitude(f.a[best*n+i]) {
			best = k
		}
	}
	if best != i {
		top, other := f.a[i*n:i*n+n], f.a[best*n:best*n+n]
		for j, x := range top {
			top[j], other[j] = other[j], x
		}
	}
	f.exchange(i, best)
	row := f.a[i*n : i*n+n]
	if row[i] == 0 {
		return
	}
	for k := i + 1; k < n; k++ {
		below := f.a[k*n : k*n+n]
		q := below[i] / row[i]
		below[i] = q
		for j := i + 1; j < n; j++ {
			below[j] -= q * row[j]
		}
	}
}

func luIn[C field](p *problem[C]) error {
	f, n := eliminate(p.in.Worker, p.args[0], p.n), p.n
	perm, l, u := p.outs[0], p.outs[1], p.outs[2]
	for i, from := range f.rows {
		perm[from*n+i] = 1
		copy(l[i*n:i*n+i], f.a[i*n:])
		l[i*n+i] = 1
		copy(u[i*n+i:i*n+n], f.a[i*n+i:])
	}
	return nil
}

// solveBatch solves a x = b for the right-hand sides in the columns of b.
func solveBatch[C field](p *problem[C]) error {
	f, n, b, x := eliminate(p.in.Worker, p.args[0], p.n), p.n, p.args[1], p.outs[0]
	for i := range n {
		if f.a[i*n+i] == 0 {
			return ErrSingular
		}
	}
	m := len(b) / n
	for i, from := range f.rows {
		copy(x[i*m:i*m+m], b[from*m:])
	}
	if a, ok := any(f.a).([]float64); ok {
		solveReal(p.in.Worker, a, any(x).([]float64), n, m)
		return nil
	}
	pace := dense.Pacer{Worker: p.in.Worker}
	for i := range n {
		f.clearRow(&pace, x, m, i, 0, i)
	}
	for i := n - 1; i >= 0; i-- {
		f.clearRow(&pace, x, m, i, i+1, n)
		for j := range m {
			x[i*m+j] /= f.a[i*n+i]
		}
	}
	return nil
}

// clearRow subtracts the contributions of unknowns lo to hi from row i.
func (f *lu[C]) clearRow(p *dense.Pacer, x []C, m, i, lo, hi int) {
	row := x[i*m : i*m+m]
	for k := lo; k < hi; k++ {
		p.Step(m)
		q := f.a[i*f.n+k]
		for j, y := range x[k*m : k*m+m] {
			row[j] -= q * y
		}
	}
}

func solveReal(w *sched.Worker, a, x []float64, n, m int) {
	lower := blas64.Triangular{Uplo: blas.Lower, Diag: blas.Unit, N: n, Data: a, Stride: n}
	upper := blas64.Triangular{Uplo: blas.Upper, Diag: blas.NonUnit, N: n, Data: a, Stride: n}
	dense.Parallel(w, m, n*n, func(lo, hi int) {
		b := blas64.General{Rows: n, Cols: hi - lo, Data: x[lo:], Stride: m}
		blas64.Trsm(blas.Left, blas.NoTrans, 1, lower, b)
		blas64.Trsm(blas.Left, blas.NoTrans, 1, upper, b)
	})
}

// determinantIn expands matrices of up to three rows, which is exact for small integers, and
// multiplies the pivots of larger ones.
func determinantIn[C field](p *problem[C]) error {
	a, out := p.args[0], p.outs[0]
	switch p.n {
	case 1:
		out[0] = a[0]
		return nil
	case 2:
		out[0] = a[0]*a[3] - a[1]*a[2]
		return nil
	case 3:
		out[0] = a[0]*a[4]*a[8] + a[1]*a[5]*a[6] + a[2]*a[3]*a[7] -
			a[2]*a[4]*a[6] - a[1]*a[3]*a[8] - a[0]*a[5]*a[7]
		return nil
	}
	f, det := eliminate(p.in.Worker, a, p.n), C(1)
	if f.odd {
		det = -1
	}
	for i := range p.n {
		det *= f.a[i*p.n+i]
	}
	out[0] = det
	return nil
}
