package movement

import (
	"sync"

	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
	"nxvk/ops"
)

// copier copies a box of elements: for each index of the box, outermost dimension first,
// element srcAt + index·src of the source becomes element dstAt + index·dst of the target.
// Every operation of shape is one or more of these copies.
type copier struct {
	w             *sched.Worker // who carries them out
	rank          int
	shape         [ops.MaxRank]int
	dst, src      [ops.MaxRank]int // steps, in elements; those of src may be 0 or negative
	dstAt, srcAt  int
	dst2D, src2D  int // of the dimension that a transpose reads along
	tiled, blocks int // its size and how many tiles it has, or 0 and 1
	each, pieces  int // the innermost dimension is copied in so many pieces of so many elements
}

var copierPool = sync.Pool{New: func() any { return new(copier) }}

// newCopier returns a copier of one element, from the pool that release gives it back to.
func newCopier(w *sched.Worker) *copier {
	m := copierPool.Get().(*copier)
	m.w, m.rank, m.dstAt, m.srcAt, m.tiled = w, 0, 0, 0, 0
	return m
}

func (m *copier) release() {
	m.w = nil
	copierPool.Put(m)
}

// push adds an inner dimension, merged with the one outside of it where the
// elements follow each other.
func (m *copier) push(n, dst, src int) {
	if n == 1 {
		return
	}
	if r := m.rank - 1; r >= 0 && m.dst[r] == n*dst && m.src[r] == n*src {
		m.shape[r], m.dst[r], m.src[r] = m.shape[r]*n, dst, src
		return
	}
	m.shape[m.rank], m.dst[m.rank], m.src[m.rank] = n, dst, src
	m.rank++
}

// copy copies between values of one type.
func (m *copier) copy(dst, src *dense.Value) {
	switch dst.Type.DType.Size() {
	case 1:
		copyElements(m, dst.Data, src.Data)
	case 2:
		copyElements(m, dense.View[uint16](dst.Data), dense.View[uint16](src.Data))
	case 4:
		copyElements(m, dense.View[uint32](dst.Data), dense.View[uint32](src.Data))
	case 8:
		copyElements(m, dense.View[uint64](dst.Data), dense.View[uint64](src.Data))
	default:
		if dst.Type.DType != ops.C128 {
			panic("BUG: elements of " + dst.Type.DType.String())
		}
		copyElements(m, dense.View[complex128](dst.Data), dense.View[complex128](src.Data))
	}
}

// tile is the side of the squares in which a transpose reads and writes.
const tile = 32

// longRun bounds the elements of the innermost dimension that are copied at a time. It is a
// multiple of tile.
const longRun = 32 << 10

// tileUp sets the dimension along which the source is dense apart, where that is not the
// innermost one, so that it and the innermost are copied in squares.
func (m *copier) tileUp() {
	last := m.rank - 1
	if m.src[last] == 1 || m.src[last] == 0 || m.shape[last] < 8 {
		return
	}
	for i := range last {
		if m.src[i] == 1 && m.shape[i] >= 8 {
			m.tiled, m.dst2D, m.src2D = m.shape[i], m.dst[i], m.src[i]
			m.blocks = (m.tiled + tile - 1) / tile
			copy(m.shape[i:last], m.shape[i+1:])
			copy(m.dst[i:last], m.dst[i+1:])
			copy(m.src[i:last], m.src[i+1:])
			m.rank--
			return
		}
	}
}

func copyElements[T any](m *copier, dst, src []T) {
	if m.rank == 0 {
		dst[m.dstAt] = src[m.srcAt]
		return
	}
	m.blocks = 1
	m.tileUp()
	last := m.rank - 1
	longest := longRun
	if m.tiled > 0 {
		longest /= tile
	}
	m.each = min(m.shape[last], longest)
	m.pieces = (m.shape[last] + m.each - 1) / m.each
	n, cost := m.blocks*m.pieces, m.each
	for _, d := range m.shape[:last] {
		n *= d
	}
	if m.tiled > 0 {
		cost *= tile
	}
	if n*cost < dense.ParallelMin {
		copyRange(m, dst, src, 0, n)
		return
	}
	dense.Parallel(m.w, n, cost, func(lo, hi int) { copyRange(m, dst, src, lo, hi) })
}

// copyRange copies the pieces of innermost runs, or of strips of squares, lo to hi.
func copyRange[T any](m *copier, dst, src []T, lo, hi int) {
	last := m.rank - 1
	var index [ops.MaxRank]int
	parts := m.blocks * m.pieces
	d, s, rest, part := m.dstAt, m.srcAt, lo/parts, lo%parts
	for i := last - 1; i >= 0; i-- {
		index[i] = rest % m.shape[i]
		rest /= m.shape[i]
		d, s = d+index[i]*m.dst[i], s+index[i]*m.src[i]
	}
	for ; lo < hi; lo++ {
		at := part % m.pieces * m.each
		n := min(m.each, m.shape[last]-at)
		if m.tiled > 0 {
			copyTiles(m, dst, src, d+at*m.dst[last], s+at*m.src[last], part/m.pieces, n)
		} else {
			copyRun(dst, src, d+at*m.dst[last], s+at*m.src[last], n, m.dst[last], m.src[last])
		}
		if part++; part < parts {
			continue
		}
		part = 0
		for i := last - 1; i >= 0; i-- {
			index[i]++
			d, s = d+m.dst[i], s+m.src[i]
			if index[i] < m.shape[i] {
				break
			}
			d, s, index[i] = d-m.shape[i]*m.dst[i], s-m.shape[i]*m.src[i], 0
		}
	}
}

func copyRun[T any](dst, src []T, d, s, n, dstStep, srcStep int) {
	switch {
	case dstStep == 1 && srcStep == 1:
		copy(dst[d:d+n], src[s:s+n])
	case dstStep == 1 && srcStep == 0:
		x := src[s]
		run := dst[d : d+n]
		for i := range run {
			run[i] = x
		}
	default:
		for range n {
			dst[d] = src[s]
			d, s = d+dstStep, s+srcStep
		}
	}
}

// copyTiles copies one strip of squares: up to tile elements of the dimension
// taken out, by some of the innermost.
func copyTiles[T any](m *copier, dst, src []T, d, s, block, along int) {
	last := m.rank - 1
	from := block * tile
	to := min(from+tile, m.tiled)
	for col := 0; col < along; col += tile {
		n := min(tile, along-col)
		for row := from; row < to; row++ {
			copyRun(dst, src, d+row*m.dst2D+col*m.dst[last], s+row*m.src2D+col*m.src[last],
				n, m.dst[last], m.src[last])
		}
	}
}
