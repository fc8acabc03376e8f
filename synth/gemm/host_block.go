package gemm

import (
	"runtime"
	"sync"
	"unsafe"

	blas "gonum.org/v1/gonum/blas/gonum"

	"nxvk/fallback/sched"
	"nxvk/synth/gemm/tiles"
)

// The host computes a block of results at a time: blockTall rows by blockWide columns, from
// blockDeep rows of B, which it packs. So sums stay in the first cache and B in the second. Each
// sum is in the order of k. Where there are few columns, a block is taller, since columns of B that lie one after
// the other are packed once for each block.
const (
	blockTall = 32
	blockWide = 512
	blockDeep = 128
)

// blocksOnHost is shaders/gemm_block.comp.
func blocksOnHost[T element](s *hostStep[T]) (products int) {
	p := s.push
	m, n, k := p[0], p[1], p[2]
	rows, wide := int(s.spec[1]), int(s.spec[0])*blockCols
	down := ceil(m, rows)
	first, end := p[9], min(p[9]+s.groups(), down*ceil(n, wide))
	var list []box
	for group := first; group < end; {
		b := box{row: group % down * rows, col: group / down * wide}
		last := min(end, (group/down+1)*down) // of the groups below each other
		b.rows, b.cols = min((last-1)%down*rows+rows, m)-b.row, min(wide, n-b.col)
		if len(list) > 0 {
			if before := &list[len(list)-1]; before.row == b.row && before.rows == b.rows && before.cols+b.cols <= blockWide {
				before.cols += b.cols
				group = last
				continue
			}
		}
		list = append(list, b)
		group = last
	}
	for _, b := range list {
		products += b.rows * b.cols * k
	}
	if s.stored == nil && m < tiles.Rows && s.spec[3] != 1 {
		s.stored = ownType(s.b)
	}
	list = split(list, int(s.grid[2]), s.boxes())
	count := len(list) * int(s.grid[2])
	s.worker.For(count, 1, func(w *sched.Worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			s.block(w, i/len(list)+p[8], list[i%len(list)])
		}
	})
	return products * int(s.grid[2])
}

// box is a part of the results of a product.
type box struct{ row, col, rows, cols int }

// split makes boxes of others whose sums have room, in as many batches: some for each processor where there are rows
// enough, or columns of a few rows.
func split(list []box, batches, each int) (out []box) {
	rows := 0
	for _, b := range list {
		rows += b.rows * batches
	}
	share := max(blockTall, rows/(each*sched.Processors()))
	for _, b := range list {
		tall := max(1, min(share, blockTall*blockWide/(ceil(b.cols, widestTile)*widestTile)))
		for at := 0; at < b.rows; at += tall {
			out = append(out, box{b.row + at, b.col, min(tall, b.rows-at), b.cols})
		}
	}
	if rows < tiles.Rows {
		return splitColumns(out, batches, each)
	}
	return out
}

// splitColumns makes boxes of fewer columns of others.
func splitColumns(list []box, batches, each int) (out []box) {
	for _, b := range list {
		wide := max(fewEach, ceil(ceil(b.cols*batches, each*sched.Processors()), widestTile)*widestTile)
		for at := 0; at < b.cols; at += wide {
			out = append(out, box{b.row, b.col + at, b.rows, min(wide, b.cols-at)})
		}
	}
	return out
}

// widestTile is how many columns a tile has at most.
const widestTile = tiles.Bytes / 4

// packedRows is from how many rows on it pays to pack rows of B for tiles.
const packedRows = 8

// boxesEach is how many boxes a processor should have at least, so that all end about at the same time. A stored matrix has
// fewer and wider ones, since memory is quicker the more of a row is read at once.
const (
	boxesEach  = 4
	storedEach = 2
)

func (s *hostStep[T]) boxes() int {
	if s.stored != nil {
		return storedEach
	}
	return boxesEach
}

