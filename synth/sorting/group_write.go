package sorting

import (
	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// firstWriter writes the kernel that finds the key of the first element of each group. An
// invocation loads some vectors, or single elements, and a row of invocations has a group.
type firstWriter struct {
	*sortPlaces
	job           *groupJob
	rounds, width int
	base          kernel.Value // of the row
	start         kernel.Value // element of the row that the workgroup begins with
}

func writeFirst(j *groupJob, e *codegen.Emitter) {
	w := &firstWriter{job: j}
	w.rounds, w.width = j.rounds()
	units, spans, groups := e.NextNumber(), e.NextNumber(), e.NextNumber()
	w.sortPlaces = j.places(e)
	group := e.Group()
	active := e.IsLess(group, units) // a workgroup beyond the last does the first one again
	r, span := e.DivMod(e.Select(active, group, e.Index(0)), spans)
	w.base, w.start = w.row(r), e.Mul(span, e.Index(w.rounds*w.width*groupLocal))
	keys := make([]kernel.Value, w.rounds)
	for i := range keys {
		keys[i] = w.load(i)
	}
	line := j.size / w.width
	slot := e.And(e.Invocation(), uint64(line-1))
	keys = w.join(keys, slot, line)
	e.IfThen(e.And2(active, e.IsEqual(slot, e.Index(0))), func() {
		for i, key := range keys {
			at := e.Div(w.element(i), e.Index(j.size))
			e.IfThen(e.IsLess(at, groups), func() { e.Store(1, e.Add(e.Mul(r, groups), at), key) })
		}
	})
}

// element is the first element of the row that the invocation loads in a round.
func (w *firstWriter) element(round int) kernel.Value {
	i := w.Add(w.Index(round*groupLocal), w.Invocation())
	return w.Add(w.start, w.Mul(i, w.Index(w.width)))
}

// load returns the least key of the elements that the invocation loads in a round. Elements
// beyond the row have the greatest key.
func (w *firstWriter) load(round int) kernel.Value {
	first := w.element(round)
	inside := w.IsLess(first, w.length)
	at := w.Add(w.base, w.Select(inside, first, w.Index(0)))
	if w.width > 1 {
		at = w.Shr(at, 2)
	}
	var least kernel.Value
	for i, x := range w.Fetch(0, at, w.width) {
		key := w.job.key(w.Emitter, x)
		if i > 0 {
			key = w.Min(least, key)
		}
		least = key
	}
	t := w.job.keyType()
	return w.Select(inside, least, w.Const(t, lastKey(t)))
}

// writeAlone writes that kernel for an invocation that has a group: component by component of vectors.
func writeAlone(j *groupJob, e *codegen.Emitter) {
	_, width := j.rounds()
	units, groups := e.NextNumber(), e.NextNumber()
	p := j.places(e)
	u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
	e.IfThen(e.IsLess(u, units), func() {
		r, group := e.DivMod(u, groups)
		base, step := p.row(r), e.Index(width)
		start := e.Mul(group, e.Index(j.size))
		end := e.Min(e.Add(start, e.Index(j.size)), p.length)
		least := make([]kernel.Value, width)
		for i := range least {
			least[i] = e.Const(j.keyType(), lastKey(j.keyType()))
		}
		least = e.Loop(start, end, step, least, func(i kernel.Value, least []kernel.Value) []kernel.Value {
			out := make([]kernel.Value, width)
			for component, x := range e.Fetch(0, e.Div(e.Add(base, i), step), width) {
				out[component] = e.Min(least[component], j.key(e, x))
			}
			return out
		})
		for _, key := range least[1:] {
			least[0] = e.Min(least[0], key)
		}
		e.Store(1, u, least[0])
	})
}

// lastKey is the greatest key of a type.
func lastKey(t scalar.Type) uint64 { return ^uint64(0) >> (64 - 8*kernel.TypeSize(t)) }

// join gives slot 0 of each line of invocations the least keys of the line, round by round.
func (w *firstWriter) join(keys []kernel.Value, slot kernel.Value, line int) []kernel.Value {
	array := w.Shared(w.job.keyType(), w.rounds*groupLocal)
	place := func(round, ahead int) kernel.Value {
		return w.Add(w.Invocation(), w.Index(round*groupLocal+ahead))
	}
	for i, key := range keys {
		w.StoreShared(array, place(i, 0), key)
	}
	for left := line; left > 1; {
		w.Barrier()
		n := min(strided.Components, left)
		left /= n
		keys = w.If(w.IsLess(slot, w.Index(left)), func() []kernel.Value {
			out := make([]kernel.Value, len(keys))
			for i, key := range keys {
				for k := 1; k < n; k++ {
					key = w.Min(key, w.LoadShared(array, place(i, k*left)))
				}
				out[i] = key
				w.StoreShared(array, place(i, 0), key)
			}
			return out
		}, func() []kernel.Value { return keys })
	}
	return keys
}

// writeCollect writes the kernel in which a workgroup copies the elements of one of the chosen
// groups. It goes behind those that are before it in the row.
func writeCollect(j *groupJob, e *codegen.Emitter) {
	units, log := e.NextNumber(), e.NextNumber()
	p := j.places(e)
	group, one := e.Group(), e.Index(1)
	active := e.IsLess(group, units)
	r, i := e.DivMod(e.Select(active, group, e.Index(0)), p.keep)
	chosen := e.Mul(r, p.keep)
	number := e.Load(1, e.Add(chosen, i), 1)[0]
	size := e.Prim(scalar.Shl, scalar.U32, one, log)
	first := e.Prim(scalar.Shl, scalar.U32, number, log)
	rank := countBefore(e, chosen, p.keep, number)
	to := e.Prim(scalar.Shl, scalar.U32, e.Add(chosen, rank), log)
	base := p.row(r)
	e.IfThen(active, func() {
		e.For(e.Invocation(), size, e.Index(e.Local), func(k kernel.Value) {
			position := e.Add(first, k)
			inside := e.IsLess(position, p.length)
			x := e.Fetch(0, e.Add(base, e.Select(inside, position, first)), 1)[0]
			t := j.keyType()
			e.Store(2, e.Add(to, k), e.Select(inside, e.Bitcast(x, t), e.Const(t, j.least())))
			e.Store(3, e.Add(to, k), position)
		})
	})
}

// countBefore counts the numbers of buffer 1, n from start on, below one that is the same for
// the workgroup.
func countBefore(e *codegen.Emitter, start, n, number kernel.Value) kernel.Value {
	sum := e.Shared(scalar.U32, 1)
	e.IfThen(e.IsEqual(e.Invocation(), e.Index(0)), func() { e.StoreShared(sum, e.Index(0), e.Index(0)) })
	e.Barrier()
	count := e.Loop(e.Invocation(), n, e.Index(e.Local), []kernel.Value{e.Index(0)}, func(i kernel.Value, count []kernel.Value) []kernel.Value {
		before := e.IsLess(e.Load(1, e.Add(start, i), 1)[0], number)
		return []kernel.Value{e.Add(count[0], e.Convert(before, scalar.U32))}
	})
	e.AddShared(sum, e.Index(0), count[0])
	e.Barrier()
	return e.LoadShared(sum, e.Index(0))
}

// least is the bits of an element that no other comes behind, but for those that are equal.
func (j *groupJob) least() uint64 {
	sign := uint64(1) << (j.from.Bits() - 1)
	switch j.from.Class() {
	case ops.Signed:
		return sign
	case ops.Float:
		return sign | lastNumber(j.from)
	}
	return 0
}
