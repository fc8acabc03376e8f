package indexing

import (
	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// level sums the runs of a list, and of what is left of it, in one dispatch; see segments and together.
type level struct {
	*segments
	count  int
	slices codegen.Buffer
	order  *codegen.Buffer // of the updates, at the first level; nil at others
	values codegen.Buffer
	of     ops.DType // of values

	nextSlices, nextValues *codegen.Buffer // of the next level; nil at the last
}

// levels plans the levels of a sum. temp makes a temporary.
func (s *segments) levels(t *lowering.Target, temp func(elem kernel.Elem, n int) codegen.Buffer) (programs []*codegen.Program) {
	l := &level{segments: s, count: s.count, slices: s.slices, order: &s.order, values: s.updates, of: s.upType}
	for {
		g := l.togetherOf(t)
		if g.parts == 1 {
			return append(programs, l.program(g))
		}
		slices, values := temp(kernel.U32, 2*g.parts), temp(lowering.ElemOf[s.toType], 2*g.parts*s.elements)
		l.nextSlices, l.nextValues = &slices, &values
		programs = append(programs, l.program(g))
		l = &level{segments: s, count: 2 * g.parts, slices: slices, values: values, of: s.toType}
	}
}

// tensor are the buffers of the tensor: it has been copied, and has another type before that or not.
func (s *segments) tensor() []codegen.Buffer {
	list := []codegen.Buffer{with(s.to, lowering.Read|lowering.Write)}
	if s.fromType != s.outType {
		x := codegen.BufferOf(lowering.Ref{Kind: lowering.Operand, Index: 0}, s.fromType)
		x.Bytes = int64(s.size() * x.Elem.Size())
		list = append(list, with(x, lowering.Read))
	}
	return list
}

// toElem is how sums are stored.
func (s *segments) toElem() kernel.Elem { return lowering.ElemOf[s.toType] }

// entries are a list of a level in a kernel, and the way to that of the next level.
type entries struct {
	count  kernel.Value
	slice  func(i kernel.Value) kernel.Value   // of entry i
	slices func(i kernel.Value) []kernel.Value // of the four entries from i on, which is a multiple of four
	order  func(i kernel.Value) []kernel.Value // where their values are; nil: where they are
	value  func(i kernel.Value) kernel.Value
	pass   func(at, slice kernel.Value, has kernel.Value, sum kernel.Value) // nil at the last level

	before, after kernel.Value // the slices of the entries before and after those of the list, or noSlice
}

// The buffers of the lists, in order.
const (
	levelSlices = iota
	levelValues
	levelOrder
)

// stored is the list that buffers have.
func (w *segmentWriter) stored(l *level) entries {
	list := entries{count: w.count, before: w.Index(noSlice), after: w.Index(noSlice),
		slice:  func(i kernel.Value) kernel.Value { return w.Load(levelSlices, i, 1)[0] },
		slices: func(i kernel.Value) []kernel.Value { return w.Load(levelSlices, w.Shr(i, 2), strided.Components) },
		value: func(i kernel.Value) kernel.Value {
			x := w.Fetch(levelValues, w.Add(w.Mul(i, w.elements), w.element), 1)[0]
			return w.Cast(w.Decode(l.of, x), l.of, l.toType)
		}}
	if l.order != nil {
		list.order = func(i kernel.Value) []kernel.Value { return w.Load(levelOrder, w.Shr(i, 2), strided.Components) }
	}
	return list
}

// passTo gives the next level its entries, in buffers from next on.
func (w *segmentWriter) passTo(next int) func(at, slice, has, sum kernel.Value) {
	return func(at, slice, has, sum kernel.Value) {
		w.IfThen(w.IsEqual(w.element, w.Index(0)), func() { w.Store(next, at, slice) })
		w.IfThen(has, func() {
			w.Store(next+1, w.Add(w.Mul(at, w.elements), w.element), w.Encode(w.job.toType, sum))
		})
	}
}

// levelWriter writes the walk of a level.
type levelWriter struct {
	*segmentWriter
	list   entries
	tensor int          // the first buffer of the tensor
	to     kernel.Value // the number of the chunk among those that pass entries to the same list
	opens  kernel.Value // the first run of the chunk is the first of its segment
}

// empty marks the slice of an entry of a list that has no sum.
const empty = 1 << 31

// runState is a run of a walk: its slice, its sum, whether it is the first of the chunk,
// and whether it has a sum.
type runState struct{ slice, sum, first, some kernel.Value }

func (s *runState) values() []kernel.Value { return []kernel.Value{s.slice, s.sum, s.first, s.some} }

// slice is the slice of entry i.
func (w *levelWriter) slice(i kernel.Value) kernel.Value { return w.And(w.list.slice(i), empty-1) }

// walk sums the runs of a chunk. Of the entries, four are loaded before the first is looked at;
// lists have room for whole fours.
func (w *levelWriter) walk(at, to kernel.Value) {
	w.to = to
	size := w.Index(chunk)
	first := w.Mul(at, size)
	end := w.Min(w.list.count, w.Add(first, size))
	current := w.slice(first)
	begins := w.IsEqual(first, w.Index(0))
	before := w.Select(begins, w.list.before, w.slice(w.Select(begins, first, w.Sub(first, w.Index(1)))))
	w.opens = w.Not(w.IsEqual(before, current))
	yes, no := w.Int(scalar.U32, 1), w.Int(scalar.U32, 0)
	zero := zeroOf(w.Emitter, w.job.toType)
	run := runState{current, zero, yes, no}
	all := w.Loop(first, end, w.Index(strided.Components), run.values(), func(i kernel.Value, vs []kernel.Value) []kernel.Value {
		run := runState{vs[0], vs[1], vs[2], vs[3]}
		slices, order := w.list.slices(i), []kernel.Value(nil)
		if w.list.order != nil {
			order = w.list.order(i)
		}
		var there, values [strided.Components]kernel.Value
		for k := range there {
			n := w.Add(i, w.Index(k))
			there[k] = w.IsLess(n, end)
			n = w.Min(n, w.Sub(end, w.Index(1)))
			if order != nil {
				n = w.Select(there[k], order[k], w.Index(0))
			}
			values[k] = w.list.value(n)
		}
		for k := range there {
			run = w.step(run, there[k], slices[k], values[k], zero)
		}
		return run.values()
	})
	w.last(runState{all[0], all[1], all[2], all[3]}, end, zero)
}

// step takes an entry, if it is there, into the run, or ends that and begins the next one.
func (w *levelWriter) step(run runState, there, entry, x, zero kernel.Value) runState {
	yes, no := w.Int(scalar.U32, 1), w.Int(scalar.U32, 0)
	slice := w.Select(there, w.And(entry, empty-1), run.slice)
	has := w.And2(there, w.IsLess(entry, w.Int(scalar.U32, empty)))
	x = w.Select(has, x, zero)
	ends := w.Not(w.IsEqual(slice, run.slice))
	isFirst, some := w.IsEqual(run.first, yes), w.IsEqual(run.some, yes)
	w.IfThen(ends, func() {
		whole := w.Or2(w.Not(isFirst), w.opens)
		w.IfThen(w.And2(whole, some), func() { w.put(run) })
		w.IfThen(isFirst, func() { w.pass(0, run, w.And2(some, w.Not(w.opens))) })
	})
	more := w.Select(has, yes, run.some)
	return runState{slice, w.Select(ends, x, w.plus(run.sum, x)), w.Select(ends, no, run.first),
		w.Select(ends, w.Select(has, yes, no), more)}
}

// last ends the last run of a chunk.
func (w *levelWriter) last(run runState, end, zero kernel.Value) {
	yes := w.Int(scalar.U32, 1)
	isFirst, some := w.IsEqual(run.first, yes), w.IsEqual(run.some, yes)
	after := w.slice(w.Min(end, w.Sub(w.list.count, w.Index(1))))
	closes := w.Not(w.IsEqual(w.Select(w.IsEqual(end, w.list.count), w.list.after, after), run.slice))
	whole := w.And2(closes, w.Or2(w.Not(isFirst), w.opens))
	w.IfThen(w.And2(whole, some), func() { w.put(run) })
	part := w.And2(some, w.Not(whole))
	w.IfThen(isFirst, func() { w.pass(0, run, part) })
	w.pass(1, run, w.And2(part, w.Not(isFirst)))
}

// put adds the sum of a slice to the tensor.
func (w *levelWriter) put(run runState) {
	j, at, from := w.job, w.place(run.slice), w.tensor
	if j.fromType != j.outType {
		from++
	}
	have := w.Cast(w.Decode(j.fromType, w.Fetch(from, at, 1)[0]), j.fromType, j.toType)
	w.Store(w.tensor, at, w.Encode(j.outType, w.Cast(w.plus(have, run.sum), j.toType, j.outType)))
}

// pass gives the next level, if there is one, entry 0 or 1 of the chunk: a run that has a
// sum for it, or has none.
func (w *levelWriter) pass(entry int, run runState, has kernel.Value) {
	if w.list.pass == nil {
		return // all runs of the last level are whole
	}
	mark := w.Int(scalar.U32, empty)
	w.list.pass(w.Add(w.Shl(w.to, 1), w.Index(entry)), w.Select(has, run.slice, w.Or(run.slice, mark)), has, run.sum)
}
