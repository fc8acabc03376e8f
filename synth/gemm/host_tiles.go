package gemm

import (
	"unsafe"

	"nxvk/fallback/sched"
	"nxvk/synth/gemm/tiles"
)

// tiledBox is a box that is computed in tiles: strips of a few rows by panels of a few columns.
type tiledBox[T element] struct {
	box
	sum                    tiles.Sum[T]
	k                      int
	a, b                   []T // from the first element of the box on
	rowA, colA, rowB, colB int
	sums                   []T // tile by tile, those of a strip one after the other
}

// columns is how many columns a panel has.
func (t *tiledBox[T]) columns() int { return tiles.Bytes / t.size() }

func (t *tiledBox[T]) size() int {
	var x T
	return int(unsafe.Sizeof(x))
}

// tile is the sums of a tile.
func (t *tiledBox[T]) tile(strip, panel int) []T {
	n := tiles.Rows * t.columns()
	return t.sums[(strip*ceil(t.cols, t.columns())+panel)*n:][:n]
}

// run computes the sums of the box, some of k at a time.
func (t *tiledBox[T]) run(w *sched.Worker, room []T) {
	strips, panels := ceil(t.rows, tiles.Rows), ceil(t.cols, t.columns())
	t.sums = room[:strips*panels*tiles.Rows*t.columns()]
	clear(t.sums)
	packed := room[sumsRoom:]
	for from := 0; from < t.k; from += blockDeep {
		deep := min(blockDeep, t.k-from)
		for panel := range panels {
			t.pack(packed[panel*deep*t.columns():], panel*t.columns(), from, deep)
		}
		for strip := range strips {
			var rows [tiles.Rows]*T
			for i := range rows { // rows after the last one are computed for nobody
				rows[i] = &t.a[min(strip*tiles.Rows+i, t.rows-1)*t.rowA+from*t.colA]
			}
			for panel := range panels {
				t.sum(deep, t.colA*t.size(), rows[0], rows[1], rows[2], rows[3], &packed[panel*deep*t.columns()], &t.tile(strip, panel)[0])
			}
		}
		w.Check()
	}
}

// pack gathers the columns of a panel, in deep rows from one on. Columns after the last one are zeros.
func (t *tiledBox[T]) pack(to []T, first, from, deep int) {
	cols := t.columns()
	n := min(cols, t.cols-first)
	b := t.b[from*t.rowB+first*t.colB:]
	if t.colB == 1 {
		for l := range deep {
			line := to[l*cols:][:cols]
			clear(line[copy(line, b[l*t.rowB:][:n]):])
		}
		return
	}
	if n < cols {
		clear(to[:deep*cols])
	}
	for j := range n {
		at := j * t.colB
		for i := j; i < deep*cols; i += cols {
			to[i] = b[at]
			at += t.rowB
		}
	}
}

// store puts the sums in their places, row and col apart.
func (t *tiledBox[T]) store(c []T, row, col int) {
	cols := t.columns()
	for i := range t.rows {
		for first := 0; first < t.cols; first += cols {
			sums := t.tile(i/tiles.Rows, first/cols)[i%tiles.Rows*cols:][:min(cols, t.cols-first)]
			at := (t.row+i)*row + (t.col+first)*col
			for _, v := range sums {
				c[at] = v
				at += col
			}
		}
	}
}
