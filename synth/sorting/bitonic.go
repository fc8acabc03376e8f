package sorting

import (
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// bitonicLocal is the workgroup of a bitonic network.
const bitonicLocal = 256

// bitonicProgram sorts rows in the memory of a workgroup. The row is filled up
// to a power of two with keys that come last.
func (j *sortJob) bitonicProgram() *codegen.Program {
	rows, lg := strided.Product(j.rows), codegen.Log2(j.length)
	p := &codegen.Program{Key: "sort by network " + j.describe(), Local: bitonicLocal, Index: scalar.U32,
		Buffers: j.buffers(), Groups: rows, Body: j.writeBitonic,
		Flops:   int64(rows) << lg * int64(lg*(lg+1)/2),
		Numbers: append([]int{rows, 1 << lg, lg * (lg + 1) / 2}, j.numbers()...)}
	for _, b := range p.Buffers {
		p.Bytes += b.Bytes
	}
	return p
}

// bitonicWriter writes the kernel of a bitonic network.
type bitonicWriter struct {
	*sortPlaces
	size            kernel.Value // of the network, a power of two
	keys, positions int          // shared arrays
}

func (j *sortJob) writeBitonic(e *codegen.Emitter) error {
	rows, size, stages := e.NextNumber(), e.NextNumber(), e.NextNumber()
	w := &bitonicWriter{sortPlaces: j.places(e), size: size}
	w.keys, w.positions = e.Shared(j.keyType(), middleSort), e.Shared(scalar.U32, middleSort)
	// Groups beyond the last row take part in the barriers: they sort that row
	// again and keep it to themselves.
	group := e.Group()
	valid := e.Compare(scalar.Lt, group, rows)
	r := e.Select(valid, group, e.Sub(rows, e.Index(1)))
	w.load(r)
	e.Loop(e.Index(0), stages, e.Index(1), []kernel.Value{e.Index(2), e.Index(1)},
		func(_ kernel.Value, c []kernel.Value) []kernel.Value {
			block, distance := c[0], c[1]
			e.Barrier()
			w.stage(block, distance)
			last := e.Compare(scalar.Eq, distance, e.Index(1))
			// After the last distance come blocks of twice the size.
			return []kernel.Value{e.Select(last, e.Shl(block, 1), block),
				e.Select(last, block, e.Shr(distance, 1))}
		})
	e.Barrier()
	e.If(valid, func() []kernel.Value {
		e.Loop(e.Invocation(), w.length, e.Index(e.Local), nil, func(i kernel.Value, _ []kernel.Value) []kernel.Value {
			w.put(1, r, i, e.LoadShared(w.positions, i))
			return nil
		})
		return nil
	}, nil)
	return nil
}

func (w *bitonicWriter) load(r kernel.Value) {
	base := w.row(r)
	t := w.job.keyType()
	w.Loop(w.Invocation(), w.size, w.Index(w.Local), nil, func(i kernel.Value, _ []kernel.Value) []kernel.Value {
		key := w.If(w.Compare(scalar.Lt, i, w.length),
			func() []kernel.Value { return []kernel.Value{w.key(base, i)} },
			func() []kernel.Value { return []kernel.Value{w.Const(t, ^uint64(0))} })
		w.StoreShared(w.keys, i, key[0])
		w.StoreShared(w.positions, i, i)
		return nil
	})
}

// stage compares all pairs of a distance and swaps those that are out of order:
// upward in even blocks, downward in odd ones.
func (w *bitonicWriter) stage(block, distance kernel.Value) {
	one := w.Index(1)
	w.Loop(w.Invocation(), w.Shr(w.size, 1), w.Index(w.Local), nil, func(u kernel.Value, _ []kernel.Value) []kernel.Value {
		low := w.Prim(scalar.And, w.IndexType, u, w.Sub(distance, one))
		i := w.Add(w.Shl(w.Sub(u, low), 1), low)
		k := w.Add(i, distance)
		x, xi := w.LoadShared(w.keys, i), w.LoadShared(w.positions, i)
		y, yi := w.LoadShared(w.keys, k), w.LoadShared(w.positions, k)
		up := w.Compare(scalar.Eq, w.Prim(scalar.And, w.IndexType, i, block), w.Index(0))
		w.If(w.Compare(scalar.Eq, w.Convert(before(w.sortPlaces.Emitter, y, yi, x, xi), w.IndexType), w.Convert(up, w.IndexType)),
			func() []kernel.Value {
				w.StoreShared(w.keys, i, y)
				w.StoreShared(w.positions, i, yi)
				w.StoreShared(w.keys, k, x)
				w.StoreShared(w.positions, k, xi)
				return nil
			}, nil)
		return nil
	})
}
