package fallback

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/lapack"
	lapackgo "gonum.org/v1/gonum/lapack/gonum"
)

// randomMatrix is one whose singular values have a range of sizes, with rows and columns
// of zeros and equal ones among them.
func randomMatrix(r *rand.Rand, m, n int) []float64 {
	a := make([]float64, m*n)
	spread := r.IntN(3) * r.IntN(40)
	for i := range m {
		scale := math.Ldexp(1, -r.IntN(1+spread))
		for j := range n {
			a[i*n+j] = r.NormFloat64() * scale
		}
	}
	for range r.IntN(4) {
		i, j := r.IntN(m), r.IntN(m)
		copy(a[i*n:i*n+n], a[j*n:j*n+n])
	}
	if r.IntN(4) == 0 {
		at := r.IntN(n)
		for i := range m {
			a[i*n+at] = 0
		}
	}
	if r.IntN(4) == 0 { // bidiagonal but for rounding
		for i := range m {
			for j := range n {
				if j != i && j != i+1 {
					a[i*n+j] *= float64(r.IntN(2)) * 0x1p-70
				}
			}
		}
	}
	return a
}

// Singular values and vectors have the bits of gonum's dgesvd, whichever way it takes.
func TestSVDLapack(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 400 {
		m, n, full := 1+r.IntN(90), 1+r.IntN(90), r.IntN(2) == 0
		if r.IntN(10) == 0 {
			m, n = m*4, n*4
		}
		a := randomMatrix(r, m, n)
		got := svdReal[float64](nil, a, m, n, full)
		job, cols, rows := lapack.SVDStore, min(m, n), min(m, n)
		if full {
			job, cols, rows = lapack.SVDAll, m, n
		}
		values, u, vt, work := make([]float64, min(m, n)), make([]float64, m*cols), make([]float64, rows*n), make([]float64, 1)
		var impl lapackgo.Implementation
		impl.Dgesvd(job, job, m, n, slices.Clone(a), n, values, u, cols, vt, n, work, -1)
		work = make([]float64, int(work[0]))
		if ok := impl.Dgesvd(job, job, m, n, slices.Clone(a), n, values, u, cols, vt, n, work, len(work)); ok != (got != nil) {
			t.Fatalf("%d by %d: converged: %v", m, n, ok)
		}
		if got != nil && !(slices.Equal(got.values, values) && slices.Equal(got.u, adjoint(u, m, cols)) && slices.Equal(got.v, vt)) {
			t.Errorf("%d by %d, full %v: differs", m, n, full)
		}
	}
}

// Eigenvalues and vectors of a tridiagonal matrix have the bits of gonum's dsteqr.
func TestTridiagonalLapack(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for range 400 {
		n := 1 + r.IntN(120)
		d, e := make([]float64, n), make([]float64, n-1)
		spread, scale := r.IntN(3)*r.IntN(60), []float64{1, 0x1p-500, 0x1p600}[r.IntN(3)]
		for i := range d {
			d[i] = r.NormFloat64() * math.Ldexp(scale, -r.IntN(1+spread))
		}
		for i := range e {
			if e[i] = r.NormFloat64() * math.Ldexp(scale, -r.IntN(1+spread)); r.IntN(20) == 0 && scale == 1 {
				e[i] = 0
			}
		}
		got := tridiagonal{n: n, d: slices.Clone(d), e: slices.Clone(e), z: make([]float64, n*n)}
		z := make([]float64, n*n)
		ok := lapackgo.Implementation{}.Dsteqr(lapack.EVTridiag, n, d, e, z, n, make([]float64, max(1, 2*n-2)))
		if got.solve() != ok || !slices.Equal(got.d, d) || !slices.Equal(got.z, z) {
			t.Errorf("%d rows of spread %d, scale %g differ", n, spread, scale)
		}
	}
}

// A block of tiny elements is scaled, and those that follow are not.
func TestTridiagonalScales(t *testing.T) {
	m := tridiagonal{n: 4, d: []float64{0x1p-600, 0x1p-600, 3, 3}, e: []float64{0x1p-601, 0, 1}, z: make([]float64, 16)}
	if !m.solve() {
		t.Fatal("does not converge")
	}
	for i, want := range []float64{0x1p-601, 0x1.8p-600, 2, 4} {
		if math.Abs(m.d[i]-want) > 1e-15*want {
			t.Errorf("eigenvalue %d is %g, want %g", i, m.d[i], want)
		}
	}
}
