package sorting

import (
	"fmt"
	"math/bits"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// bitonicLocal is the workgroup of a bitonic network.
const bitonicLocal = 256

// bitonicJob puts rows in order in the memory of a workgroup, several rows if they are short. A row is filled up to
// a power of two with keys that come last. Where few elements are kept, the network sorts runs of as many elements,
// every other one downward, and then merges runs by pairs and drops the later half of each pair (Shanbhag, Pirk and
// Madden, "Efficient top-k query processing on GPUs", 2018).
type bitonicJob struct {
	*sortJob
	size     int // of the network, a power of two
	run      int // elements of a run, a power of two: size if all elements are put in order
	slots    int // invocations of a row
	subgroup int // its size, if each row belongs to one; else 0
}

// The rows of which a network keeps the first elements: up to prunedRow elements, of which runs are prunedPart or less.
const (
	prunedRow  = 1024
	prunedPart = 8
)

// powerOfTwo is the least that is not below n.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }

// prunes reports whether a network keeps the first elements of rows and drops the others on the way.
func (j *sortJob) prunes() bool {
	return j.length <= prunedRow && prunedPart*powerOfTwo(j.keep) <= powerOfTwo(j.length)
}

// inNetwork reports whether rows are put in order by a network where there are other ways.
func (j *sortJob) inNetwork(t *lowering.Target) bool {
	return !t.CPU && j.length > 1 && (j.length <= leastRow || j.prunes()) && j.fitsNetwork(t)
}

// fitsNetwork reports whether the memory of a workgroup has room for a row.
func (j *sortJob) fitsNetwork(t *lowering.Target) bool {
	return j.length <= middleSort && t.MaxInvocations >= bitonicLocal && t.SharedMemory >= middleSort*(kernel.TypeSize(j.keyType())+4)
}

// bitonicProgram is the kernel that sorts rows by a network.
func (j *sortJob) bitonicProgram(t *lowering.Target) *codegen.Program {
	b := &bitonicJob{sortJob: j, size: powerOfTwo(j.length)}
	b.run, b.slots = b.size, min(bitonicLocal, max(1, b.size/2))
	if j.prunes() {
		b.run = powerOfTwo(j.keep)
	}
	if n := t.FixedSubgroup(); b.slots <= n {
		b.subgroup = n
	}
	rows, lg := strided.Product(j.rows), codegen.Log2(b.size)
	p := &codegen.Program{Local: bitonicLocal, Index: scalar.U32, Buffers: j.buffers(),
		Key:    fmt.Sprintf("sort by network of %d runs=%d subgroup=%d %s", b.size, b.run, b.subgroup, j.describe()),
		Groups: (rows + b.rows() - 1) / b.rows(), Body: b.write,
		Flops:   int64(rows) << lg * int64(lg*(lg+1)/2),
		Numbers: append([]int{rows}, j.numbers()...)}
	for _, b := range p.Buffers {
		p.Bytes += b.Bytes
	}
	return p
}

// rows is how many rows a workgroup has.
func (j *bitonicJob) rows() int { return bitonicLocal / j.slots }

// bitonicWriter writes the kernel of a bitonic network.
type bitonicWriter struct {
	*sortPlaces
	job             *bitonicJob
	slot            kernel.Value // of the invocation among those of its row
	first           kernel.Value // place of the row in the shared arrays
	keys, positions int          // shared arrays
}

func (j *bitonicJob) write(e *codegen.Emitter) error {
	rows := e.NextNumber()
	w := &bitonicWriter{sortPlaces: j.places(e), job: j}
	w.keys, w.positions = e.Shared(j.keyType(), j.rows()*j.size), e.Shared(scalar.U32, j.rows()*j.size)
	me := e.Invocation()
	if j.subgroup > 0 {
		e.SetSubgroup(j.subgroup)
		me = e.Add(e.Mul(e.Convert(e.Builtin(kernel.Subgroup), e.IndexType), e.Index(j.subgroup)), e.Convert(e.Builtin(kernel.SubgroupInvocation), e.IndexType))
	}
	row, slot := e.DivMod(me, e.Index(j.slots))
	w.slot, w.first = slot, e.Mul(row, e.Index(j.size))
	// Invocations beyond the last row take part in the barriers: they sort that row
	// again and keep it to themselves.
	r := e.Add(e.Mul(e.Group(), e.Index(j.rows())), row)
	valid := e.IsLess(r, rows)
	r = e.Select(valid, r, e.Sub(rows, e.Index(1)))
	w.load(r)
	w.sortRuns()
	w.mergeRuns()
	w.wait()
	e.IfThen(valid, func() {
		e.For(w.slot, w.keep, e.Index(j.slots), func(i kernel.Value) {
			w.put(1, r, i, e.LoadShared(w.positions, e.Add(w.first, i)))
		})
	})
	return nil
}

// wait waits for the other invocations of the row.
func (w *bitonicWriter) wait() {
	if w.job.subgroup > 0 {
		w.SubgroupBarrier()
		return
	}
	w.Barrier()
}

// each deals the numbers below n out to the invocations of the row.
func (w *bitonicWriter) each(n kernel.Value, body func(i kernel.Value)) {
	if bits, ok := w.IsConst(n); ok && int(bits) == w.job.slots {
		body(w.slot)
		return
	}
	w.For(w.slot, n, w.Index(w.job.slots), body)
}

func (w *bitonicWriter) load(r kernel.Value) {
	base, t := w.row(r), w.job.keyType()
	w.each(w.Index(w.job.size), func(i kernel.Value) {
		key := w.If(w.IsLess(i, w.length),
			func() []kernel.Value { return []kernel.Value{w.key(base, i)} },
			func() []kernel.Value { return []kernel.Value{w.Const(t, ^uint64(0))} })
		w.StoreShared(w.keys, w.Add(w.first, i), key[0])
		w.StoreShared(w.positions, w.Add(w.first, i), i)
	})
}

// sortRuns sorts runs, upward and downward in turn.
func (w *bitonicWriter) sortRuns() {
	lg := codegen.Log2(w.job.run)
	w.Loop(w.Index(0), w.Index(lg*(lg+1)/2), w.Index(1), []kernel.Value{w.Index(2), w.Index(1)},
		func(_ kernel.Value, c []kernel.Value) []kernel.Value {
			block, distance := c[0], c[1]
			w.wait()
			w.each(w.Index(w.job.size/2), func(u kernel.Value) {
				i := w.lower(u, distance)
				up := w.IsEqual(w.Prim(scalar.And, w.IndexType, i, block), w.Index(0))
				w.exchange(i, distance, up)
			})
			last := w.IsEqual(distance, w.Index(1))
			// After the last distance come blocks of twice the size.
			return []kernel.Value{w.Select(last, w.Shl(block, 1), block), w.Select(last, block, w.Shr(distance, 1))}
		})
}

// lower is the lower element of pair u of those that are a distance apart.
func (w *bitonicWriter) lower(u, distance kernel.Value) kernel.Value {
	low := w.Prim(scalar.And, w.IndexType, u, w.Sub(distance, w.Index(1)))
	return w.Add(w.Shl(w.Sub(u, low), 1), low)
}

// mergeRuns merges the runs by pairs, and keeps the first run of each, until one is left. The runs that are kept are
// as far apart as they were.
func (w *bitonicWriter) mergeRuns() {
	lg := codegen.Log2(w.job.run)
	merges := codegen.Log2(w.job.size) - lg
	if merges == 0 {
		return
	}
	w.Loop(w.Index(0), w.Index(merges), w.Index(1), []kernel.Value{w.Index(w.job.run), w.Index(w.job.size / 2)},
		func(_ kernel.Value, c []kernel.Value) []kernel.Value {
			apart, left := c[0], c[1] // distance of the runs, and elements of the runs that are kept
			w.wait()
			w.For(w.slot, left, w.Index(w.job.slots), func(u kernel.Value) {
				w.keepFirst(w.place(w.Shr(u, lg), apart, w.And(u, uint64(w.job.run-1))), apart)
			})
			w.orderRuns(apart, w.Shr(left, 1))
			return []kernel.Value{w.Shl(apart, 1), w.Shr(left, 1)}
		})
}

// place is element i of the pair of runs with a number.
func (w *bitonicWriter) place(pair, apart, i kernel.Value) kernel.Value {
	return w.Add(w.Mul(pair, w.Shl(apart, 1)), i)
}

// orderRuns puts the runs that were kept in order, upward and downward in turn. The elements of each rise and then
// fall, or the other way round.
func (w *bitonicWriter) orderRuns(apart, pairs kernel.Value) {
	lg := codegen.Log2(w.job.run)
	if lg == 0 {
		return
	}
	w.Loop(w.Index(0), w.Index(lg), w.Index(1), []kernel.Value{w.Index(w.job.run / 2)}, func(_ kernel.Value, c []kernel.Value) []kernel.Value {
		w.wait()
		w.For(w.slot, pairs, w.Index(w.job.slots), func(u kernel.Value) {
			run := w.Shr(u, lg-1)
			i := w.place(run, apart, w.lower(w.And(u, uint64(w.job.run/2-1)), c[0]))
			w.exchange(i, c[0], w.IsEqual(w.And(run, 1), w.Index(0)))
		})
		return []kernel.Value{w.Shr(c[0], 1)}
	})
}

// element is the key and the position of element i of the row.
func (w *bitonicWriter) element(i kernel.Value) (key, position kernel.Value) {
	return w.LoadShared(w.keys, w.Add(w.first, i)), w.LoadShared(w.positions, w.Add(w.first, i))
}

// set stores the key and the position of element i of the row.
func (w *bitonicWriter) set(i, key, position kernel.Value) {
	w.StoreShared(w.keys, w.Add(w.first, i), key)
	w.StoreShared(w.positions, w.Add(w.first, i), position)
}

// exchange swaps element i and that at a distance if they are out of order.
func (w *bitonicWriter) exchange(i, distance, up kernel.Value) {
	k := w.Add(i, distance)
	x, xi := w.element(i)
	y, yi := w.element(k)
	w.IfThen(w.IsEqual(w.Convert(before(w.Emitter, y, yi, x, xi), w.IndexType), w.Convert(up, w.IndexType)), func() {
		w.set(i, y, yi)
		w.set(k, x, xi)
	})
}

// keepFirst replaces element i by that at a distance if that comes first.
func (w *bitonicWriter) keepFirst(i, distance kernel.Value) {
	x, xi := w.element(i)
	y, yi := w.element(w.Add(i, distance))
	w.IfThen(before(w.Emitter, y, yi, x, xi), func() { w.set(i, y, yi) })
}