// block computes the results of a box of a batch.
func (s *hostStep[T]) block(w *sched.Worker, batch int, x box) {
	p := s.push
	k, lda, ldb := p[2], p[3], p[4]
	rowA, colA, rowB, colB := lda, 1, ldb, 1
	if s.spec[2] == 1 {
		rowA, colA = 1, lda
	}
	if s.spec[3] == 1 {
		rowB, colB = 1, ldb
	}
	a, c, atB := s.a[batch*p[5]+x.row*rowA:], s.c[batch*p[0]*p[1]:], batch*p[6]+x.col*colB
	r := rooms.Get().(*room)
	defer rooms.Put(r)
	room := unsafe.Slice((*T)(unsafe.Pointer(r)), len(r))
	if s.stored != nil {
		s.storedBlock(w, x, room, a, atB, rowA, colA, rowB, colB)
		s.put(x, room[:x.rows*x.cols], c)
		return
	}
	b := s.b[atB:]
	if sum := tiles.Of[T](); sum != nil && x.rows >= tiles.Rows && (colB != 1 || x.rows >= packedRows) {
		t := &tiledBox[T]{box: x, sum: sum, k: k, a: a, b: b, rowA: rowA, colA: colA, rowB: rowB, colB: colB}
		t.run(w, room)
		t.store(c, p[10], p[11])
		return
	}
	sums, packed := room[:x.rows*x.cols], room[sumsRoom:]
	clear(sums)
	if x.few(colA, rowB, colB) {
		s.fewRows(w, x, sums, a, b, k, rowA, colB)
		s.put(x, sums, c)
		return
	}
	add := Axpy[T]()
	for from := 0; from < k; from += blockDeep {
		deep, rows, step := min(blockDeep, k-from), b[from*rowB:], rowB
		if colB != 1 {
			pack(packed, rows, deep, x.cols, rowB, colB)
			rows, step = packed, x.cols
		}
		for i := range x.rows {
			row, at := sums[i*x.cols:][:x.cols], i*rowA+from*colA
			for j := range deep {
				add(a[at+j*colA], rows[j*step:][:x.cols], row)
			}
		}
		w.Check()
	}
	s.put(x, sums, c)
}

// put stores the sums of a box.
func (s *hostStep[T]) put(x box, sums, c []T) {
	for i := range x.rows {
		for j, v := range sums[i*x.cols:][:x.cols] {
			c[(x.row+i)*s.push[10]+(x.col+j)*s.push[11]] = v
		}
	}
}

// room is for the sums of a box and for rows of B, of elements of up to 8 bytes.
type room [sumsRoom + blockDeep*blockWide]uint64

// sumsRoom is how many sums a box has at most. Tiles at its edges are whole.
const sumsRoom = (blockTall + tiles.Rows) * blockWide

var rooms = sync.Pool{New: func() any { return new(room) }}

// pack gathers columns of a matrix as k rows.
func pack[T element](to, from []T, k, cols, row, col int) {
	const together = 8 // columns, so that what is written in turn lies together
	for first := 0; first < cols; first += together {
		n := min(together, cols-first)
		for i := range k {
			line, at := to[i*cols+first:][:n], i*row+first*col
			for j := range line {
				line[j] = from[at]
				at += col
			}
		}
	}
}

// Axpy returns what adds a multiple of x to y, element by element. gonum's assembly rounds the
// product and then the sum; its code in Go might round once where an architecture has an
// instruction for that. gonum adds no multiple by zero, which would be NaN of an infinity.
func Axpy[T element]() func(alpha T, x, y []T) {
	if runtime.GOARCH != "amd64" {
		return axpy[T]
	}
	var add any
	switch any(T(0)).(type) {
	case float32:
		add = func(alpha float32, x, y []float32) {
			if alpha == 0 {
				axpy(alpha, x, y)
				return
			}
			blas.Implementation{}.Saxpy(len(y), alpha, x, 1, y, 1)
		}
	case float64:
		add = func(alpha float64, x, y []float64) {
			if alpha == 0 {
				axpy(alpha, x, y)
				return
			}
			blas.Implementation{}.Daxpy(len(y), alpha, x, 1, y, 1)
		}
	default:
		return axpy[T]
	}
	return add.(func(T, []T, []T))
}

