package indexing

import (
	"fmt"
	"math/bits"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/elementwise"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/movement"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// scatterJob writes updates over slices of a tensor, or adds them. Results do not depend on
// the device's timing. These are the algorithms:
//
//	atomics   on GPUs, where the order of sums does not matter; see accumulation
//	segments  on GPUs: updates are sorted by slice, and each slice is one run of the
//	          sorted list; see segments, and ranking for few updates
//	latest    indexed_put on GPUs, if there are many updates
//	tally     indexed_add on GPUs, if there are many updates of few elements
//	walk      on processors: each invocation owns an element of some slices, walks all
//	          updates and applies those of its slices, in their order. Slices are dealt out
//	          to parts: part p has the slices p, p+parts, p+2*parts, …
type scatterJob struct {
	add      bool
	elem     ops.DType // the type that adds
	raw      bool      // words are moved as they are
	upType   ops.DType
	toType   ops.DType // in which updates are summed
	outType  ops.DType
	fromType ops.DType      // of the tensor before its updates
	where    codegen.Buffer // the number of the slice of each update
	updates  codegen.Buffer
	to       codegen.Buffer
	count    int   // updates
	axes     []int // how many slices there are along each axis
	axesAt   strided.View
	slice    []int // the dimensions of a slice
	sliceAt  strided.View
	elements int // of a slice
	parts    int
}

// The cost of a walk is bounded: the updates of a dispatch, the updates times the
// invocations of a dispatch, and the same product over all dispatches.
const (
	ScatterLength   = 1 << 18
	scatterDispatch = 1 << 31
	scatterWork     = 1 << 37
	cpuScatter      = codegen.CPULocal // one workgroup: each further one reads all updates again
)

// LowerUpdate plans updates of slices at positions: the tensor, the numbers of
// the slices, and the walk. Sums of narrow floats are rounded once, at the end.
func LowerUpdate(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	p, err := lowerUpdate(in, types, t)
	return checked(in, p, err)
}

func lowerUpdate(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	out, axes := in.Outs[0].Type, in.Attrs[0]
	j := &scatterJob{add: in.Op == ops.IndexedAdd, elem: out.DType, upType: types[2].DType, toType: out.DType,
		outType: out.DType, fromType: types[0].DType,
		count: types[1].Shape[0], to: codegen.ResultBuffer(out.DType),
		updates: codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Operand, Index: 2}, Elem: lowering.ElemOf[types[2].DType], Bytes: int64(types[2].Bytes())}}
	for _, o := range in.Ins {
		if o.Lit != nil {
			return nil, lowering.Unsupported("a literal operand")
		}
	}
	word, words := codegen.WordsOf(t, out.DType.Size())
	j.raw = !j.add && words == 1 && types[0].DType == out.DType && types[2].DType == out.DType
	if j.raw {
		j.to.Elem, j.updates.Elem = word, word
	} else if err := codegen.CheckReal(types[0].DType, types[2].DType, out.DType); err != nil {
		return nil, err
	}
	if j.accumulates(t) && out.Size() < 1<<31 {
		return j.accumulate(in, types, t)
	}
	if _, narrow := codegen.Formats[out.DType]; j.add && narrow {
		j.toType = ops.F32
	}
	j.split(types[0].Shape, axes)
	if out.Size() >= 1<<31 || j.count >= 1<<31 {
		return nil, lowering.Unsupported("more than 2^31 elements")
	}
	if !t.CPU {
		return j.segmentPlan(in, types, t)
	}
	var temps []int64
	temp := func(d ops.DType, n int) codegen.Buffer {
		temps = append(temps, int64(n*d.Size()))
		return codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: len(temps) - 1}, Elem: lowering.ElemOf[d]}
	}
	j.where = temp(ops.U32, j.count)
	if j.toType != out.DType {
		j.to = temp(j.toType, out.Size())
	}
	if err := j.deal(); err != nil {
		return nil, err
	}
	programs, err := j.begin(in, types, t)
	if err != nil {
		return nil, err
	}
	copies := len(programs)
	programs = append(programs, j.positions(in, types, axes).Programs(t)...)
	programs = append(programs, j.walks()...)
	if j.toType != out.DType {
		programs = append(programs, converted(j.to, j.toType, codegen.ResultBuffer(out.DType), out).Programs(t)...)
	}
	p, err := codegen.NewPlan(t, temps, programs...)
	return j.inPlace(p, err, in, types, copies)
}

// inPlace marks a plan whose first steps copy the tensor into the result.
func (j *scatterJob) inPlace(p *lowering.Plan, err error, in *ops.Instr, types []ops.Type, copies int) (*lowering.Plan, error) {
	if err != nil || j.to.Ref.Kind != lowering.Result {
		return p, err
	}
	return p.Updates(in, 0, types[0], copies), nil
}

