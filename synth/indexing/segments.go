package indexing

import (
	"fmt"
	"math/bits"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/sorting"
	"nxvk/synth/strided"
)

// fewUpdates is the number of updates up to which a GPU walks them.
const fewUpdates = 256

// segments applies updates that are sorted by slice. Updates of one slice are a segment
// of the sorted list, in their original order. An update of indexed_put is the last of its
// segment. Those of indexed_add are summed in chunks of the list:
//
//	runs    a run is the part of a segment within a chunk. One invocation sums an element
//	        of a run, in order. If the run is the whole segment it adds the sum to the
//	        tensor, and else it stores a partial sum: each chunk has room for its first
//	        and its last run
//	joins   where a segment crosses into a chunk for the first time, one invocation adds
//	        the partial sums of its runs to the tensor, in order
//
// The chunk is about the square root of the number of updates, so the longest chain of
// additions is twice that, even if all updates are of one slice.
type segments struct {
	*scatterJob
	slices  codegen.Buffer // the sorted numbers of slices
	order   codegen.Buffer // where each update came from
	partial codegen.Buffer
	chunk   int // a power of two
}

// The least and the greatest chunk.
const minChunk, maxChunk = 64, 4096

// segmentPlan plans the updates by sorting. programs are the steps before it.
func (j *scatterJob) segmentPlan(t *lowering.Target, temps []int64, programs []*codegen.Program, out ops.Type) (*lowering.Plan, error) {
	size := strided.Product(j.axes) * j.elements
	if j.count*j.elements >= 1<<31 || size >= 1<<31 {
		return nil, lowering.Unsupported("more than 2^31 elements of updates")
	}
	plan, err := codegen.NewPlan(t, temps, programs...)
	if err != nil {
		return nil, err
	}
	sort, err := sorting.Order(j.count, strided.Product(j.axes), t)
	if err != nil {
		return nil, err
	}
	s := &segments{scatterJob: j, chunk: 1 << ((bits.Len(uint(j.count)) + 1) / 2)}
	s.chunk = max(minChunk, min(s.chunk, maxChunk))
	temp := func(elem kernel.Elem, n int) codegen.Buffer {
		plan.Temps = append(plan.Temps, int64((n*elem.Size()+3)/4*4))
		return codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: len(plan.Temps) - 1}, Elem: elem, Bytes: int64(n * elem.Size())}
	}
	s.slices, s.order = temp(kernel.U32, j.count), temp(kernel.U32, j.count)
	plan.Include(sort, []lowering.Ref{j.where.Ref}, []lowering.Ref{s.slices.Ref, s.order.Ref})
	steps := []*codegen.Program{s.lastProgram()}
	if j.add {
		s.partial = temp(lowering.ElemOf[j.toType], 2*s.chunks()*j.elements)
		steps = []*codegen.Program{s.runsProgram(), s.joinsProgram()}
	}
	if j.toType != out.DType {
		steps = append(steps, converted(j.to, j.toType, codegen.ResultBuffer(out.DType), out).Programs(t)...)
	}
	rest, err := codegen.NewPlan(t, plan.Temps, steps...)
	if err != nil {
		return nil, err
	}
	plan.Steps = append(plan.Steps, rest.Steps...)
	return plan, nil
}

func (s *segments) chunks() int { return (s.count + s.chunk - 1) / s.chunk }

// program completes a program of so many invocations.
func (s *segments) program(what string, units int, body func(*segmentWriter, kernel.Value), buffers ...codegen.Buffer) *codegen.Program {
	size := strided.Product(s.axes) * s.elements
	p := &codegen.Program{Index: scalar.U32, Local: codegen.GPULocal, Buffers: buffers,
		Groups: (units + codegen.GPULocal - 1) / codegen.GPULocal, Flops: int64(s.count * s.elements),
		Numbers: []int{units, s.count, s.elements, s.chunk}}
	for i := range p.Buffers {
		if b := &p.Buffers[i]; b.Ref == s.to.Ref {
			b.Bytes = int64(size * b.Elem.Size())
		}
		p.Bytes += min(p.Buffers[i].Bytes, int64(units*p.Buffers[i].Elem.Size()))
	}
	for i, d := range s.axes {
		p.Numbers = append(p.Numbers, d, s.axesAt.Strides[i])
	}
	for i, d := range s.slice {
		p.Numbers = append(p.Numbers, d, s.sliceAt.Strides[i])
	}
	p.Key = fmt.Sprintf("scatter segments %s raw=%v in %v of %v to %v axes=%d slice=%d",
		what, s.raw, s.elem, s.upType, s.toType, len(s.axes), len(s.slice))
	p.Body = func(e *codegen.Emitter) error { return s.write(e, body) }
	return p
}

func with(b codegen.Buffer, access lowering.Access) codegen.Buffer {
	b.Access = access
	return b
}

