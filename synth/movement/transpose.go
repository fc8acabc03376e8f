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
	leastRows   = tile / 2
	leastCols   = 8
	MinTiled    = 1 << 16 // elements below which a plain copy is as fast
)

// tileJob transposes matrices of a tensor, one for every point of a batch: element (i, j)
// of the operand, dense along j, becomes element (j, i) of the result, dense along i. The
// rows i may be several dimensions of the result, the innermost ones.
type tileJob struct {
	down, across int // rows and columns of a tile
	rows, cols   int // of the operand
	dims, from   []int
	to           int // stride between rows of the result
	batch        []int
	in, out      strided.View // of the batch
	word         kernel.Elem
}

// tiled plans a transposition through shared memory, or gives nil where the
// shape or the device does not ask for it.
func (m Move) tiled(size int, t *lowering.Target) *codegen.Program {
	word, n := codegen.WordsOf(t, size)
	in, out := m.In, m.Out
	dims := strided.Collapse(m.Dims, []*strided.View{&in, &out})
	r := len(dims) - 1
	q := slices.Index(in.Strides, 1) // the dimension along which the operand is dense
	if t.CPU || n != 1 || r < 1 || q < 0 || q == r || strided.Product(dims) < MinTiled ||
		t.SharedMemory < tilePoints*(kernel.TypeSize(word.Type())+1) || t.MaxInvocations < tileThreads {
		return nil
	}
	first := r // of the rows
	if dims[r] < tile {
		first = q + 1
	}
	j := &tileJob{across: tile, rows: strided.Product(dims[first:]), cols: dims[q], dims: dims[first:], from: in.Strides[first:],
		to: out.Strides[q], word: word}
	for j.across/2 >= j.cols && j.across > tile/4 {
		j.across /= 2
	}
	j.down = tilePoints / j.across
	if j.rows < leastRows || j.cols < leastCols || j.rows < j.down/2 {
		return nil
	}
	for i, d := range dims[:first] {
		if i == q {
			continue
		}
		j.batch = append(j.batch, d)
		j.in.Strides = append(j.in.Strides, in.Strides[i])
		j.out.Strides = append(j.out.Strides, out.Strides[i])
	}
	j.batch = strided.Collapse(j.batch, []*strided.View{&j.in, &j.out})
	return j.program(m.Operand)
}

// Tiles reports whether a transposition of an operand of a type is carried out through
// shared memory.
func Tiles(in *ops.Instr, operand ops.Type, t *lowering.Target) bool {
	out := in.Outs[0].Type.Shape
	m := Move{Dims: out, In: strided.TransposeView(in, operand.Shape), Out: strided.Dense(out)}
	return m.tiled(operand.DType.Size(), t) != nil
}

