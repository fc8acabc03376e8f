package linalg

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"nxvk/fallback/dense"
	"nxvk/fallback/sched"

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

// The iterations that stand in for LAPACK's look often enough, too: they are most of a
// decomposition's work, beside stages that look at every product of a vector.
func TestCancelIterations(t *testing.T) {
	const n = 300
	r := rand.New(rand.NewPCG(23, 24))
	d, e := make([]float64, n), make([]float64, n)
	for i := range d {
		d[i], e[i] = r.NormFloat64(), r.NormFloat64()
	}
	count := func(f func(w *sched.Worker)) (looks int) {
		p, on, done := sched.NewPool(1), false, make(chan error)
		p.SetClock(func() time.Time {
			if on {
				looks++
			}
			return time.Time{}
		})
		p.Account().Start("test", func(w *sched.Worker) error {
			on = true
			f(w)
			on = false
			return nil
		}, func(err error) { done <- err })
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		return looks
	}
	var b bidiagonal
	looks := count(func(w *sched.Worker) {
		b = bidiagonal{w: w, n: n, d: slices.Clone(d), e: slices.Clone(e), vt: make([]float64, n*n), columns: n, u: make([]float64, n*n), rows: n, ldu: n}
		if !b.solve(false) {
			t.Error("singular values do not converge")
		}
	})
	if work := b.iteration * 2 * n * 6; looks < work/(2*dense.SliceWork) {
		t.Errorf("%d looks at %d rotated elements of singular vectors", looks, work)
	}
	var m tridiagonal
	looks = count(func(w *sched.Worker) {
		m = tridiagonal{w: w, n: n, d: slices.Clone(d), e: slices.Clone(e[:n-1]), z: make([]float64, n*n)}
		if !m.solve() {
			t.Error("eigenvalues do not converge")
		}
	})
	if sweeps := qlIterations*n - m.remaining; looks < sweeps*n*n*3/(2*dense.SliceWork) {
		t.Errorf("%d looks at %d sweeps of %d rows", looks, sweeps, n)
	}
}
