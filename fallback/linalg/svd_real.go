package linalg

import (
	"nxvk/fallback/sched"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	lapackgo "gonum.org/v1/gonum/lapack/gonum"
)

// svdLapack is gonum's dgesvd for both kinds of vectors, in the steps that it takes with all the
// memory that it asks for, so the bits are the same. bidiagonal.solve replaces the last step,
// dbdsqr.
type svdLapack struct {
	m, n, k    int // k is the lesser
	full       bool
	impl       lapackgo.Implementation
	a          []float64 // m by n, spoilt
	u          []float64 // m by cols
	vt         []float64 // rows by n
	core       []float64 // k by k, where the matrix is long or wide
	d, e       []float64
	tauQ, tauP []float64
	work       []float64
	cols, rows int
}

// lapackBlock bounds the block size of gonum's LAPACK, and so the memory that its routines ask
// for.
const lapackBlock = 64

// svdReal decomposes by LAPACK. It returns nil where that does not converge.
func svdReal[C field](w *sched.Worker, a []float64, m, n int, full bool) *singular[C] {
	k := min(m, n)
	s := &svdLapack{m: m, n: n, k: k, full: full, cols: k, rows: k}
	if full {
		s.cols, s.rows = m, n
	}
	sizes := []int{m * n, m * s.cols, s.rows * n, 0, k, k, k, k, (m + n) * lapackBlock}
	long := max(m, n) >= int(float64(k)*1.6) // a triangle first pays
	if long {
		sizes[3] = k * k
	}
	total := 0
	for _, size := range sizes {
		total += size
	}
	memory := make([]float64, total)
	rest := memory
	for i, part := range []*[]float64{&s.a, &s.u, &s.vt, &s.core, &s.d, &s.e, &s.tauQ, &s.tauP, &s.work} {
		*part, rest = rest[:sizes[i]:sizes[i]], rest[sizes[i]:]
	}
	copy(s.a, a)
	ok := false
	withWorker(w, memory, func() {
		switch {
		case m >= n && long:
			ok = s.decomposeTall(w)
		case m >= n:
			ok = s.decomposeDirect(w)
		case long:
			ok = s.decomposeWide(w)
		default:
			ok = s.decomposeDirectWide(w)
		}
	})
	if !ok {
		return nil
	}
	return &singular[C]{m: m, n: n, values: s.d, u: any(adjoint(s.u, m, s.cols)).([]C), v: any(s.vt).([]C)}
}

// bidiagonalize makes a matrix bidiagonal.
func (s *svdLapack) bidiagonalize(m, n int, a []float64) {
	s.impl.Dgebrd(m, n, a, n, s.d, s.e, s.tauQ, s.tauP, s.work, len(s.work))
}

// generate computes the orthogonal matrix from the reflectors that bidiagonalize leaves.
func (s *svdLapack) generate(vect lapack.GenOrtho, m, n, k int, a []float64, lda int) {
	tau := s.tauQ
	if vect == lapack.GeneratePT {
		tau = s.tauP
	}
	s.impl.Dorgbr(vect, m, n, k, a, lda, tau, s.work, len(s.work))
}

// decomposeDirect decomposes a matrix that is about square and not wide.
func (s *svdLapack) decomposeDirect(w *sched.Worker) bool {
	m, n := s.m, s.n
	s.bidiagonalize(m, n, s.a)
	s.impl.Dlacpy(blas.Lower, m, n, s.a, n, s.u, s.cols)
	s.generate(lapack.GenerateQ, m, s.cols, n, s.u, s.cols)
	s.impl.Dlacpy(blas.Upper, n, n, s.a, n, s.vt, n)
	s.generate(lapack.GeneratePT, n, n, n, s.vt, n)
	b := bidiagonal{w: w, n: n, d: s.d, e: s.e, vt: s.vt, columns: n, u: s.u, rows: m, ldu: s.cols}
	return b.solve(false)
}

// decomposeDirectWide decomposes a matrix that is about square and wide.
func (s *svdLapack) decomposeDirectWide(w *sched.Worker) bool {
	m, n := s.m, s.n
	s.bidiagonalize(m, n, s.a)
	s.impl.Dlacpy(blas.Lower, m, m, s.a, n, s.u, s.cols)
	s.generate(lapack.GenerateQ, m, m, n, s.u, s.cols)
	s.impl.Dlacpy(blas.Upper, m, n, s.a, n, s.vt, n)
	s.generate(lapack.GeneratePT, s.rows, n, m, s.vt, n)
	b := bidiagonal{w: w, n: m, d: s.d, e: s.e, vt: s.vt, columns: n, u: s.u, rows: m, ldu: s.cols}
	return b.solve(true)
}

// decomposeTall decomposes a tall matrix by the triangle of its QR decomposition.
func (s *svdLapack) decomposeTall(w *sched.Worker) bool {
	m, n := s.m, s.n
	s.impl.Dgeqrf(m, n, s.a, n, s.tauQ, s.work, len(s.work))
	s.impl.Dlacpy(blas.Upper, n, n, s.a, n, s.core, n)
	q, other := s.a, s.u
	if s.full {
		s.impl.Dlacpy(blas.Lower, m, n, s.a, n, s.u, m)
		q, other = s.u, s.a
	}
	s.impl.Dorgqr(m, s.cols, n, q, s.cols, s.tauQ, s.work, len(s.work))
	s.bidiagonalize(n, n, s.core)
	s.impl.Dlacpy(blas.Upper, n, n, s.core, n, s.vt, n)
	s.generate(lapack.GenerateQ, n, n, n, s.core, n)
	s.generate(lapack.GeneratePT, n, n, n, s.vt, n)
	b := bidiagonal{w: w, n: n, d: s.d, e: s.e, vt: s.vt, columns: n, u: s.core, rows: n, ldu: n}
	if !b.solve(false) {
		return false
	}
	yieldingBLAS{}.Dgemm(blas.NoTrans, blas.NoTrans, m, n, n, 1, q, s.cols, s.core, n, 0, other, n)
	if s.full {
		s.impl.Dlacpy(blas.All, m, n, s.a, n, s.u, m)
	}
	return true
}

// decomposeWide decomposes a wide matrix by the triangle of its LQ decomposition.
func (s *svdLapack) decomposeWide(w *sched.Worker) bool {
	m, n := s.m, s.n
	s.impl.Dgelqf(m, n, s.a, n, s.tauQ, s.work, len(s.work))
	s.impl.Dlacpy(blas.Lower, m, m, s.a, n, s.core, m)
	q, other := s.a, s.vt
	if s.full {
		s.impl.Dlacpy(blas.Upper, m, n, s.a, n, s.vt, n)
		q, other = s.vt, s.a
	}
	s.impl.Dorglq(s.rows, n, m, q, n, s.tauQ, s.work, len(s.work))
	s.bidiagonalize(m, m, s.core)
	s.impl.Dlacpy(blas.Lower, m, m, s.core, m, s.u, s.cols)
	s.generate(lapack.GeneratePT, m, m, m, s.core, m)
	s.generate(lapack.GenerateQ, m, m, m, s.u, s.cols)
	b := bidiagonal{w: w, n: m, d: s.d, e: s.e, vt: s.core, columns: m, u: s.u, rows: m, ldu: s.cols}
	if !b.solve(false) {
		return false
	}
	yieldingBLAS{}.Dgemm(blas.NoTrans, blas.NoTrans, m, n, m, 1, s.core, m, q, n, 0, other, n)
	if s.full {
		s.impl.Dlacpy(blas.All, m, n, s.a, n, s.vt, n)
	}
	return true
}
