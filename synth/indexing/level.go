package indexing

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
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
	buffers = append(buffers, with(l.to, lowering.Read|lowering.Write))
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
// the tensor and the lists of the next level.
const (
	levelSlices = iota
	levelValues
	levelOrder
)

// rest is a buffer behind the lists of the level: 0 is the tensor.
func (w *levelWriter) rest(i int) int {
	if w.level.order != nil {
		i++
	}
	return levelOrder + i
}

// ahead is how many entries are loaded before the first is looked at.
const ahead = 4

// walk sums the runs of a chunk.
func (w *levelWriter) walk(chunk kernel.Value) {
	w.chunk = chunk
	size := w.Index(w.level.chunk)
	first := w.Mul(chunk, size)
	end := w.Min(w.count, w.Add(first, size))
	at := func(i kernel.Value) kernel.Value { return w.Load(levelSlices, i, 1)[0] }
	current := at(first)
	before := at(w.Select(w.IsEqual(first, w.Index(0)), first, w.Sub(first, w.Index(1))))
	w.opens = w.Or2(w.IsEqual(first, w.Index(0)), w.Not(w.IsEqual(before, current)))
	yes, no := w.Int(scalar.U32, 1), w.Int(scalar.U32, 0)
	// Of a run: its slice, its sum, and whether it is the first of the chunk.
	run := w.Loop(first, end, w.Index(ahead), []kernel.Value{current, w.zero(), yes}, func(i kernel.Value, run []kernel.Value) []kernel.Value {
		var slices, values, there [ahead]kernel.Value
		for k := range ahead {
			n := w.Add(i, w.Index(k))
			there[k] = w.IsLess(n, end)
			n = w.Min(n, w.Sub(end, w.Index(1)))
			slices[k], values[k] = at(n), w.value(n)
		}
		for k := range ahead {
			slice, x := w.Select(there[k], slices[k], run[0]), w.Select(there[k], values[k], w.zero())
			ends := w.Not(w.IsEqual(slice, run[0]))
			isFirst := w.IsEqual(run[2], yes)
			w.IfThen(ends, func() {
				whole := w.Or2(w.Not(isFirst), w.opens)
				w.IfThen(whole, func() { w.addTo(run[0], w.rest(0), run[1]) })
				w.IfThen(isFirst, func() { w.pass(0, run[0], w.Select(w.opens, w.zero(), run[1])) })
			})
			run = []kernel.Value{slice, w.Select(ends, x, w.plus(run[1], x)), w.Select(ends, no, run[2])}
		}
		return run
	})
	w.last(run, end)
}

// last ends the last run of a chunk.
func (w *levelWriter) last(run []kernel.Value, end kernel.Value) {
	isFirst := w.IsEqual(run[2], w.Int(scalar.U32, 1))
	after := w.Load(levelSlices, w.Min(end, w.Sub(w.count, w.Index(1))), 1)[0]
	closes := w.Or2(w.IsEqual(end, w.count), w.Not(w.IsEqual(after, run[0])))
	whole := w.And2(closes, w.Or2(w.Not(isFirst), w.opens))
	w.IfThen(whole, func() { w.addTo(run[0], w.rest(0), run[1]) })
	if w.level.nextSlices == nil {
		return
	}
	rest := w.Select(whole, w.zero(), run[1])
	w.IfThen(isFirst, func() { w.pass(0, run[0], rest) })
	w.pass(1, run[0], w.Select(isFirst, w.zero(), rest))
}

// pass gives the next level entry 0 or 1 of the chunk.
func (w *levelWriter) pass(entry int, slice, sum kernel.Value) {
	if w.level.nextSlices == nil {
		return // the first run of the last level is whole
	}
	at := w.Add(w.Shl(w.chunk, 1), w.Index(entry))
	w.IfThen(w.IsEqual(w.element, w.Index(0)), func() { w.Store(w.rest(1), at, slice) })
	w.Store(w.rest(2), w.Add(w.Mul(at, w.elements), w.element), w.Encode(w.level.toType, sum))
}

// value is the element of entry i, in the type that is summed.
func (w *levelWriter) value(i kernel.Value) kernel.Value {
	if w.level.order != nil {
		i = w.Load(levelOrder, i, 1)[0]
	}
	x := w.Fetch(levelValues, w.Add(w.Mul(i, w.elements), w.element), 1)[0]
	return w.Cast(w.Decode(w.level.of, x), w.level.of, w.level.toType)
}

// zero is what changes no sum: of floats the negative one.
func (w *levelWriter) zero() kernel.Value {
	t := codegen.WideType(w.level.toType)
	if kernel.IsFloat(t) {
		return w.Const(t, 1<<(8*kernel.TypeSize(t)-1))
	}
	return w.Const(t, 0)
}
