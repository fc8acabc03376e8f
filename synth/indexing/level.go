package indexing

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// level sums the runs of a list; see segments.
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
func (s *segments) levels(temp func(elem kernel.Elem, n int) codegen.Buffer) (programs []*codegen.Program) {
	l := &level{segments: s, count: s.count, slices: s.slices, order: &s.order, values: s.updates, of: s.upType}
	for {
		chunks := (l.count + s.chunk - 1) / s.chunk
		if chunks == 1 {
			return append(programs, l.program(chunks))
		}
		slices, values := temp(kernel.U32, 2*chunks), temp(lowering.ElemOf[s.toType], 2*chunks*s.elements)
		l.nextSlices, l.nextValues = &slices, &values
		programs = append(programs, l.program(chunks))
		l = &level{segments: s, count: 2 * chunks, slices: slices, values: values, of: s.toType}
	}
}

// program is the kernel of the level.
func (l *level) program(chunks int) *codegen.Program {
	what, buffers := "level", []codegen.Buffer{with(l.slices, lowering.Read), with(l.values, lowering.Read)}
	if l.order != nil {
		what, buffers = "first level", append(buffers, with(*l.order, lowering.Read))
	}
	buffers = append(buffers, with(l.to, lowering.Write))
	if l.nextSlices == nil {
		what = "last " + what
	} else {
		buffers = append(buffers, with(*l.nextSlices, lowering.Write), with(*l.nextValues, lowering.Write))
	}
	p := l.segments.program(fmt.Sprintf("%s of %v", what, l.of), chunks*l.elements, l.count, func(w *segmentWriter, chunk kernel.Value) {
		(&levelWriter{segmentWriter: w, level: l}).walk(chunk)
	}, buffers...)
	p.Bytes, p.Flops = 2*int64(l.count*l.elements*l.toElem().Size()), int64(l.count*l.elements)
	return p
}

// toElem is how sums are stored.
func (s *segments) toElem() kernel.Elem { return lowering.ElemOf[s.toType] }

// levelWriter writes the kernel of a level.
type levelWriter struct {
	*segmentWriter
	level *level
	chunk kernel.Value
	opens kernel.Value // the first run of the chunk is the first of its segment
}

// The buffers of the kernel: these, the order of updates if it is the first level, and then
// the sums of slices and the lists of the next level.
const (
	levelSlices = iota
	levelValues
	levelOrder
)

// rest is a buffer behind the lists of the level: 0 has the sums of slices.
func (w *levelWriter) rest(i int) int {
	if w.level.order != nil {
		i++
	}
	return levelOrder + i
}

// empty marks the slice of an entry of a list that has no sum.
const empty = 1 << 31

// runState is a run of a walk: its slice, its sum, whether it is the first of the chunk,
// and whether it has a sum.
type runState struct{ slice, sum, first, some kernel.Value }

func (s *runState) values() []kernel.Value { return []kernel.Value{s.slice, s.sum, s.first, s.some} }

// slice is the slice of entry i.
func (w *levelWriter) slice(i kernel.Value) kernel.Value {
	return w.And(w.Load(levelSlices, i, 1)[0], empty-1)
}

// walk sums the runs of a chunk. Of the entries, four are loaded before the first is looked at;
// lists have room for whole fours.
func (w *levelWriter) walk(chunk kernel.Value) {
	w.chunk = chunk
	size := w.Index(w.level.chunk)
	first := w.Mul(chunk, size)
	end := w.Min(w.count, w.Add(first, size))
	current := w.slice(first)
	before := w.slice(w.Select(w.IsEqual(first, w.Index(0)), first, w.Sub(first, w.Index(1))))
	w.opens = w.Or2(w.IsEqual(first, w.Index(0)), w.Not(w.IsEqual(before, current)))
	yes, no := w.Int(scalar.U32, 1), w.Int(scalar.U32, 0)
	zero := zeroOf(w.Emitter, w.level.toType)
	run := runState{current, zero, yes, no}
	all := w.Loop(first, end, w.Index(strided.Lanes), run.values(), func(i kernel.Value, vs []kernel.Value) []kernel.Value {
		run := runState{vs[0], vs[1], vs[2], vs[3]}
		four := w.Shr(i, 2)
		slices, order := w.Load(levelSlices, four, strided.Lanes), []kernel.Value(nil)
		if w.level.order != nil {
			order = w.Load(levelOrder, four, strided.Lanes)
		}
		var there, values [strided.Lanes]kernel.Value
		for k := range there {
			n := w.Add(i, w.Index(k))
			there[k] = w.IsLess(n, end)
			n = w.Min(n, w.Sub(end, w.Index(1)))
			if order != nil {
				n = w.Select(there[k], order[k], w.Index(0))
			}
			values[k] = w.value(n)
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
	after := w.slice(w.Min(end, w.Sub(w.count, w.Index(1))))
	closes := w.Or2(w.IsEqual(end, w.count), w.Not(w.IsEqual(after, run.slice)))
	whole := w.And2(closes, w.Or2(w.Not(isFirst), w.opens))
	w.IfThen(w.And2(whole, some), func() { w.put(run) })
	part := w.And2(some, w.Not(whole))
	w.IfThen(isFirst, func() { w.pass(0, run, part) })
	w.pass(1, run, w.And2(part, w.Not(isFirst)))
}

// put stores the sum of a slice.
func (w *levelWriter) put(run runState) {
	w.Store(w.rest(0), w.place(run.slice), w.Encode(w.level.toType, run.sum))
}

// pass gives the next level, if there is one, entry 0 or 1 of the chunk: a run that has a
// sum for it, or has none.
func (w *levelWriter) pass(entry int, run runState, has kernel.Value) {
	if w.level.nextSlices == nil {
		return // all runs of the last level are whole
	}
	at := w.Add(w.Shl(w.chunk, 1), w.Index(entry))
	w.IfThen(w.IsEqual(w.element, w.Index(0)), func() {
		mark := w.Int(scalar.U32, empty)
		w.Store(w.rest(1), at, w.Select(has, run.slice, w.Or(run.slice, mark)))
	})
	w.IfThen(has, func() {
		w.Store(w.rest(2), w.Add(w.Mul(at, w.elements), w.element), w.Encode(w.level.toType, run.sum))
	})
}

// value is the element of a value, in the type that is summed.
func (w *levelWriter) value(i kernel.Value) kernel.Value {
	x := w.Fetch(levelValues, w.Add(w.Mul(i, w.elements), w.element), 1)[0]
	return w.Cast(w.Decode(w.level.of, x), w.level.of, w.level.toType)
}