// lastProgram writes the last update of every segment.
func (s *segments) lastProgram() *codegen.Program {
	return s.program("last", s.count*s.elements, (*segmentWriter).last, with(s.slices, lowering.Read),
		with(s.order, lowering.Read), with(s.updates, lowering.Read), with(s.to, lowering.Write))
}

// runsProgram sums the runs.
func (s *segments) runsProgram() *codegen.Program {
	return s.program("runs", s.count*s.elements, (*segmentWriter).run, with(s.slices, lowering.Read),
		with(s.order, lowering.Read), with(s.updates, lowering.Read), with(s.to, lowering.Read|lowering.Write), with(s.partial, lowering.Write))
}

// joinsProgram adds the sums of segments that cross chunks.
func (s *segments) joinsProgram() *codegen.Program {
	return s.program("joins", max(1, s.chunks()-1)*s.elements, (*segmentWriter).join,
		with(s.slices, lowering.Read), with(s.partial, lowering.Read), with(s.to, lowering.Read|lowering.Write))
}

// segmentWriter writes the kernels of segments.
type segmentWriter struct {
	*codegen.Emitter
	job                 *segments
	operator            *scalar.Func
	count, elements     kernel.Value
	chunk               kernel.Value
	axes, axesStrides   []kernel.Value
	slice, sliceStrides []kernel.Value
	element             kernel.Value // of the invocation
}

// The buffers of the kernels, in order. Those of joins are slices, partial sums, tensor.
const (
	slicesAt = iota
	orderAt
	updatesAt
	tensorAt
	partialAt
)

func (s *segments) write(e *codegen.Emitter, body func(*segmentWriter, kernel.Value)) error {
	w := &segmentWriter{Emitter: e, job: s}
	if s.add {
		var err error
		if w.operator, err = codegen.Expression(e.Target, ops.Add.Info().Code, s.elem, 2, 0); err != nil {
			return err
		}
	}
	units := e.NextNumber()
	w.count, w.elements, w.chunk = e.NextNumber(), e.NextNumber(), e.NextNumber()
	for range s.axes {
		w.axes, w.axesStrides = append(w.axes, e.NextNumber()), append(w.axesStrides, e.NextNumber())
	}
	for range s.slice {
		w.slice, w.sliceStrides = append(w.slice, e.NextNumber()), append(w.sliceStrides, e.NextNumber())
	}
	u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
	e.IfThen(e.IsLess(u, units), func() {
		at, element := e.DivMod(u, w.elements)
		w.element = element
		body(w, at)
	})
	return nil
}

// sliceOf is the slice of update i of the sorted list.
func (w *segmentWriter) sliceOf(i kernel.Value) kernel.Value { return w.Load(slicesAt, i, 1)[0] }

// place is where the tensor has the element of a slice.
func (w *segmentWriter) place(slice kernel.Value) kernel.Value {
	return w.Add(w.Offsets(slice, w.axes, w.axesStrides), w.Offsets(w.element, w.slice, w.sliceStrides))
}

// update is the element of update i of the sorted list, in the type that is summed.
func (w *segmentWriter) update(i kernel.Value) kernel.Value {
	from := w.Load(orderAt, i, 1)[0]
	x := w.Fetch(updatesAt, w.Add(w.Mul(from, w.elements), w.element), 1)[0]
	if w.job.raw {
		return x
	}
	return w.Cast(w.Decode(w.job.upType, x), w.job.upType, w.job.toType)
}

// last writes update i if it is the last of its segment.
func (w *segmentWriter) last(i kernel.Value) {
	slice := w.sliceOf(i)
	next := w.Add(i, w.Index(1))
	ends := w.IsEqual(next, w.count)
	other := w.sliceOf(w.Select(ends, i, next))
	w.IfThen(w.Or2(ends, w.Not(w.IsEqual(other, slice))), func() {
		x := w.update(i)
		if !w.job.raw {
			x = w.Encode(w.job.toType, x)
		}
		w.Store(tensorAt, w.place(slice), x)
	})
}

// run sums the run that begins at update i, if one does.
func (w *segmentWriter) run(i kernel.Value) {
	slice := w.sliceOf(i)
	index, within := w.DivMod(i, w.chunk)
	starts := w.IsEqual(within, w.Index(0))
	before := w.sliceOf(w.Select(w.IsEqual(i, w.Index(0)), i, w.Sub(i, w.Index(1))))
	continues := w.And2(w.IsLess(w.Index(0), i), w.IsEqual(before, slice))
	w.IfThen(w.Or2(starts, w.Not(continues)), func() {
		limit := w.Min(w.count, w.Mul(w.Add(index, w.Index(1)), w.chunk))
		end := w.runEnd(i, limit, slice)
		sum := w.Loop(w.Add(i, w.Index(1)), end, w.Index(1), []kernel.Value{w.update(i)}, func(k kernel.Value, acc []kernel.Value) []kernel.Value {
			return []kernel.Value{w.plus(acc[0], w.update(k))}
		})[0]
		after := w.sliceOf(w.Min(end, w.Sub(w.count, w.Index(1))))
		crosses := w.And2(w.IsLess(end, w.count), w.IsEqual(after, slice))
		whole := w.Not(w.Or2(crosses, continues))
		w.IfThen(whole, func() { w.addTo(slice, tensorAt, sum) })
		w.IfThen(w.Not(whole), func() {
			// The first run of a chunk has the first place, the last one the second.
			at := w.Add(w.Shl(index, 1), w.Select(starts, w.Index(0), w.Index(1)))
			w.Store(partialAt, w.Add(w.Mul(at, w.elements), w.element), w.Encode(w.job.toType, sum))
		})
	})
}

