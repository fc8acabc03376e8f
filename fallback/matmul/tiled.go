package matmul

import (
	"nxvk/fallback/dense"
	"nxvk/fallback/sched"

	"gonum.org/v1/gonum/blas"
	blasgo "gonum.org/v1/gonum/blas/gonum"
)

const (
	// TileSide is the side of the tiles of gonum's large products.
	TileSide = 64
	// fewTiles is the number of tiles from which on gonum uses tiles.
	fewTiles = 4
	// longDepth is the longest sum that is computed at once where there are no tiles.
	longDepth = 1 << 16
)

// Tiled is the product c += alpha a b, with a or b transposed as ta and tb say. gonum's
// routine starts a goroutine for each tile, outside of the shared processors. Tiled calls it
// for one tile at a time, in the same order, and so has the same bits.
type Tiled[T float32 | float64] struct {
	Multiply      routine[T]
	Ta, Tb        blas.Transpose
	M, N, K       int
	Alpha         T
	A, B, C       []T
	Lda, Ldb, Ldc int
}

func (t *Tiled[T]) Run(w *sched.Worker) {
	rows, cols := (t.M+TileSide-1)/TileSide, (t.N+TileSide-1)/TileSide
	if rows*cols < fewTiles {
		for k := 0; k < t.K; k += longDepth {
			t.part(0, t.M, 0, t.N, k, min(k+longDepth, t.K))
			w.Check()
		}
		return
	}
	dense.ParallelOn(w, rows*cols, TileSide*TileSide*t.K/4, func(w *sched.Worker, lo, hi int) {
		p := dense.Pacer{Worker: w}
		for i := lo; i < hi; i++ {
			row, col := i/cols*TileSide, i%cols*TileSide
			for k := 0; k < t.K; k += TileSide {
				t.part(row, min(row+TileSide, t.M), col, min(col+TileSide, t.N), k, min(k+TileSide, t.K))
				p.Step(TileSide * TileSide * TileSide / 4)
			}
		}
	})
}

// part adds a range of the terms to a range of the results.
func (t *Tiled[T]) part(row, rowEnd, col, colEnd, k, kEnd int) {
	t.Multiply(t.Ta, t.Tb, rowEnd-row, colEnd-col, kEnd-k, t.Alpha,
		corner(t.A, t.Lda, t.Ta, row, k), t.Lda, corner(t.B, t.Ldb, t.Tb, k, col), t.Ldb, 1, t.C[row*t.Ldc+col:], t.Ldc)
}

// corner returns the part of a matrix from an element on.
func corner[T float32 | float64](a []T, stride int, t blas.Transpose, row, col int) []T {
	if t == blas.Trans {
		row, col = col, row
	}
	return a[row*stride+col:]
}

// BLAS is gonum's BLAS, whichever one is registered for its LAPACK.
var BLAS blasgo.Implementation
