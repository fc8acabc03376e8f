package linalg

import (
	"math"

	"nxvk/fallback/dense"
	"nxvk/fallback/matmul"
	"nxvk/fallback/sched"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	lapackgo "gonum.org/v1/gonum/lapack/gonum"
)

// qlIterations bounds the implicit iterations per eigenvalue.
const qlIterations = 30

// Blocks of a tridiagonal matrix whose largest element is outside of these are scaled.
var (
	tridiagonalMost  = math.Sqrt(1/lapackSafe) / 3
	tridiagonalLeast = math.Sqrt(lapackSafe) / (lapackEps * lapackEps)
)

// tridiagonal is the eigenvalue decomposition of a symmetric tridiagonal matrix by implicit QL
// and QR iterations with Wilkinson's shift (Golub and Van Loan, Matrix Computations, section
// 8.3). It is gonum's dsteqr operation by operation, for the reasons given at bidiagonal, with
// one difference: after a block of tiny elements gonum scales all later blocks, and their
// eigenvalues are wrong.
type tridiagonal struct {
	w    *sched.Worker
	n    int
	d, e []float64 // the diagonal, which becomes the eigenvalues, and the one beside it
	z    []float64 // n by n: the columns become the eigenvectors

	rotations rotations
	remaining int // iterations that may still be made
	pace      dense.Pacer
	impl      lapackgo.Implementation
}

// solve reports whether all eigenvalues converged, which it leaves in ascending order.
func (t *tridiagonal) solve() bool {
	n := t.n
	t.pace.Worker, t.rotations, t.remaining = t.w, newRotations(n-1), qlIterations*n
	for i := range n {
		t.z[i*n+i] = 1
	}
	for lo := 0; lo < n; {
		if lo > 0 {
			t.e[lo-1] = 0
		}
		hi := t.split(lo)
		if hi > lo && !t.solveBlock(lo, hi) {
			return false
		}
		lo = hi + 1
	}
	t.order()
	return true
}

// split returns the last row of the block that begins with row lo.
func (t *tridiagonal) split(lo int) int {
	for m := lo; m < t.n-1; m++ {
		size := math.Abs(t.e[m])
		if size <= (math.Sqrt(math.Abs(t.d[m]))*math.Sqrt(math.Abs(t.d[m+1])))*lapackEps {
			t.e[m] = 0
			return m
		}
	}
	return t.n - 1
}

// solveBlock solves rows lo to hi, scaled where squares of elements would overflow or vanish.
func (t *tridiagonal) solveBlock(lo, hi int) bool {
	d, e := t.d[lo:hi+1], t.e[lo:hi]
	size := t.impl.Dlanst(lapack.MaxAbs, len(d), d, e)
	if size == 0 {
		return true
	}
	scale := func(from, to float64) {
		t.impl.Dlascl(lapack.General, 0, 0, from, to, len(d), 1, d, 1)
		t.impl.Dlascl(lapack.General, 0, 0, from, to, len(e), 1, e, 1)
	}
	to := size
	switch {
	case size > tridiagonalMost:
		to = tridiagonalMost
	case size < tridiagonalLeast:
		to = tridiagonalLeast
	}
	if to != size {
		scale(size, to)
		defer scale(to, size)
	}
	if math.Abs(t.d[hi]) < math.Abs(t.d[lo]) {
		return t.iterateUp(hi, lo)
	}
	return t.iterateDown(lo, hi)
}

// iterateDown finds the eigenvalues of rows l to last by QL iterations.
func (t *tridiagonal) iterateDown(l, last int) bool {
	d, e := t.d, t.e
	for l <= last {
		t.pace.Step(4 * t.n)
		m := l
		for ; m < last; m++ {
			v := math.Abs(e[m])
			if v*v <= (lapackEps*lapackEps*math.Abs(d[m]))*math.Abs(d[m+1])+lapackSafe {
				e[m] = 0
				break
			}
		}
		switch {
		case m == l:
			l++
		case m == l+1:
			d[l], d[l+1], t.rotations.c[l], t.rotations.s[l] = t.impl.Dlaev2(d[l], e[l], d[l+1])
			t.rotateColumns(l, 2, l, lapack.Backward)
			e[l] = 0
			l += 2
		case t.remaining == 0:
			return false
		default:
			t.remaining--
			t.chaseDown(l, m)
		}
	}
	return true
}