func (j *tileJob) program(operand int) *codegen.Program {
	n := j.rows * j.cols * strided.Product(j.batch)
	down, across := (j.rows+j.down-1)/j.down, (j.cols+j.across-1)/j.across
	p := &codegen.Program{Key: fmt.Sprintf("transpose rank=%d rows=%d tile=%d", len(j.batch), len(j.dims), j.across),
		Local: tileThreads, Index: codegen.IndexType(n),
		Body: j.write, Groups: down * across * strided.Product(j.batch), Bytes: int64(2 * n * j.word.Size()),
		Numbers: []int{down, across, strided.Product(j.batch), j.rows, j.cols, j.to}}
	for i, d := range j.dims {
		p.Numbers = append(p.Numbers, d, j.from[i])
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
	starts     int // shared: where rows of the tile begin, of several dimensions
	rows, cols kernel.Value
	dims, from []kernel.Value
	to         kernel.Value
	i, j       kernel.Value // the corner of the tile
	in, out    kernel.Value // where the matrix begins
}

func (j *tileJob) write(e *codegen.Emitter) error {
	w := &tileWriter{Emitter: e, job: j, shared: e.Shared(j.word.Type(), tilePoints)}
	down, across, batches := e.NextNumber(), e.NextNumber(), e.NextNumber()
	w.rows, w.cols, w.to = e.NextNumber(), e.NextNumber(), e.NextNumber()
	for range j.dims {
		w.dims, w.from = append(w.dims, e.NextNumber()), append(w.from, e.NextNumber())
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
	w.i, w.j = e.Mul(row, e.Index(j.down)), e.Mul(col, e.Index(j.across))
	w.in, w.out = e.Offsets(b, dims, in), e.Offsets(b, dims, out)
	if len(j.dims) > 1 {
		w.findStarts()
	}
	w.load()
	e.Barrier()
	w.store()
	return nil
}

// findStarts computes once where the rows of the tile begin in the operand.
func (w *tileWriter) findStarts() {
	w.starts = w.Shared(w.IndexType, w.job.down)
	lid, last := w.Builtin(kernel.LocalX), w.Sub(w.rows, w.Index(1))
	find := func() []kernel.Value {
		i := w.Add(w.i, w.Convert(lid, w.IndexType))
		i = w.Select(w.Compare(scalar.Lt, i, last), i, last)
		w.StoreShared(w.starts, lid, w.Offsets(i, w.dims, w.from))
		return nil
	}
	if w.job.down < tileThreads {
		w.If(w.Compare(scalar.Lt, lid, w.Int(scalar.U32, w.job.down)), find, nil)
	} else {
		find()
	}
	w.Barrier()
}

// slot is the index in shared memory of row i, column j of the tile. The columns of a row are
// permuted (an XOR swizzle), so that neither rows nor columns meet in one memory bank.
func (w *tileWriter) slot(i, j kernel.Value) kernel.Value {
	wide := codegen.Log2(w.job.across)
	swizzle := w.And(w.Shr(i, max(0, 5-wide)), uint64(min(w.job.across, 32)-1))
	return w.Add(w.Shl(i, wide), w.Prim(scalar.Xor, scalar.U32, j, swizzle))
}

// cell is an element of the tile that is this invocation's.
type cell struct{ row, col kernel.Value }

// cells lists them, in rows of a length that neighbours walk side by side.
func (w *tileWriter) cells(length int) []cell {
	lid := w.Builtin(kernel.LocalX)
	col, first := w.And(lid, uint64(length-1)), w.Shr(lid, codegen.Log2(length))
	var all []cell
	for row := 0; row < tilePoints/length; row += tileThreads / length {
		all = append(all, cell{w.Add(first, w.Int(scalar.U32, row)), col})
	}
	return all
}

// whole runs f for all cells at once where the tile lies within the matrix, and
// else for one after the other that does. All loads of a whole tile are under
// way before the first is waited for.
func (w *tileWriter) whole(cells []cell, f func(some []cell), at func(s cell) (i, j kernel.Value)) {
	corner := w.within(w.Add(w.i, w.Index(w.job.down-1)), w.Add(w.j, w.Index(w.job.across-1)))
	w.If(corner, func() []kernel.Value {
		f(cells)
		return nil
	}, func() []kernel.Value {
		for _, s := range cells {
			w.If(w.within(at(s)), func() []kernel.Value {
				f([]cell{s})
				return nil
			}, nil)
		}
		return nil
	})
}

// load brings rows of the operand into the tile.
func (w *tileWriter) load() {
	at := func(s cell) (i, j kernel.Value) {
		return w.Add(w.i, w.Convert(s.row, w.IndexType)), w.Add(w.j, w.Convert(s.col, w.IndexType))
	}
	w.whole(w.cells(w.job.across), func(some []cell) {
		var xs []kernel.Value
		for _, s := range some {
			i, j := at(s)
			start := w.Mul(i, w.from[0])
			if len(w.from) > 1 {
				start = w.LoadShared(w.starts, s.row)
			}
			xs = append(xs, w.Fetch(0, w.Add(w.in, w.Add(start, j)), 1)[0])
		}
		for k, s := range some {
			w.StoreShared(w.shared, w.slot(s.row, s.col), xs[k])
		}
	}, at)
}

// store writes columns of the tile as rows of the result.
func (w *tileWriter) store() {
	at := func(s cell) (i, j kernel.Value) {
		return w.Add(w.i, w.Convert(s.col, w.IndexType)), w.Add(w.j, w.Convert(s.row, w.IndexType))
	}
	w.whole(w.cells(w.job.down), func(some []cell) {
		var xs []kernel.Value
		for _, s := range some {
			xs = append(xs, w.LoadShared(w.shared, w.slot(s.col, s.row)))
		}
		for k, s := range some {
			i, j := at(s)
			w.Store(1, w.Add(w.out, w.Add(w.Mul(j, w.to), i)), xs[k])
		}
	}, at)
}

// within reports whether element (i, j) is one of the matrix.
func (w *tileWriter) within(i, j kernel.Value) kernel.Value {
	return w.Prim(scalar.AndB, scalar.Bool, w.Compare(scalar.Lt, i, w.rows), w.Compare(scalar.Lt, j, w.cols))
}
