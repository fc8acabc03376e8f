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

// segments applies updates that are sorted by slice. Updates of one slice are a segment
// of the sorted list, in their original order. The last update of a segment is the result of
// indexed_put. indexed_add sums a segment in levels:
//
//	A level is a sorted list of slices, with a value each: first of all updates. One
//	invocation walks a chunk of it and sums its runs, for one element of a slice. The sum
//	of a run that is a whole segment is that of the slice. The first and the last run of a
//	chunk may be parts of longer segments: then their sums go to the list of the next
//	level, which has two entries a chunk; those that are not needed are marked (empty).
//	The last level is one chunk. A dispatch has several levels (together). The sum of a
//	segment is added to the tensor, which has been copied before.
//
// So the order of a sum depends on the indices and the number of updates alone. The longest
// chain of additions is a chunk for each level, even if all updates are of one slice.
type segments struct {
	*scatterJob
	slices codegen.Buffer // the sorted numbers of slices
	order  codegen.Buffer // where each update came from
}

// chunk is the number of entries of a list that an invocation walks: few, so that there are many
// walks, and enough that there are few levels.
const chunk = 16

// segmentPlan plans the updates of a GPU: the copy of the tensor, the order of the updates, and what
// the segments give. Few updates are ranked; then indexed_put needs no list.
func (j *scatterJob) segmentPlan(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	if j.count*j.elements >= 1<<31 {
		return nil, lowering.Unsupported("more than 2^31 elements of updates")
	}
	programs, err := j.begin(in, types, t)
	if err != nil {
		return nil, err
	}
	copies := len(programs)
	plan, err := codegen.NewPlan(t, nil, programs...)
	if err != nil {
		return nil, err
	}
	s, ranks := &segments{scatterJob: j}, j.ranks(t)
	if ranks && !j.add {
		plan, err = extend(plan, t, newRanking(j, in, types).lastProgram())
		return j.inPlace(plan, err, in, types, copies)
	}
	if !j.add && j.marks() {
		plan, err = extend(plan, t, j.latestPrograms(in, types, t, temporary(plan, kernel.U32, j.numSlices()))...)
		return j.inPlace(plan, err, in, types, copies)
	}
	if !ranks && j.tallies() {
		plan, err = extend(plan, t, s.tallyPrograms(in, types, func(elem kernel.Elem, n int) codegen.Buffer { return temporary(plan, elem, n) })...)
		return j.inPlace(plan, err, in, types, copies)
	}
	s.slices, s.order = temporary(plan, kernel.U32, j.count), temporary(plan, kernel.U32, j.count)
	switch r := newRanking(j, in, types); {
	case ranks:
		_, err = extend(plan, t, r.orderProgram(s.slices, s.order))
	case j.merges(t):
		slices, order := temporary(plan, kernel.U32, j.count), temporary(plan, kernel.U32, j.count)
		_, err = extend(plan, t, r.orderProgram(slices, order), r.mergeProgram(slices, order, s.slices, s.order))
	default:
		err = s.sort(plan, in, types, t)
	}
	if err != nil {
		return nil, err
	}
	if j.add {
		plan, err = extend(plan, t, s.levels(t, func(elem kernel.Elem, n int) codegen.Buffer { return temporary(plan, elem, n) })...)
	} else {
		plan, err = extend(plan, t, s.lastProgram())
	}
	return j.inPlace(plan, err, in, types, copies)
}

// sort adds the order of many updates to a plan.
func (s *segments) sort(plan *lowering.Plan, in *ops.Instr, types []ops.Type, t *lowering.Target) error {
	s.where = temporary(plan, kernel.U32, s.count)
	if _, err := extend(plan, t, s.positions(in, types, in.Attrs[0]).Programs(t)...); err != nil {
		return err
	}
	sort, err := sorting.Order(s.count, strided.Product(s.axes), t)
	if err != nil {
		return err
	}
	plan.Include(sort, []lowering.Ref{s.where.Ref}, []lowering.Ref{s.slices.Ref, s.order.Ref})
	return nil
}

// temporary adds a temporary of so many elements to a plan. It has room for whole fours.
func temporary(p *lowering.Plan, elem kernel.Elem, n int) codegen.Buffer {
	n = (n + strided.Components - 1) / strided.Components * strided.Components
	p.Temps = append(p.Temps, int64(n*elem.Size()))
	return codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: len(p.Temps) - 1}, Elem: elem, Bytes: int64(n * elem.Size())}
}

// extend appends programs to a plan.
func extend(plan *lowering.Plan, t *lowering.Target, programs ...*codegen.Program) (*lowering.Plan, error) {
	rest, err := codegen.NewPlan(t, plan.Temps, programs...)
	if err != nil {
		return nil, err
	}
	plan.Steps = append(plan.Steps, rest.Steps...)
	return plan, nil
}

// zeroOf is what changes no sum: of floats the negative zero.
func zeroOf(e *codegen.Emitter, d ops.DType) kernel.Value {
	t := codegen.WideType(d)
	if kernel.IsFloat(t) {
		return e.Const(t, 1<<(8*kernel.TypeSize(t)-1))
	}
	return e.Const(t, 0)
}

// program completes a program of so many invocations.
func (s *segments) program(what string, units, count int, body func(*segmentWriter, kernel.Value), buffers ...codegen.Buffer) *codegen.Program {
	size := s.size()
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
	p.Key = fmt.Sprintf("scatter segments %s raw=%v in %v of %v, sums of %v onto %v to %v axes=%d slice=%d",
		what, s.raw, s.elem, s.upType, s.toType, s.fromType, s.outType, len(s.axes), len(s.slice))
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

// write has an invocation for each unit: an entry or a chunk of a list, and an element.
func (s *segments) write(e *codegen.Emitter, body func(*segmentWriter, kernel.Value)) error {
	w, units, err := s.writer(e)
	if err != nil {
		return err
	}
	u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
	e.IfThen(e.IsLess(u, units), func() {
		at, element := e.DivMod(u, w.elements)
		w.element = element
		body(w, at)
	})
	return nil
}

// writer takes the numbers of a kernel, the first of which is the number of its units.
func (s *segments) writer(e *codegen.Emitter) (w *segmentWriter, units kernel.Value, err error) {
	w = &segmentWriter{Emitter: e, job: s}
	if s.add {
		if w.operator, err = codegen.Expression(e.Target, ops.Add.Info().Code, s.elem, 2, 0); err != nil {
			return nil, units, err
		}
	}
	units = e.NextNumber()
	w.count, w.elements = e.NextNumber(), e.NextNumber()
	w.axes, w.axesStrides = pairs(e, len(s.axes))
	w.slice, w.sliceStrides = pairs(e, len(s.slice))
	return w, units, nil
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