// axpy adds a multiple of x to y. The conversion of a product keeps the compiler from fusing it
// with the sum.
func axpy[T element](alpha T, x, y []T) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] = T(alpha*v) + y[i]
	}
}

// storedMatrix is a matrix B of a narrower type than the sums, or rows of their own type. It is converted as it is read: some rows, or parts of
// columns, at a time, which stay in a cache until they have been multiplied.
type storedMatrix struct {
	data   []byte
	narrow tiles.Narrow
}

// storedOnHost returns what carries out the steps of a kernel whose B is of a narrow type.
func storedOnHost[T element](family string, spec []uint32, narrow tiles.Narrow) Host {
	if family != "gemm_block" {
		return nil
	}
	return func(w *sched.Worker, buffers [][]byte, push []byte, grid [3]uint32) int {
		s := newHostStep[T](w, spec, buffers, push, grid)
		s.stored = &storedMatrix{data: buffers[1], narrow: narrow}
		return blocksOnHost(s)
	}
}

// ownType is a matrix of the type of the sums, if several of its rows are added at once; nil for other types.
func ownType[T element](b []T) *storedMatrix {
	if f, ok := any(b).([]float32); ok && len(f) > 0 && tiles.AddsRows[T](tiles.F32) {
		return &storedMatrix{data: unsafe.Slice((*byte)(unsafe.Pointer(&f[0])), 4*len(f)), narrow: tiles.F32}
	}
	return nil
}

// from is the matrix from an element on.
func (m *storedMatrix) from(at int) []byte { return m.data[at*m.narrow.Size():] }

// storedBlock computes the sums of a box, in the order of k, of the matrix whose first element of the box is number b.
func (s *hostStep[T]) storedBlock(w *sched.Worker, x box, room, a []T, b, rowA, colA, rowB, colB int) {
	k := s.push[2]
	sums, rest := room[:x.rows*x.cols], room[sumsRoom:]
	packed, wide := rest[:storedVectors*blockDeep], rest[storedVectors*blockDeep:]
	clear(sums)
	if colA == 1 && colB != 1 { // columns are read from end to end
		for first := 0; first < x.cols; first += tiles.Together {
			for from := 0; from < k; from += blockDeep {
				s.storedColumns(x, sums, wide, a[from:], first, b+from, rowA, min(blockDeep, k-from), colB)
			}
			w.Check()
		}
		return
	}
	for from := 0; from < k; from += blockDeep {
		deep := min(blockDeep, k-from)
		few, step := a[from*colA:], rowA
		if colA != 1 {
			pack(packed, few, x.rows, deep, rowA, colA)
			few, step = packed, deep
		}
		if colB == 1 {
			for i := range x.rows {
				tiles.AddRows(s.stored.narrow, few[i*step:][:deep], s.stored.from(b+from*rowB), rowB*s.stored.narrow.Size(), sums[i*x.cols:][:x.cols], wide)
			}
		} else {
			for first := 0; first < x.cols; first += tiles.Together {
				s.storedColumns(x, sums, wide, few, first, b+from, step, deep, colB)
			}
		}
		w.Check()
	}
}

// storedColumns adds the products of deep elements of columns of B, of those from the first one on that are summed together.
func (s *hostStep[T]) storedColumns(x box, sums, wide, few []T, first, b, step, deep, colB int) {
	n := min(tiles.Together, x.cols-first)
	for j := range n {
		tiles.Widen(s.stored.narrow, s.stored.from(b+(first+j)*colB), wide[j*deep:][:deep])
	}
	f := &fewColumns[T]{sum: tiles.ColumnsOf[T](), b: wide, step: deep}
	for at := 0; at < n; {
		many := f.together(n - at)
		for i := range x.rows {
			f.add(few[i*step:][:deep], at, 0, sums[i*x.cols+first+at:][:many])
		}
		at += many
	}
}
