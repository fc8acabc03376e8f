package movement

import (
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// A transposition through shared memory moves tiles: a workgroup loads rows in
// the order of the operand and stores rows in the order of the result. The
// columns of the tile are swizzled by the row, so that neither direction meets
// itself in the banks of shared memory.
const (
	tile        = 64   // rows and columns of a square tile
	tilePoints  = 4096 // of every tile
	tileThreads = 256
	leastSide   = 4       // rows or columns of the narrowest tile
	leastFill   = 4       // the part of the tiles that elements fill, at least, is one in so many
	MinTiled    = 1 << 16 // elements below which a plain copy is as fast

	// A fusion reads narrower matrices in the order of its results instead.
	leastRows = tile / 2
	leastCols = 8
)

// tileJob transposes matrices of a tensor, one for every point of a batch: element (i, j)
// of the operand, dense along j, becomes element (j, i) of the result, dense along i. The
// rows i may be several dimensions of the result, the innermost ones; the columns j may be
// several dimensions of the operand.
type tileJob struct {
	down, across int // rows and columns of a tile
	rows, cols   side
	batch        []int
	in, out      strided.View // of the batch
	word         kernel.Elem
}

// side is the rows or the columns of a matrix: their number, their dimensions, and the strides
// of these where they are not dense.
type side struct {
	n             int
	dims, strides []int
}

func (s *side) add(dim, stride int) {
	s.n, s.dims, s.strides = max(s.n, 1)*dim, append(s.dims, dim), append(s.strides, stride)
}

// tiled plans a transposition through shared memory, or gives nil where the
// shape or the device does not ask for it.
func (m Move) tiled(size int, t *lowering.Target) *tileJob {
	word, n := codegen.WordsOf(t, size)
	in, out := m.In, m.Out
	dims := strided.Collapse(m.Dims, []*strided.View{&in, &out})
	r := len(dims) - 1
	q := slices.Index(in.Strides, 1) // the dimension along which the operand is dense
	if t.CPU || n != 1 || r < 1 || q < 0 || q == r || strided.Product(dims) < MinTiled || t.MaxInvocations < tileThreads {
		return nil
	}
	first := r // of the rows
	if dims[r] < tile {
		first = q + 1
	}
	j := &tileJob{word: word, across: tile}
	for i := first; i <= r; i++ {
		j.rows.add(dims[i], in.Strides[i])
	}
	cols := []int{q}
	for n := dims[q]; n < tile; n *= dims[cols[0]] {
		next := slices.Index(in.Strides[:first], n)
		if next < 0 || dims[next] == 1 {
			break
		}
		cols = slices.Insert(cols, 0, next)
	}
	for _, i := range cols {
		j.cols.add(dims[i], out.Strides[i])
	}
	for i, d := range dims[:first] {
		if !slices.Contains(cols, i) {
			j.batch = append(j.batch, d)
			j.in.Strides = append(j.in.Strides, in.Strides[i])
			j.out.Strides = append(j.out.Strides, out.Strides[i])
		}
	}
	j.batch = strided.Collapse(j.batch, []*strided.View{&j.in, &j.out})
	if !j.shape() || j.sharedBytes() > t.SharedMemory {
		return nil
	}
	return j
}

// shape chooses the sides of a tile, which are powers of two, and reports whether the matrices
// fill tiles well enough.
func (j *tileJob) shape() bool {
	for j.across/2 >= j.cols.n && j.across > leastSide {
		j.across /= 2
	}
	for tilePoints/j.across/2 >= j.rows.n && tilePoints/j.across > leastSide {
		j.across *= 2
	}
	j.down = tilePoints / j.across
	down, across := j.tiles()
	return min(j.rows.n, j.cols.n) >= leastSide-1 && j.rows.n*j.cols.n*leastFill >= down*across*tilePoints
}

// tiles returns how many tiles a matrix has in each direction.
func (j *tileJob) tiles() (down, across int) {
	return (j.rows.n + j.down - 1) / j.down, (j.cols.n + j.across - 1) / j.across
}

// sharedBytes is the shared memory of a workgroup: the tile, and where its rows and columns
// begin if they are of several dimensions.
func (j *tileJob) sharedBytes() int {
	return tilePoints*kernel.TypeSize(j.word.Type()) + 8*(j.down+j.across)
}

// Tiles reports whether a transposition of an operand of a type is carried out through
// shared memory, and much faster so than as part of a fusion.
func Tiles(in *ops.Instr, operand ops.Type, t *lowering.Target) bool {
	out := in.Outs[0].Type.Shape
	m := Move{Dims: out, In: strided.TransposeView(in, operand.Shape), Out: strided.Dense(out)}
	j := m.tiled(operand.DType.Size(), t)
	return j != nil && j.rows.n >= max(leastRows, j.down/2) && j.cols.n >= leastCols
}

func (j *tileJob) program(operand int) *codegen.Program {
	n := j.rows.n * j.cols.n * strided.Product(j.batch)
	down, across := j.tiles()
	p := &codegen.Program{Key: fmt.Sprintf("transpose rank=%d rows=%d columns=%d tile=%d", len(j.batch), len(j.rows.dims), len(j.cols.dims), j.across),
		Local: tileThreads, Index: codegen.IndexType(n),
		Body: j.write, Groups: down * across * strided.Product(j.batch), Bytes: int64(2 * n * j.word.Size()),
		Numbers: []int{down, across, strided.Product(j.batch), j.rows.n, j.cols.n}}
	for _, s := range []*side{&j.rows, &j.cols} {
		for i, d := range s.dims {
			p.Numbers = append(p.Numbers, d, s.strides[i])
		}
	}
	for i, d := range j.batch {
		p.Numbers = append(p.Numbers, d, j.in.Strides[i], j.out.Strides[i])
	}
	for _, b := range []codegen.Buffer{{Ref: lowering.Ref{Kind: lowering.Operand, Index: operand}, Access: lowering.Read}, {Ref: lowering.Ref{Kind: lowering.Result, Index: 0}, Access: lowering.Write}} {
		b.Elem, b.Bytes = j.word, int64(n*j.word.Size())
		p.Buffers = append(p.Buffers, b)
	}
	return p
}

// tileWriter writes the kernel of a tileJob.
type tileWriter struct {
	*codegen.Emitter
	job        *tileJob
	shared     int
	rows, cols sideWriter
	in, out    kernel.Value // where the matrix begins
}

// sideWriter has the rows or the columns of a matrix.
type sideWriter struct {
	n             kernel.Value
	dims, strides []kernel.Value
	corner        kernel.Value // the first of the tile
	begins        int          // shared: where those of the tile begin, of several dimensions
}

func (j *tileJob) write(e *codegen.Emitter) error {
	w := &tileWriter{Emitter: e, job: j, shared: e.Shared(j.word.Type(), tilePoints)}
	down, across, batches := e.NextNumber(), e.NextNumber(), e.NextNumber()
	w.rows.n, w.cols.n = e.NextNumber(), e.NextNumber()
	for i, s := range []*side{&j.rows, &j.cols} {
		x := []*sideWriter{&w.rows, &w.cols}[i]
		for range s.dims {
			x.dims, x.strides = append(x.dims, e.NextNumber()), append(x.strides, e.NextNumber())
		}
	}
	var dims, in, out []kernel.Value
	for range j.batch {
		dims, in, out = append(dims, e.NextNumber()), append(in, e.NextNumber()), append(out, e.NextNumber())
	}
	rest, col := e.DivMod(e.Group(), across)
	b, row := e.DivMod(rest, down)
	// A folded grid has workgroups beyond the last matrix; they do that one
	// again, since all must come to the barrier, and write the same.
	last := e.Sub(batches, e.Index(1))
	b = e.Select(e.Compare(scalar.Lt, b, last), b, last)
	w.rows.corner, w.cols.corner = e.Mul(row, e.Index(j.down)), e.Mul(col, e.Index(j.across))
	w.in, w.out = e.Offsets(b, dims, in), e.Offsets(b, dims, out)
	w.findBegins(&w.rows, j.down)
	w.findBegins(&w.cols, j.across)
	if max(len(w.rows.dims), len(w.cols.dims)) > 1 {
		e.Barrier()
	}
	w.load()
	e.Barrier()
	w.store()
	return nil
}

// findBegins computes once where n rows or columns of several dimensions begin.
func (w *tileWriter) findBegins(s *sideWriter, n int) {
	if len(s.dims) < 2 {
		return
	}
	s.begins = w.Shared(w.IndexType, n)
	for first := 0; first < n; first += tileThreads {
		at := w.Add(w.Builtin(kernel.LocalX), w.Int(scalar.U32, first))
		find := func() []kernel.Value {
			w.StoreShared(s.begins, at, w.Offsets(w.clamped(s, at), s.dims, s.strides))
			return nil
		}
		if n < tileThreads {
			w.If(w.Compare(scalar.Lt, at, w.Int(scalar.U32, n)), find, nil)
		} else {
			find()
		}
	}
}

// begin is where a row or a column of the tile begins, or the last one of the matrix.
func (w *tileWriter) begin(s *sideWriter, at kernel.Value) kernel.Value {
	if len(s.dims) > 1 {
		return w.LoadShared(s.begins, at)
	}
	return w.Mul(w.clamped(s, at), s.strides[0])
}

// number is that of a row or column of the tile.
func (w *tileWriter) number(s *sideWriter, at kernel.Value) kernel.Value {
	return w.Add(s.corner, w.Convert(at, w.IndexType))
}

// clamped is the number of a row or column of the tile, or of the last one of the matrix.
func (w *tileWriter) clamped(s *sideWriter, at kernel.Value) kernel.Value {
	i, last := w.number(s, at), w.Sub(s.n, w.Index(1))
	return w.Select(w.Compare(scalar.Lt, i, last), i, last)
}

// slot is the index in shared memory of row i, column j of the tile. The columns of a row are
// permuted (an XOR swizzle), so that neither rows nor columns, nor several short ones, meet in
// one memory bank.
func (w *tileWriter) slot(i, j kernel.Value) kernel.Value {
	wide, deep := codegen.Log2(w.job.across), codegen.Log2(w.job.down)
	swizzle := w.And(w.Shl(w.Shr(i, max(0, 5-wide)), max(0, 5-deep)), uint64(min(w.job.across, 32)-1))
	return w.Add(w.Shl(i, wide), w.Prim(scalar.Xor, scalar.U32, j, swizzle))
}

// cell is an element of the tile that is this invocation's.
type cell struct{ row, col kernel.Value }

// cells lists them, in rows of a length that neighbours walk side by side.
func (w *tileWriter) cells(length int) []cell {
	lid := w.Builtin(kernel.LocalX)
	side := min(length, tileThreads)
	col, first := w.And(lid, uint64(side-1)), w.Shr(lid, codegen.Log2(side))
	var all []cell
	for row := 0; row < tilePoints/length; row += tileThreads / side {
		for start := 0; start < length; start += side {
			all = append(all, cell{w.Add(first, w.Int(scalar.U32, row)), w.Add(col, w.Int(scalar.U32, start))})
		}
	}
	return all
}

// load brings rows of the operand into the tile. All loads are under way before the first is
// waited for; what is beyond the matrix is its last row or column again.
func (w *tileWriter) load() {
	cells := w.cells(w.job.across)
	var xs []kernel.Value
	for _, s := range cells {
		at := w.Add(w.begin(&w.rows, s.row), w.clamped(&w.cols, s.col))
		xs = append(xs, w.Fetch(0, w.Add(w.in, at), 1)[0])
	}
	for k, s := range cells {
		w.StoreShared(w.shared, w.slot(s.row, s.col), xs[k])
	}
}

// store writes columns of the tile as rows of the result.
func (w *tileWriter) store() {
	cells := w.cells(w.job.down) // row is the column of the tile, and col its row
	var xs []kernel.Value
	for _, s := range cells {
		xs = append(xs, w.LoadShared(w.shared, w.slot(s.col, s.row)))
	}
	put := func(k int) {
		at := w.Add(w.begin(&w.cols, cells[k].row), w.number(&w.rows, cells[k].col))
		w.Store(1, w.Add(w.out, at), xs[k])
	}
	whole := w.within(w.number(&w.rows, w.Int(scalar.U32, w.job.down-1)), w.number(&w.cols, w.Int(scalar.U32, w.job.across-1)))
	w.If(whole, func() []kernel.Value {
		for k := range cells {
			put(k)
		}
		return nil
	}, func() []kernel.Value {
		for k, s := range cells {
			w.If(w.within(w.number(&w.rows, s.col), w.number(&w.cols, s.row)), func() []kernel.Value {
				put(k)
				return nil
			}, nil)
		}
		return nil
	})
}

// within reports whether element (i, j) is one of the matrix.
func (w *tileWriter) within(i, j kernel.Value) kernel.Value {
	return w.Prim(scalar.AndB, scalar.Bool, w.Compare(scalar.Lt, i, w.rows.n), w.Compare(scalar.Lt, j, w.cols.n))
}
