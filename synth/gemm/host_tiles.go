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
	fours := 0
	if pack := tiles.PackOf[T](); pack != nil && t.rowB == 1 && n == tiles.Together {
		if fours = deep / 4; fours > 0 {
			pack(fours, t.colB*t.size(), &b[0], &to[0])
		}
	}
	for j := range n {
		at := j*t.colB + 4*fours*t.rowB
		for i := 4*fours*cols + j; i < deep*cols; i += cols {
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

// A product of a few rows of A and columns of B that are contiguous, as that of a matrix and a vector, reads B once. The
// columns need not be packed: fewColumns of them are read side by side, and the sums are independent chains of additions.

const (
	eightColumns = 8
	fewDeep      = 1 << 9 // elements of a column that are read for all rows before the next ones
	fewEach      = 64     // columns that a worker should have at least
)

// few reports whether a box has few rows, and rows of A and columns of B that are contiguous.
func (x box) few(colA, rowB, colB int) bool {
	return x.rows < tiles.Rows && colA == 1 && rowB == 1 && colB != 1
}

// fewRows computes the sums of such a box, some columns at a time.
func (s *hostStep[T]) fewRows(w *sched.Worker, x box, sums, a, b []T, k, rowA, colB int) {
	f := &fewColumns[T]{sum: tiles.ColumnsOf[T](), b: b, step: colB}
	for first := 0; first < x.cols; {
		n := f.together(x.cols - first)
		for from := 0; from < k; from += fewDeep {
			to := min(from+fewDeep, k)
			for i := range x.rows {
				f.add(a[i*rowA+from:i*rowA+to], first, from, sums[i*x.cols+first:][:n])
			}
		}
		first += n
		w.Check()
	}
}

// fewColumns are columns of B, step elements apart.
type fewColumns[T element] struct {
	sum  tiles.Columns[T]
	b    []T
	step int
}

// together is how many of n columns are summed side by side.
func (f *fewColumns[T]) together(n int) int {
	switch {
	case f.sum != nil && n >= tiles.Together:
		return tiles.Together
	case n >= eightColumns:
		return eightColumns
	}
	return 1
}

// add adds to the sums of columns the products with a part of a row, from its element number from on.
func (f *fewColumns[T]) add(row []T, first, from int, sums []T) {
	b := f.b[first*f.step+from:]
	switch len(sums) {
	case tiles.Together:
		var x T
		fours := len(row) / 4
		if fours > 0 {
			f.sum(fours, f.step*int(unsafe.Sizeof(x)), &row[0], &b[0], &sums[0])
		}
		for j := range sums {
			sums[j] = dot(row[4*fours:], b[j*f.step+4*fours:], sums[j])
		}
	case eightColumns:
		eight(row, b, f.step, sums)
	default:
		sums[0] = dot(row, b, sums[0])
	}
}

// eight adds to each of eight sums the products of a row and a column. Columns begin step apart.
func eight[T element](row, b []T, step int, sums []T) {
	k := len(row)
	b0, b1, b2, b3 := b[:k], b[step:][:k], b[2*step:][:k], b[3*step:][:k]
	b4, b5, b6, b7 := b[4*step:][:k], b[5*step:][:k], b[6*step:][:k], b[7*step:][:k]
	sums = sums[:eightColumns]
	s0, s1, s2, s3, s4, s5, s6, s7 := sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]
	for i, x := range row {
		s0 = T(x*b0[i]) + s0
		s1 = T(x*b1[i]) + s1
		s2 = T(x*b2[i]) + s2
		s3 = T(x*b3[i]) + s3
		s4 = T(x*b4[i]) + s4
		s5 = T(x*b5[i]) + s5
		s6 = T(x*b6[i]) + s6
		s7 = T(x*b7[i]) + s7
	}
	sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7] = s0, s1, s2, s3, s4, s5, s6, s7
}

// dot adds to a sum the products of a row and a column.
func dot[T element](row, column []T, sum T) T {
	column = column[:len(row)]
	for i, x := range row {
		sum = T(x*column[i]) + sum
	}
	return sum
}
