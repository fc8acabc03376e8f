package fallback

import (
	"sync"

	"nxvk/fallback/sched"
	"nxvk/ops"
)

// moves is a set of elements to copy from one place to another: for each
// index of a box, outermost dimension first, element dstAt + index·dst of the
// target is element srcAt + index·src of the source. Every operation of shape
// is one or more of them.
type moves struct {
	w             *sched.Worker // who carries them out
	rank          int
	shape         [ops.MaxRank]int
	dst, src      [ops.MaxRank]int // steps, in elements; those of src may be 0 or negative
	dstAt, srcAt  int
	dst2D, src2D  int // of the dimension that a transpose reads along
	tiled, blocks int // its size and how many tiles it has, or 0 and 1
	each, pieces  int // the innermost dimension is copied in so many pieces of so many elements
}

var movesPool = sync.Pool{New: func() any { return new(moves) }}

// newMoves returns an empty set; release it.
func newMoves(w *sched.Worker) *moves {
	m := movesPool.Get().(*moves)
	m.w, m.rank, m.dstAt, m.srcAt, m.tiled = w, 0, 0, 0, 0
	return m
}

func (m *moves) release() {
	m.w = nil
	movesPool.Put(m)
}

// push adds an inner dimension, merged with the one outside of it where the
// elements follow each other.
func (m *moves) push(n, dst, src int) {
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

// copy carries out the moves between values of one type.
func (m *moves) copy(dst, src *Value) {
	switch dst.Type.DType.Size() {
	case 1:
		move(m, dst.Data, src.Data)
	case 2:
		move(m, view[uint16](dst.Data), view[uint16](src.Data))
	case 4:
		move(m, view[uint32](dst.Data), view[uint32](src.Data))
	case 8:
		move(m, view[uint64](dst.Data), view[uint64](src.Data))
	default:
		if dst.Type.DType != ops.C128 {
			panic("BUG: elements of " + dst.Type.DType.String())
		}
		move(m, view[complex128](dst.Data), view[complex128](src.Data))
	}
}

// tile is the side of the squares in which a transpose reads and writes.
const tile = 32

// longRun is how much of the innermost dimension is copied at a time: whole squares.
const longRun = 32 << 10

// tileUp takes out the dimension along which the source is dense, where that is
// not the innermost, so that the innermost two can be copied in squares.
func (m *moves) tileUp() {
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

func move[T any](m *moves, dst, src []T) {
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
	if n*cost < parallelMin {
		moveRange(m, dst, src, 0, n)
		return
	}
	parallel(m.w, n, cost, func(lo, hi int) { moveRange(m, dst, src, lo, hi) })
}

// moveRange copies the pieces of innermost runs, or of strips of squares, lo to hi.
func moveRange[T any](m *moves, dst, src []T, lo, hi int) {
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
			moveTiles(m, dst, src, d+at*m.dst[last], s+at*m.src[last], part/m.pieces, n)
		} else {
			moveRun(dst, src, d+at*m.dst[last], s+at*m.src[last], n, m.dst[last], m.src[last])
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

func moveRun[T any](dst, src []T, d, s, n, dstStep, srcStep int) {
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

// moveTiles copies one strip of squares: up to tile elements of the dimension
// taken out, by some of the innermost.
func moveTiles[T any](m *moves, dst, src []T, d, s, block, along int) {
	last := m.rank - 1
	from := block * tile
	to := min(from+tile, m.tiled)
	for col := 0; col < along; col += tile {
		n := min(tile, along-col)
		for row := from; row < to; row++ {
			moveRun(dst, src, d+row*m.dst2D+col*m.dst[last], s+row*m.src2D+col*m.src[last],
				n, m.dst[last], m.src[last])
		}
	}
}