// runEnd is the end of the run of a slice that begins at update i, by bisection.
func (w *segmentWriter) runEnd(i, limit, slice kernel.Value) kernel.Value {
	// Updates below low are of the slice, those from high on are not.
	steps := bits.Len(maxChunk)
	ends := w.Loop(w.Index(0), w.Index(steps), w.Index(1), []kernel.Value{w.Add(i, w.Index(1)), limit}, func(_ kernel.Value, b []kernel.Value) []kernel.Value {
		low, high := b[0], b[1]
		middle := w.Add(low, w.Shr(w.Sub(high, low), 1))
		open := w.IsLess(low, high)
		same := w.And2(open, w.IsEqual(w.sliceOf(w.Select(open, middle, i)), slice))
		return []kernel.Value{w.Select(same, w.Add(middle, w.Index(1)), low), w.Select(w.And2(open, w.Not(same)), middle, high)}
	})
	return ends[0]
}

// join adds the partial sums of the segment that crosses into chunk c + 1 from one that
// begins in chunk c.
func (w *segmentWriter) join(c kernel.Value) {
	const partialSums, tensor = 1, 2
	next := w.Mul(w.Add(c, w.Index(1)), w.chunk)
	w.IfThen(w.IsLess(next, w.count), func() {
		slice := w.sliceOf(next)
		crosses := w.IsEqual(w.sliceOf(w.Sub(next, w.Index(1))), slice)
		first := w.Mul(c, w.chunk)
		fills := w.IsEqual(w.sliceOf(first), slice) // its run is the whole chunk c
		before := w.sliceOf(w.Select(w.IsEqual(first, w.Index(0)), first, w.Sub(first, w.Index(1))))
		earlier := w.And2(fills, w.And2(w.IsLess(w.Index(0), first), w.IsEqual(before, slice)))
		w.IfThen(w.And2(crosses, w.Not(earlier)), func() {
			at := w.Add(w.Shl(c, 1), w.Select(fills, w.Index(0), w.Index(1)))
			last := w.lastChunk(c, slice)
			sum := w.Loop(w.Add(c, w.Index(1)), w.Add(last, w.Index(1)), w.Index(1), []kernel.Value{w.partialSum(partialSums, at)},
				func(k kernel.Value, acc []kernel.Value) []kernel.Value {
					return []kernel.Value{w.plus(acc[0], w.partialSum(partialSums, w.Shl(k, 1)))}
				})[0]
			w.addTo(slice, tensor, sum)
		})
	})
}

// lastChunk is the last chunk that begins with an update of the slice, which chunk c + 1
// does, by bisection.
func (w *segmentWriter) lastChunk(c, slice kernel.Value) kernel.Value {
	chunks := w.Div(w.Add(w.count, w.Sub(w.chunk, w.Index(1))), w.chunk)
	ends := w.Loop(w.Index(0), w.Index(32), w.Index(1), []kernel.Value{w.Add(c, w.Index(2)), chunks}, func(_ kernel.Value, b []kernel.Value) []kernel.Value {
		low, high := b[0], b[1]
		middle := w.Add(low, w.Shr(w.Sub(high, low), 1))
		open := w.IsLess(low, high)
		same := w.And2(open, w.IsEqual(w.sliceOf(w.Mul(w.Select(open, middle, c), w.chunk)), slice))
		return []kernel.Value{w.Select(same, w.Add(middle, w.Index(1)), low), w.Select(w.And2(open, w.Not(same)), middle, high)}
	})
	return w.Sub(ends[0], w.Index(1))
}

func (w *segmentWriter) partialSum(buffer int, at kernel.Value) kernel.Value {
	return w.Decode(w.job.toType, w.Fetch(buffer, w.Add(w.Mul(at, w.elements), w.element), 1)[0])
}

// plus adds two numbers of the type that is summed.
func (w *segmentWriter) plus(x, y kernel.Value) kernel.Value {
	return w.Inline(w.operator, []kernel.Value{x, y})
}

// addTo adds a sum to the element of a slice.
func (w *segmentWriter) addTo(slice kernel.Value, tensor int, sum kernel.Value) {
	at := w.place(slice)
	have := w.Decode(w.job.toType, w.Fetch(tensor, at, 1)[0])
	w.Store(tensor, at, w.Encode(w.job.toType, w.plus(have, sum)))
}
