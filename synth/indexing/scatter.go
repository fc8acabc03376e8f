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
// the device's timing. There are three algorithms:
//
//	atomics   on GPUs, where the order of sums does not matter; see accumulation
//	walk      each invocation owns an element of some slices, walks all updates and
//	          applies those of its slices, in their order. Slices are dealt out to parts:
//	          part p has the slices p, p+parts, p+2*parts, …
//	segments  on GPUs, where there are many updates: they are sorted by slice, and each
//	          slice is one run of the sorted list; see segments
type scatterJob struct {
	add      bool
	elem     ops.DType // the type that adds
	raw      bool      // words are moved as they are
	upType   ops.DType
	toType   ops.DType
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
	gpuScatter      = 1 << 15          // invocations that are wanted
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
	var temps []int64
	temp := func(d ops.DType, n int) codegen.Buffer {
		temps = append(temps, int64(n*d.Size()))
		return codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: len(temps) - 1}, Elem: lowering.ElemOf[d]}
	}
	j.where = temp(ops.U32, j.count)
	if _, narrow := codegen.Formats[out.DType]; j.add && narrow {
		j.toType = ops.F32
	}
	if j.add && (j.toType != out.DType || !t.CPU && j.count > fewUpdates) {
		j.to = temp(j.toType, out.Size())
	}
	j.split(types[0].Shape, axes)
	if err := j.deal(t, out.Size()); err != nil {
		return nil, err
	}
	positions := j.positions(in, types, axes).Programs(t)
	sorts := !t.CPU && j.count > fewUpdates
	if sorts && j.add {
		return j.sumPlan(in, types, t, temps, positions)
	}
	programs, err := j.begin(in, types, t)
	if err != nil {
		return nil, err
	}
	copies := len(programs)
	programs = append(programs, positions...)
	if sorts {
		p, err := j.lastPlan(t, temps, programs)
		return j.inPlace(p, err, in, types, copies)
	}
	programs = append(programs, j.walks(t)...)
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

// deal chooses the number of parts, a power of two.
func (j *scatterJob) deal(t *lowering.Target, size int) error {
	want := gpuScatter
	if t.CPU {
		want = cpuScatter
	}
	want = max(1, min(want/j.elements, strided.Product(j.axes)))
	j.parts = 1 << (bits.Len(uint(want)) - 1)
	if size >= 1<<31 || j.count >= 1<<31 {
		return lowering.Unsupported("more than 2^31 elements")
	}
	if (t.CPU || j.count <= fewUpdates) && j.count > scatterWork/(j.parts*j.elements) {
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
func (j *scatterJob) walks(t *lowering.Target) []*codegen.Program {
	length := max(1, min(ScatterLength, scatterDispatch/(j.parts*j.elements)))
	var all []*codegen.Program
	for first := 0; first < j.count; first += length {
		all = append(all, j.program(t, first, min(j.count, first+length)))
	}
	return all
}

// program takes the updates from first up to end.
func (j *scatterJob) program(t *lowering.Target, first, end int) *codegen.Program {
	units, size := j.parts*j.elements, strided.Product(j.axes)*j.elements
	j.where.Access, j.updates.Access, j.to.Access = lowering.Read, lowering.Read, lowering.Write
	j.where.Bytes, j.to.Bytes = int64(4*j.count), int64(size*j.to.Elem.Size())
	if j.add {
		j.to.Access |= lowering.Read
	}
	p := &codegen.Program{Index: codegen.IndexType(max(size, j.count*j.elements, units)), Local: strided.GPUPart, Body: j.write,
		Buffers: []codegen.Buffer{j.where, j.updates, j.to}, Numbers: []int{units, j.elements, j.parts - 1, first, end},
		Bytes: 3 * int64((end-first)*j.elements*j.to.Elem.Size()), Flops: int64((end - first) * units)}
	if t.CPU {
		p.Local = codegen.CPULocal
	}
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
