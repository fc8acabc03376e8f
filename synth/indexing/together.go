package indexing

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// together is how a dispatch sums several levels: a workgroup has some elements of updates, its columns,
// and a part of the list. An invocation has a chunk and a column. The lists of all levels but the
// first are in shared memory, where those of the part end in one chunk. If the list has several parts,
// that chunk passes its first and last run to the list of the next dispatch.
type together struct {
	local, columns int
	chunks, parts  int // of a part, of the list
	levels         int
}

// wideColumns are neighbouring elements, so that subgroups load whole lines.
const wideColumns = 32

// togetherOf chooses the shape of a dispatch. Lists that a ranking makes have one part.
func (l *level) togetherOf(t *lowering.Target) (g together) {
	chunks, wide := chunksOf(l.count), 1024
	if kernel.TypeSize(codegen.WideType(l.toType)) == 8 || t.MaxInvocations < wide {
		wide = rankLocal // a value of each invocation fits the shared memory that a ranking takes
	}
	for g.columns = 1; 2*g.columns*chunks <= wide && g.columns < l.elements; {
		g.columns *= 2
	}
	g.local, g.chunks, g.parts = rankLocal, chunks, 1
	switch {
	case l.count > mostRanked:
		for g.columns < min(l.elements, wideColumns) {
			g.columns *= 2
		}
		g.chunks = g.local / g.columns
		g.parts = (chunks + g.chunks - 1) / g.chunks
	case g.columns*chunks > g.local:
		g.local = wide
	}
	g.levels = 1
	for n := min(l.count, chunk*g.chunks); n > chunk; n = 2 * chunksOf(n) {
		g.levels++
	}
	return g
}

func chunksOf(n int) int { return (n + chunk - 1) / chunk }

// program is the dispatch.
func (l *level) program(g together) *codegen.Program {
	buffers := []codegen.Buffer{with(l.slices, lowering.Read), with(l.values, lowering.Read)}
	if l.order != nil {
		buffers = append(buffers, with(*l.order, lowering.Read))
	}
	tensor := len(buffers)
	buffers = append(buffers, l.tensor()...)
	next := len(buffers)
	if l.nextSlices != nil {
		buffers = append(buffers, with(*l.nextSlices, lowering.Write), with(*l.nextValues, lowering.Write))
	}
	what := fmt.Sprintf("%d levels of %v ordered=%v last=%v", g.levels, l.of, l.order != nil, l.nextSlices == nil)
	p := l.segments.program(what, g.columns, l.count, nil, buffers...)
	blocks := (l.elements + g.columns - 1) / g.columns
	p.Local, p.Groups, p.Numbers = uint32(g.local), blocks*g.parts, append(p.Numbers, blocks, g.chunks, g.parts)
	p.Bytes, p.Flops = 2*int64(l.count*l.elements*l.toElem().Size()), int64(l.count*l.elements)
	p.Body = func(e *codegen.Emitter) error { return l.write(e, g, tensor, next) }
	return p
}

// write writes the walks of all levels.
func (l *level) write(e *codegen.Emitter, g together, tensor, next int) error {
	w, columns, err := l.writer(e)
	if err != nil {
		return err
	}
	blocks, most, parts := e.NextNumber(), e.NextNumber(), e.NextNumber()
	at, column := e.DivMod(e.Invocation(), columns)
	part, block := e.DivMod(e.Group(), blocks)
	element := e.Add(e.Mul(block, columns), column)
	active := e.And2(e.IsLess(element, w.elements), e.IsLess(part, parts))
	w.element = e.Select(active, element, e.Index(0))
	part = e.Min(part, e.Sub(parts, e.Index(1)))
	list := w.stored(l)
	first := e.Mul(part, most)
	chunks := e.Min(most, e.Sub(e.Shr(e.Add(list.count, e.Index(chunk-1)), 4), first))
	before, after := w.beside(&list, first, chunks)
	number := e.Add(first, at) // of the chunk, in its list
	var rooms [2]sharedList    // of odd and even levels
	for n := range g.levels {
		var rest entries
		to := at
		switch {
		case n < g.levels-1:
			if n < len(rooms) {
				// The list of the second level has two entries a chunk, that of the third less than half as many.
				rooms[n] = sharedList{w.Shared(scalar.U32, 2*mostRanked/chunk+strided.Components), w.Shared(codegen.WideType(l.toType), 2*g.local>>n)}
			}
			rest = w.share(rooms[n%2], columns, column, &list)
			rest.count, rest.before, rest.after = e.Shl(chunks, 1), before, after
		case l.nextSlices != nil:
			list.pass, to = w.passTo(next), part
		}
		e.IfThen(e.And2(active, e.IsLess(at, chunks)), func() {
			(&levelWriter{segmentWriter: w, list: list, tensor: tensor}).walk(number, to)
		})
		e.Barrier()
		if n < g.levels-1 {
			list, number = rest, at
			chunks = e.Shr(e.Add(list.count, e.Index(chunk-1)), 4)
		}
	}
	return nil
}

// beside is the slices of the entries before and after the chunks of a part.
func (w *segmentWriter) beside(list *entries, first, chunks kernel.Value) (before, after kernel.Value) {
	none, from := w.Index(noSlice), w.Shl(first, 4)
	end := w.Add(from, w.Shl(chunks, 4))
	begins, ends := w.IsEqual(from, w.Index(0)), w.Not(w.IsLess(end, list.count))
	slice := func(i kernel.Value) kernel.Value { return w.And(list.slice(i), empty-1) }
	before = w.Select(begins, none, slice(w.Select(begins, from, w.Sub(from, w.Index(1)))))
	after = w.Select(ends, none, slice(w.Select(ends, from, end)))
	return before, after
}

// sharedList are the arrays of a list in shared memory.
type sharedList struct{ slices, values int }

// share has what a level passes go to a list in shared memory, and gives that list.
func (w *segmentWriter) share(to sharedList, columns, column kernel.Value, from *entries) entries {
	place := func(i kernel.Value) kernel.Value { return w.Add(w.Mul(i, columns), column) }
	from.pass = func(at, slice, has, sum kernel.Value) {
		w.IfThen(w.IsEqual(column, w.Index(0)), func() { w.StoreShared(to.slices, at, slice) })
		w.IfThen(has, func() { w.StoreShared(to.values, place(at), sum) })
	}
	slice := func(i kernel.Value) kernel.Value { return w.LoadShared(to.slices, i) }
	return entries{slice: slice,
		slices: func(i kernel.Value) (four []kernel.Value) {
			for k := range strided.Components {
				four = append(four, slice(w.Add(i, w.Index(k))))
			}
			return four
		},
		value: func(i kernel.Value) kernel.Value { return w.LoadShared(to.values, place(i)) }}
}
