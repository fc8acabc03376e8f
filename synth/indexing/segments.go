package indexing

import (
	"fmt"

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
// segment. Those of indexed_add are summed in levels:
//
//	A level is a sorted list of slices, with a value each: first of all updates. One
//	invocation walks a chunk of it and sums its runs, for one element of a slice. A run
//	that is a whole segment is added to the tensor. The first and the last run of a chunk
//	may be parts of longer segments: then their sums go to the list of the next level,
//	which has two entries a chunk, and zeros in place of sums that are not needed. The
//	last level is one chunk.
//
// So the order of a sum depends on the indices, the number of updates and the number of
// elements of a slice alone. The longest chain of additions is a chunk for each level,
// even if all updates are of one slice.
type segments struct {
	*scatterJob
	slices codegen.Buffer // the sorted numbers of slices
	order  codegen.Buffer // where each update came from
	chunk  int            // a power of two
}

// The chunks of lists with few elements, which are many, and of others.
const (
	shortChunk, longChunk = 16, 32
	fewElements           = 1 << 20
)

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
	s := &segments{scatterJob: j, chunk: longChunk}
	if j.count*j.elements < fewElements {
		s.chunk = shortChunk
	}
	temp := func(elem kernel.Elem, n int) codegen.Buffer {
		plan.Temps = append(plan.Temps, int64((n*elem.Size()+3)/4*4))
		return codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: len(plan.Temps) - 1}, Elem: elem, Bytes: int64(n * elem.Size())}
	}
	s.slices, s.order = temp(kernel.U32, j.count), temp(kernel.U32, j.count)
	plan.Include(sort, []lowering.Ref{j.where.Ref}, []lowering.Ref{s.slices.Ref, s.order.Ref})
	steps := []*codegen.Program{s.lastProgram()}
	if j.add {
		steps = s.levels(temp)
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

// program completes a program of so many invocations.
func (s *segments) program(what string, units, count int, body func(*segmentWriter, kernel.Value), buffers ...codegen.Buffer) *codegen.Program {
	size := strided.Product(s.axes) * s.elements
	p := &codegen.Program{Index: scalar.U32, Local: codegen.GPULocal, Buffers: buffers,
		Groups: (units + codegen.GPULocal - 1) / codegen.GPULocal, Flops: int64(s.count * s.elements),
		Numbers: []int{units, count, s.elements}}
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
	p.Key = fmt.Sprintf("scatter segments %s chunk=%d raw=%v in %v of %v to %v axes=%d slice=%d",
		what, s.chunk, s.raw, s.elem, s.upType, s.toType, len(s.axes), len(s.slice))
	p.Body = func(e *codegen.Emitter) error { return s.write(e, body) }
	return p
}

func with(b codegen.Buffer, access lowering.Access) codegen.Buffer {
	b.Access = access
	return b
}

// lastProgram writes the last update of every segment.
func (s *segments) lastProgram() *codegen.Program {
	return s.program("last", s.count*s.elements, s.count, (*segmentWriter).last, with(s.slices, lowering.Read),
		with(s.order, lowering.Read), with(s.updates, lowering.Read), with(s.to, lowering.Write))
}

// segmentWriter writes the kernels of segments.
type segmentWriter struct {
	*codegen.Emitter
	job                 *segments
	operator            *scalar.Func
	count, elements     kernel.Value
	axes, axesStrides   []kernel.Value
	slice, sliceStrides []kernel.Value
	element             kernel.Value // of the invocation
}

// The buffers of the kernel of indexed_put, in order.
const (
	slicesAt = iota
	orderAt
	updatesAt
	tensorAt
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
	w.count, w.elements = e.NextNumber(), e.NextNumber()
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
