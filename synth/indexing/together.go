package indexing

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// The levels of few updates are one dispatch: a workgroup has some elements of all updates, its
// columns, and keeps the lists of all levels but the first in shared memory. An invocation has a
// chunk of a list and a column. The sums are those of separate levels, to the last bit.

// together is the shape of that dispatch.
type together struct {
	local, columns, levels int
}

// togetherOf chooses the shape for updates that are ranked.
func (s *segments) togetherOf(t *lowering.Target) (g together) {
	chunks, wide := chunksOf(s.count), 1024
	if kernel.TypeSize(codegen.WideType(s.toType)) == 8 || t.MaxInvocations < wide {
		wide = rankLocal // a value of each invocation fits the shared memory that a ranking takes
	}
	for g.columns = 1; 2*g.columns*chunks <= wide && g.columns < s.elements; {
		g.columns *= 2
	}
	g.local = rankLocal
	if g.columns*chunks > g.local {
		g.local = wide
	}
	g.levels = 1
	for n := s.count; n > chunk; n = 2 * chunksOf(n) {
		g.levels++
	}
	return g
}

func chunksOf(n int) int { return (n + chunk - 1) / chunk }

// sumProgram sums the segments of the sorted list onto the tensor.
func (s *segments) sumProgram(t *lowering.Target) *codegen.Program {
	g := s.togetherOf(t)
	buffers := append([]codegen.Buffer{with(s.slices, lowering.Read), with(s.updates, lowering.Read), with(s.order, lowering.Read)}, s.tensor()...)
	p := s.program(fmt.Sprintf("together levels=%d", g.levels), g.columns, s.count, nil, buffers...)
	p.Local, p.Groups = uint32(g.local), (s.elements+g.columns-1)/g.columns
	p.Bytes = 3 * int64(s.count*s.elements*s.toElem().Size())
	p.Body = func(e *codegen.Emitter) error { return s.writeTogether(e, g) }
	return p
}

// writeTogether writes the walks of all levels.
func (s *segments) writeTogether(e *codegen.Emitter, g together) error {
	w, columns, err := s.writer(e)
	if err != nil {
		return err
	}
	at, column := e.DivMod(e.Invocation(), columns)
	element := e.Add(e.Mul(e.Group(), columns), column)
	active := e.IsLess(element, w.elements)
	w.element = e.Select(active, element, e.Index(0))
	first := &level{segments: s, count: s.count, slices: s.slices, order: &s.order, values: s.updates, of: s.upType}
	list := w.stored(first, 0)
	var rooms [2]sharedList // of odd and even levels
	for n := range g.levels {
		chunks := e.Shr(e.Add(list.count, e.Index(chunk-1)), 4)
		next := entries{}
		if n < g.levels-1 {
			if n < len(rooms) {
				// The list of the second level has two entries a chunk, that of the third less than half as many.
				rooms[n] = sharedList{w.Shared(scalar.U32, 2*mostRanked/chunk+strided.Lanes), w.Shared(codegen.WideType(s.toType), 2*g.local>>n)}
			}
			next = w.share(rooms[n%2], columns, column, &list)
			next.count = e.Shl(chunks, 1)
		}
		e.IfThen(e.And2(active, e.IsLess(at, chunks)), func() {
			(&levelWriter{segmentWriter: w, list: list, tensor: levelOrder + 1}).walk(at)
		})
		e.Barrier()
		list = next
	}
	return nil
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
			for k := range strided.Lanes {
				four = append(four, slice(w.Add(i, w.Index(k))))
			}
			return four
		},
		value: func(i kernel.Value) kernel.Value { return w.LoadShared(to.values, place(i)) }}
}
