package fallback

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	blasgo "gonum.org/v1/gonum/blas/gonum"

	"nxvk/fallback/sched"
)

// plainBLAS is gonum's BLAS.
var plainBLAS blasgo.Implementation

func init() { blas64.Use(yieldingBLAS{}) }

// yieldingBLAS is gonum's BLAS for gonum's LAPACK, whose routines take neither a context
// nor a worker and run for seconds. LAPACK calls the BLAS that is registered, and a
// routine of that which writes to the memory of a worker, see withWorker, yields as the
// worker first: so a factorisation takes turns with others and stops when it is
// cancelled, by a panic that unwinds LAPACK. Results have the bits of gonum's.
type yieldingBLAS struct{ blasgo.Implementation }

// Dgemm is the product c = alpha a b + beta c.
func (yieldingBLAS) Dgemm(ta, tb blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	w := workerOf(c)
	if w == nil || m == 0 || n == 0 {
		plainBLAS.Dgemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	if beta != 1 { // a product with alpha 0 scales c alone
		plainBLAS.Dgemm(ta, tb, m, n, k, 0, a, lda, b, ldb, beta, c, ldc)
	}
	t := tiled[float64]{multiply: plainBLAS.Dgemm, ta: ta, tb: tb, m: m, n: n, k: k, alpha: alpha,
		a: a, lda: lda, b: b, ldb: ldb, c: c, ldc: ldc}
	t.run(w)
}

// Dgemv is y = alpha a x + beta y.
func (yieldingBLAS) Dgemv(t blas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64, incY int) {
	workerOf(y).Check()
	plainBLAS.Dgemv(t, m, n, alpha, a, lda, x, incX, beta, y, incY)
}

// Dger adds alpha x yᵀ to a.
func (yieldingBLAS) Dger(m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int) {
	workerOf(a).Check()
	plainBLAS.Dger(m, n, alpha, x, incX, y, incY, a, lda)
}

// Dtrmm is b = alpha a b, or b a, with a triangular.
func (yieldingBLAS) Dtrmm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	workerOf(b).Check()
	plainBLAS.Dtrmm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
}

// working lists the memory of workers that call LAPACK.
var working struct {
	some atomic.Int32 // how many there are
	mu   sync.RWMutex
	list []territory
}

// territory is memory that one worker writes.
type territory struct {
	w          *sched.Worker
	begin, end uintptr
}

// withWorker calls f, which calls LAPACK on parts of memory: its BLAS yields as w.
func withWorker(w *sched.Worker, memory []float64, f func()) {
	if w == nil || len(memory) == 0 {
		f()
		return
	}
	begin := address(memory)
	working.mu.Lock()
	working.list = append(working.list, territory{w, begin, begin + uintptr(len(memory))*unsafe.Sizeof(memory[0])})
	working.mu.Unlock()
	working.some.Add(1)
	defer func() {
		working.some.Add(-1)
		working.mu.Lock()
		working.list = slices.DeleteFunc(working.list, func(t territory) bool { return t.begin == begin })
		working.mu.Unlock()
	}()
	f()
}

// workerOf returns the worker that writes some memory, or nil, which yields to nobody.
func workerOf(x []float64) *sched.Worker {
	if working.some.Load() == 0 || len(x) == 0 {
		return nil
	}
	at := address(x)
	working.mu.RLock()
	defer working.mu.RUnlock()
	for _, t := range working.list {
		if t.begin <= at && at < t.end {
			return t.w
		}
	}
	return nil
}

func address(x []float64) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(x))) }
