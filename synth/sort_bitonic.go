package synth

import (
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// bitonicLocal is the workgroup of a bitonic network.
const bitonicLocal = 256

// bitonicProgram sorts rows in the memory of a workgroup. The row is filled up
// to a power of two with keys that come last.
func (j *sortJob) bitonicProgram() *program {
	rows, lg := product(j.rows), log2(j.length)
	p := &program{key: "sort by network " + j.describe(), local: bitonicLocal, index: scalar.U32,
		bufs: append([]buffer{j.operand()}, j.results()...), groups: rows, body: j.writeBitonic,
		flops: int64(rows) << lg * int64(lg*(lg+1)/2),
		nums:  append([]int{rows, 1 << lg, lg * (lg + 1) / 2}, j.numbers()...)}
	for _, b := range p.bufs {
		p.bytes += b.bytes
	}
	return p
}

// bitonicWriter writes the kernel of a bitonic network.
type bitonicWriter struct {
	*sortPlaces
	size            kernel.Value // of the network, a power of two
	keys, positions int          // shared arrays
}

func (j *sortJob) writeBitonic(e *emitter) error {
	rows, size, stages := e.num(), e.num(), e.num()
	w := &bitonicWriter{sortPlaces: j.places(e), size: size}
	w.keys, w.positions = e.Shared(j.keyType(), middleSort), e.Shared(scalar.U32, middleSort)
	// Groups beyond the last row take part in the barriers: they sort that row
	// again and keep it to themselves.
	group := e.group()
	valid := e.Compare(scalar.Lt, group, rows)
	r := e.Select(valid, group, e.Sub(rows, e.int(1)))
	w.load(r)
	e.Loop(e.int(0), stages, e.int(1), []kernel.Value{e.int(2), e.int(1)},
		func(_ kernel.Value, c []kernel.Value) []kernel.Value {
			block, distance := c[0], c[1]
			e.Barrier()
			w.stage(block, distance)
			last := e.Compare(scalar.Eq, distance, e.int(1))
			// After the last distance come blocks of twice the size.
			return []kernel.Value{e.Select(last, e.Shl(block, 1), block),
				e.Select(last, block, e.Shr(distance, 1))}
		})
	e.Barrier()
	e.If(valid, func() []kernel.Value {
		e.Loop(e.invocation(), w.length, e.int(e.local), nil, func(i kernel.Value, _ []kernel.Value) []kernel.Value {
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
	w.Loop(w.invocation(), w.size, w.int(w.local), nil, func(i kernel.Value, _ []kernel.Value) []kernel.Value {
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
	one := w.int(1)
	w.Loop(w.invocation(), w.Shr(w.size, 1), w.int(w.local), nil, func(u kernel.Value, _ []kernel.Value) []kernel.Value {
		low := w.Prim(scalar.And, w.index, u, w.Sub(distance, one))
		i := w.Add(w.Shl(w.Sub(u, low), 1), low)
		k := w.Add(i, distance)
		x, xi := w.LoadShared(w.keys, i), w.LoadShared(w.positions, i)
		y, yi := w.LoadShared(w.keys, k), w.LoadShared(w.positions, k)
		up := w.Compare(scalar.Eq, w.Prim(scalar.And, w.index, i, block), w.int(0))
		w.If(w.Compare(scalar.Eq, w.Convert(w.before(y, yi, x, xi), w.index), w.Convert(up, w.index)),
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
