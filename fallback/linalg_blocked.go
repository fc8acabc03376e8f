package fallback

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"nxvk/fallback/sched"
)

// Blocked factorisations of real matrices (Golub and Van Loan, Matrix Computations,
// sections 3.2 and 4.2): panels of tileSide columns, whose updates of the rest are
// products that take turns with others.

// factorLU replaces a square matrix by its unit lower and its upper triangle, with
// partial pivoting: row i was exchanged with row pivots[i]. A column without a pivot is
// left as it is.
func factorLU(w *sched.Worker, n int, a []float64, pivots []int) {
	for k := 0; k < n; k += tileSide {
		end := min(k+tileSide, n)
		panelLU(w, n, a, k, end, pivots)
		if end == n {
			return
		}
		exchangeRows(n, a, pivots[k:end], k, 0, k)
		exchangeRows(n, a, pivots[k:end], k, end, n)
		l := blas64.Triangular{Uplo: blas.Lower, Diag: blas.Unit, N: end - k, Data: a[k*n+k:], Stride: n}
		parallel(w, n-end, (end-k)*(end-k), func(lo, hi int) {
			blas64.Trsm(blas.Left, blas.NoTrans, 1, l, blas64.General{Rows: end - k, Cols: hi - lo, Data: a[k*n+end+lo:], Stride: n})
		})
		t := tiled[float64]{multiply: plainBLAS.Dgemm, ta: blas.NoTrans, tb: blas.NoTrans, m: n - end, n: n - end, k: end - k,
			alpha: -1, a: a[end*n+k:], lda: n, b: a[k*n+end:], ldb: n, c: a[end*n+end:], ldc: n}
		t.run(w)
	}
}

// panelLU factors columns k to end beneath row k.
func panelLU(w *sched.Worker, n int, a []float64, k, end int, pivots []int) {
	p := pace{w: w}
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
		p.step((n - j) * (end - j))
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
// factor; the rest is not used. It reports false where the matrix is not positive
// definite, with the matrix spoilt.
func factorCholesky(w *sched.Worker, n int, a []float64) bool {
	p := pace{w: w}
	for k := 0; k < n; k += tileSide {
		end := min(k+tileSide, n)
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
			p.step((i - k) * (i - k))
		}
		if end == n {
			return true
		}
		l := blas64.Triangular{Uplo: blas.Lower, Diag: blas.NonUnit, N: end - k, Data: a[k*n+k:], Stride: n}
		parallel(w, n-end, (end-k)*(end-k), func(lo, hi int) {
			blas64.Trsm(blas.Right, blas.Trans, 1, l, blas64.General{Rows: hi - lo, Cols: end - k, Data: a[(end+lo)*n+k:], Stride: n})
		})
		for col := end; col < n; col += tileSide { // beneath the diagonal alone
			last := min(col+tileSide, n)
			t := tiled[float64]{multiply: plainBLAS.Dgemm, ta: blas.NoTrans, tb: blas.Trans, m: n - col, n: last - col, k: end - k,
				alpha: -1, a: a[col*n+k:], lda: n, b: a[col*n+k:], ldb: n, c: a[col*n+col:], ldc: n}
			t.run(w)
		}
	}
	return true
}
