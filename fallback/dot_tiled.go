package fallback

import (
	"gonum.org/v1/gonum/blas"

	"nxvk/fallback/sched"
)

const (
	// tileSide is the side of the squares in which gonum carries out a large product.
	tileSide = 64
	// fewTiles is from how many squares on it does.
	fewTiles = 4
	// longDepth is the longest sum that is computed without a look at others.
	longDepth = 1 << 16
)

// tiled is the product c += alpha a b, with a or b transposed as ta and tb say. It gives
// the bits of gonum's routine, which starts goroutines of its own, and no end of them:
// the same squares in the same order, each by the part of the routine that has one
// goroutine.
type tiled[T float32 | float64] struct {
	multiply      routine[T]
	ta, tb        blas.Transpose
	m, n, k       int
	alpha         T
	a, b, c       []T
	lda, ldb, ldc int
}

func (t *tiled[T]) run(w *sched.Worker) {
	rows, cols := (t.m+tileSide-1)/tileSide, (t.n+tileSide-1)/tileSide
	if rows*cols < fewTiles {
		for k := 0; k < t.k; k += longDepth {
			t.part(0, t.m, 0, t.n, k, min(k+longDepth, t.k))
			w.Check()
		}
		return
	}
	parallelOn(w, rows*cols, tileSide*tileSide*t.k/4, func(w *sched.Worker, lo, hi int) {
		p := pace{w: w}
		for i := lo; i < hi; i++ {
			row, col := i/cols*tileSide, i%cols*tileSide
			for k := 0; k < t.k; k += tileSide {
				t.part(row, min(row+tileSide, t.m), col, min(col+tileSide, t.n), k, min(k+tileSide, t.k))
				p.step(tileSide * tileSide * tileSide / 4)
			}
		}
	})
}

// part adds what some of the sums give to some of the results.
func (t *tiled[T]) part(row, rowEnd, col, colEnd, k, kEnd int) {
	t.multiply(t.ta, t.tb, rowEnd-row, colEnd-col, kEnd-k, t.alpha,
		corner(t.a, t.lda, t.ta, row, k), t.lda, corner(t.b, t.ldb, t.tb, k, col), t.ldb, 1, t.c[row*t.ldc+col:], t.ldc)
}

// corner is a matrix from an element on.
func corner[T float32 | float64](a []T, stride int, t blas.Transpose, row, col int) []T {
	if t == blas.Trans {
		row, col = col, row
	}
	return a[row*stride+col:]
}