// chaseDown is a QL iteration of rows l to m.
func (t *tridiagonal) chaseDown(l, m int) {
	d, e := t.d, t.e
	p := d[l]
	g := (d[l+1] - p) / (2 * e[l])
	r := t.impl.Dlapy2(g, 1)
	g = d[m] - p + e[l]/(g+math.Copysign(r, g))
	s, c := 1.0, 1.0
	p = 0
	for i := m - 1; i >= l; i-- {
		f := s * e[i]
		b := c * e[i]
		c, s, r = t.impl.Dlartg(g, f)
		if i != m-1 {
			e[i+1] = r
		}
		g = d[i+1] - p
		r = (d[i]-g)*s + 2*c*b
		p = s * r
		d[i+1] = g + p
		g = c*r - b
		t.rotations.c[i], t.rotations.s[i] = c, -s
	}
	t.rotateColumns(l, m-l+1, l, lapack.Backward)
	d[l] -= p
	e[l] = g
}

// iterateUp finds the eigenvalues of rows first to l, from the last on, by QR iterations.
func (t *tridiagonal) iterateUp(l, first int) bool {
	d, e := t.d, t.e
	for l >= first {
		t.pace.Step(4 * t.n)
		m := l
		for ; m > first; m-- {
			v := math.Abs(e[m-1])
			if v*v <= (lapackEps*lapackEps*math.Abs(d[m])*math.Abs(d[m-1]) + lapackSafe) {
				e[m-1] = 0
				break
			}
		}
		switch {
		case m == l:
			l--
		case m == l-1:
			d[l-1], d[l], t.rotations.c[m], t.rotations.s[m] = t.impl.Dlaev2(d[l-1], e[l-1], d[l])
			t.rotateColumns(m, 2, m, lapack.Forward)
			e[l-1] = 0
			l -= 2
		case t.remaining == 0:
			return false
		default:
			t.remaining--
			t.chaseUp(l, m)
		}
	}
	return true
}

// chaseUp is a QR iteration of rows m to l.
func (t *tridiagonal) chaseUp(l, m int) {
	d, e := t.d, t.e
	p := d[l]
	g := (d[l-1] - p) / (2 * e[l-1])
	r := t.impl.Dlapy2(g, 1)
	g = d[m] - p + (e[l-1])/(g+math.Copysign(r, g))
	s, c := 1.0, 1.0
	p = 0
	for i := m; i < l; i++ {
		f := s * e[i]
		b := c * e[i]
		c, s, r = t.impl.Dlartg(g, f)
		if i != m {
			e[i-1] = r
		}
		g = d[i] - p
		r = (d[i+1]-g)*s + 2*c*b
		p = s * r
		d[i] = g + p
		g = c*r - b
		t.rotations.c[i], t.rotations.s[i] = c, s
	}
	t.rotateColumns(m, l-m+1, m, lapack.Forward)
	d[l] -= p
	e[l-1] = g
}

// rotateColumns rotates n columns of z, from column at on, by rotations from number first on.
func (t *tridiagonal) rotateColumns(first, n, at int, direct lapack.Direct) {
	dense.Parallel(t.w, t.n, 6*n, func(lo, hi int) {
		t.impl.Dlasr(blas.Right, lapack.Variable, direct, hi-lo, n, t.rotations.c[first:], t.rotations.s[first:], t.z[lo*t.n+at:], t.n)
	})
}

// order sorts the eigenvalues and their vectors.
func (t *tridiagonal) order() {
	for i := range t.n - 1 {
		least := i
		for j := i + 1; j < t.n; j++ {
			if t.d[j] < t.d[least] {
				least = j
			}
		}
		if least != i {
			t.d[i], t.d[least] = t.d[least], t.d[i]
			t.pace.Step(4 * t.n)
			matmul.BLAS.Dswap(t.n, t.z[i:], t.n, t.z[least:], t.n)
		}
	}
}
