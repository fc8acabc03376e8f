package linalg

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"nxvk/fallback/matmul"
	"nxvk/fallback/sched"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	blasgo "gonum.org/v1/gonum/blas/gonum"
)

func init() { blas64.Use(yieldingBLAS{}) }

// yieldingBLAS is the BLAS that gonum's LAPACK calls. LAPACK's routines take neither a context
// nor a worker, and run for seconds. A routine of yieldingBLAS that writes to memory of a
// worker (see withWorker) yields for that worker first. So a factorization takes turns with
// other sessions, and stops when it is cancelled: the worker's panic unwinds LAPACK. Results
// have the bits of gonum's BLAS.
type yieldingBLAS struct{ blasgo.Implementation }

// Dgemm is the product c = alpha a b + beta c.
func (yieldingBLAS) Dgemm(ta, tb blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	w := workerOf(c)
	if w == nil || m == 0 || n == 0 {
		matmul.BLAS.Dgemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	if beta != 1 { // a product with alpha 0 scales c alone
		matmul.BLAS.Dgemm(ta, tb, m, n, k, 0, a, lda, b, ldb, beta, c, ldc)
	}
	t := matmul.Tiled[float64]{Multiply: matmul.BLAS.Dgemm, Ta: ta, Tb: tb, M: m, N: n, K: k, Alpha: alpha,
		A: a, Lda: lda, B: b, Ldb: ldb, C: c, Ldc: ldc}
	t.Run(w)
}

// Dgemv is y = alpha a x + beta y.
func (yieldingBLAS) Dgemv(t blas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64, incY int) {
	workerOf(y).Check()
	matmul.BLAS.Dgemv(t, m, n, alpha, a, lda, x, incX, beta, y, incY)
}

// Dger adds alpha x yᵀ to a.
func (yieldingBLAS) Dger(m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int) {
	workerOf(a).Check()
	matmul.BLAS.Dger(m, n, alpha, x, incX, y, incY, a, lda)
}

// Dtrmm is b = alpha a b, or b a, with a triangular.
func (yieldingBLAS) Dtrmm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	workerOf(b).Check()
	matmul.BLAS.Dtrmm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
}

// working lists the memory that workers have LAPACK write.
var working struct {
	some atomic.Int32 // how many there are
	mu   sync.RWMutex
	list []territory
}

// territory is a range of memory that one worker writes.
type territory struct {
	w          *sched.Worker
	begin, end uintptr
}

// withWorker calls f, which calls LAPACK on parts of memory. Its BLAS yields for w.
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

// workerOf returns the worker that writes some memory, or nil, for which Check does nothing.
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