// split divides the dimensions of the tensor into axes and those of a slice.
func (j *scatterJob) split(s ops.Shape, axes []int) {
	at, rest := apart(s.Strides(), axes)
	j.axes, j.slice = apart(s, axes)
	j.axesAt, j.sliceAt = strided.View{Strides: at}, strided.View{Strides: rest}
	j.elements = strided.Product(j.slice)
	j.axes = strided.Collapse(j.axes, []*strided.View{&j.axesAt})
	j.slice = strided.Collapse(j.slice, []*strided.View{&j.sliceAt})
}

// size is how many elements the tensor has.
func (j *scatterJob) size() int { return strided.Product(j.axes) * j.elements }

// deal chooses the number of parts, a power of two.
func (j *scatterJob) deal() error {
	want := max(1, min(cpuScatter/j.elements, strided.Product(j.axes)))
	j.parts = 1 << (bits.Len(uint(want)) - 1)
	if j.count > scatterWork/(j.parts*j.elements) {
		return lowering.Unsupported("%d updates of %d elements", j.count, j.elements)
	}
	return nil
}

// begin plans the tensor before its updates.
func (j *scatterJob) begin(in *ops.Instr, types []ops.Type, t *lowering.Target) ([]*codegen.Program, error) {
	s := types[0].Shape
	if j.to.Ref.Kind == lowering.Result {
		return movement.Move{Dims: s, Operand: 0, In: strided.Dense(s), Out: strided.Dense(s)}.Programs(in, types, t)
	}
	from := codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Operand, Index: 0}, Elem: lowering.ElemOf[types[0].DType]}
	return converted(from, types[0].DType, j.to, ops.Type{DType: j.toType, Shape: s}).Programs(t), nil
}

// converted copies a whole tensor to one of another type.
func converted(from codegen.Buffer, d ops.DType, to codegen.Buffer, out ops.Type) *elementwise.Job {
	s := codegen.Source{View: strided.Dense(out.Shape), Buffer: from}
	return &elementwise.Job{Key: fmt.Sprintf("move %v to %v", d, out.DType), Dims: out.Shape,
		Sources: []codegen.Source{s}, Out: strided.Dense(out.Shape), Result: to,
		Body: func(e *codegen.Emitter, xs []kernel.Value) (kernel.Value, error) {
			return e.Encode(out.DType, e.Read(&s, d, out.DType, xs[0])), nil
		}}
}

// positions numbers the slice of each update, in row-major order of the axes.
func (j *scatterJob) positions(in *ops.Instr, types []ops.Type, axes []int) *elementwise.Job {
	m := &elementwise.Job{Key: "slice", Dims: []int{j.count}, Out: strided.View{Strides: []int{1}}, Result: j.where,
		Body: func(e *codegen.Emitter, xs []kernel.Value) (kernel.Value, error) {
			return e.Convert(xs[len(xs)-1], scalar.U32), nil
		}}
	sizes, _ := apart(types[0].Shape, axes)
	number := codegen.IndexSource([]int{0})
	for k, stride := range ops.Shape(sizes).Strides() {
		at := strided.View{Offset: k, Strides: []int{len(axes)}}
		m.Sources = append(m.Sources, codegen.IndexOperand(in, types, 1, at))
		number.Shifts = append(number.Shifts, codegen.Shift{From: k, Limit: sizes[k] - 1, Stride: stride})
	}
	m.Sources = append(m.Sources, checks(in, number.Shifts)...)
	m.Sources = append(m.Sources, number)
	return m
}

// walks plans the walk, in dispatches of bounded length.
func (j *scatterJob) walks() []*codegen.Program {
	length := max(1, min(ScatterLength, scatterDispatch/(j.parts*j.elements)))
	var all []*codegen.Program
	for first := 0; first < j.count; first += length {
		all = append(all, j.program(first, min(j.count, first+length)))
	}
	return all
}

// program takes the updates from first up to end.
func (j *scatterJob) program(first, end int) *codegen.Program {
	units, size := j.parts*j.elements, j.size()
	j.where.Access, j.updates.Access, j.to.Access = lowering.Read, lowering.Read, lowering.Write
	j.where.Bytes, j.to.Bytes = int64(4*j.count), int64(size*j.to.Elem.Size())
	if j.add {
		j.to.Access |= lowering.Read
	}
	p := &codegen.Program{Index: codegen.IndexType(max(size, j.count*j.elements, units)), Local: codegen.CPULocal, Body: j.write,
		Buffers: []codegen.Buffer{j.where, j.updates, j.to}, Numbers: []int{units, j.elements, j.parts - 1, first, end},
		Bytes: 3 * int64((end-first)*j.elements*j.to.Elem.Size()), Flops: int64((end - first) * units)}
	p.Groups = (units + int(p.Local) - 1) / int(p.Local)
	for i, d := range j.axes {
		p.Numbers = append(p.Numbers, d, j.axesAt.Strides[i])
	}
	for i, d := range j.slice {
		p.Numbers = append(p.Numbers, d, j.sliceAt.Strides[i])
	}
	p.Key = fmt.Sprintf("scatter add=%v raw=%v in %v of %v to %v axes=%d slice=%d",
		j.add, j.raw, j.elem, j.upType, j.toType, len(j.axes), len(j.slice))
	return p
}
