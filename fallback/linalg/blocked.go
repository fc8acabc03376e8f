package linalg

import (
	"math"

	"nxvk/fallback/dense"
	"nxvk/fallback/matmul"
	"nxvk/fallback/sched"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// Blocked factorizations of real matrices (Golub and Van Loan, Matrix Computations,
// sections 3.2 and 4.2): panels of matmul.TileSide columns are factored one after the
// other, and the rest of the matrix is updated by products, which all processors share.

// factorLU replaces a square matrix by its unit lower and its upper triangle, with
// partial pivoting: row i was exchanged with row pivots[i]. A column without a pivot is
// left as it is.
func factorLU(w *sched.Worker, n int, a []float64, pivots []int) {
	for k := 0; k < n; k += matmul.TileSide {
		end := min(k+matmul.TileSide, n)
		panelLU(w, n, a, k, end, pivots)
		if end == n {
			return
		}
		exchangeRows(n, a, pivots[k:end], k, 0, k)
		exchangeRows(n, a, pivots[k:end], k, end, n)
		l := blas64.Triangular{Uplo: blas.Lower, Diag: blas.Unit, N: end - k, Data: a[k*n+k:], Stride: n}
		dense.Parallel(w, n-end, (end-k)*(end-k), func(lo, hi int) {
			blas64.Trsm(blas.Left, blas.NoTrans, 1, l, blas64.General{Rows: end - k, Cols: hi - lo, Data: a[k*n+end+lo:], Stride: n})
		})
		t := matmul.Tiled[float64]{Multiply: matmul.BLAS.Dgemm, Ta: blas.NoTrans, Tb: blas.NoTrans, M: n - end, N: n - end, K: end - k,
			Alpha: -1, A: a[end*n+k:], Lda: n, B: a[k*n+end:], Ldb: n, C: a[end*n+end:], Ldc: n}
		t.Run(w)
	}
}

// panelLU factors columns k to end beneath row k.
func panelLU(w *sched.Worker, n int, a []float64, k, end int, pivots []int) {
	p := dense.Pacer{Worker: w}
	for j := k; j < end; j++ {
		best := j
		for i := j + 1; i < n; i++ {
			if math.Abs(a[i*n+j]) > math.Abs(a[best*n+j]) {
				best = i
			}
		}
		pivots[j] = best
		top := a[j*n+k : j*n+end]
		if best != j {
			other := a[best*n+k : best*n+end]
			for c, x := range top {
				top[c], other[c] = other[c], x
			}
		}
		if pivot := a[j*n+j]; pivot != 0 {
			for i := j + 1; i < n; i++ {
				below := a[i*n+k : i*n+end]
				q := below[j-k] / pivot
				below[j-k] = q
				for c := j - k + 1; c < len(below); c++ {
					below[c] -= q * top[c]
				}
			}
		}
		p.Step((n - j) * (end - j))
	}
}

// exchangeRows exchanges rows from first on with their pivots, in columns lo to hi.
func exchangeRows(n int, a []float64, pivots []int, first, lo, hi int) {
	for i, with := range pivots {
		if i += first; i != with {
			x, y := a[i*n+lo:i*n+hi], a[with*n+lo:with*n+hi]
			for c, v := range x {
				x[c], y[c] = y[c], v
			}
		}
	}
}

// factorCholesky replaces the lower triangle of a positive definite matrix by its
// factor; the upper one is not used. It reports false where the matrix is not positive
// definite, and has overwritten part of it then.
func factorCholesky(w *sched.Worker, n int, a []float64) bool {
	p := dense.Pacer{Worker: w}
	for k := 0; k < n; k += matmul.TileSide {
		end := min(k+matmul.TileSide, n)
		for i := k; i < end; i++ { // the square on the diagonal
			row := a[i*n+k : i*n+i+1]
			for j := k; j < i; j++ {
				over := a[j*n+k : j*n+j+1]
				row[j-k] = (row[j-k] - dotu(row[:j-k], over[:j-k])) / over[j-k]
			}
			x := row[i-k] - dotu(row[:i-k], row[:i-k])
			if !(x > 0) {
				return false
			}
			row[i-k] = math.Sqrt(x)
			p.Step((i - k) * (i - k))
		}
		if end == n {
			return true
		}
		l := blas64.Triangular{Uplo: blas.Lower, Diag: blas.NonUnit, N: end - k, Data: a[k*n+k:], Stride: n}
		dense.Parallel(w, n-end, (end-k)*(end-k), func(lo, hi int) {
			blas64.Trsm(blas.Right, blas.Trans, 1, l, blas64.General{Rows: hi - lo, Cols: end - k, Data: a[(end+lo)*n+k:], Stride: n})
		})
		for col := end; col < n; col += matmul.TileSide { // beneath the diagonal alone
			last := min(col+matmul.TileSide, n)
			t := matmul.Tiled[float64]{Multiply: matmul.BLAS.Dgemm, Ta: blas.NoTrans, Tb: blas.Trans, M: n - col, N: last - col, K: end - k,
				Alpha: -1, A: a[col*n+k:], Lda: n, B: a[col*n+k:], Ldb: n, C: a[col*n+col:], Ldc: n}
			t.Run(w)
		}
	}
	return true
}
