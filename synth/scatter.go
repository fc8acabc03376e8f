package synth

import (
	"fmt"
	"math/bits"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// scatterJob writes updates over slices of a tensor, or adds them. Updates of one
// slice are taken in their order: whichever invocation has an element of a slice
// walks all updates, and heeds those of its slice. The slices are dealt out to as
// many parts as keep the device busy,
//
//	part p has the slices p, p+parts, p+2*parts, …
//
// so that the walk is longer only by looking at numbers of slices that are
// others'. There is no atomic and nothing to sort.
type scatterJob struct {
	add      bool
	elem     ops.DType // the type that adds
	raw      bool      // words are moved as they are
	upType   ops.DType
	toType   ops.DType
	where    buffer // the number of the slice of each update
	updates  buffer
	to       buffer
	count    int   // updates
	axes     []int // how many slices there are along each axis
	axesAt   view
	slice    []int // the dimensions of a slice
	sliceAt  view
	elements int // of a slice
	parts    int
}

// What a walk costs is bounded: the updates of a dispatch, the updates times the
// invocations of a dispatch, and those of all.
const (
	scatterLength   = 1 << 18
	scatterDispatch = 1 << 31
	scatterWork     = 1 << 37
	gpuScatter      = 1 << 15 // invocations that are wanted
	cpuScatter      = 64
)

// lowerIndexed plans updates of slices at positions: the tensor, the numbers of
// the slices, and the walk. Sums of narrow floats are rounded once, at the end.
func lowerIndexed(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	out, axes := in.Outs[0].Type, in.Attrs[0]
	j := &scatterJob{add: in.Op == ops.IndexedAdd, elem: out.DType, upType: types[2].DType, toType: out.DType,
		count: types[1].Shape[0], to: result(out.DType),
		updates: buffer{ref: Ref{Operand, 2}, elem: storage[types[2].DType], bytes: int64(types[2].Bytes())}}
	for _, o := range in.Ins {
		if o.Lit != nil {
			return nil, unsupported("a literal operand")
		}
	}
	word, words := t.words(out.DType.Size())
	j.raw = !j.add && words == 1 && types[0].DType == out.DType && types[2].DType == out.DType
	if j.raw {
		j.to.elem, j.updates.elem = word, word
	} else if err := real(types[0].DType, types[2].DType, out.DType); err != nil {
		return nil, err
	}
	var temps []int64
	temp := func(d ops.DType, n int) buffer {
		temps = append(temps, int64(n*d.Size()))
		return buffer{ref: Ref{Temp, len(temps) - 1}, elem: storage[d]}
	}
	j.where = temp(ops.U32, j.count)
	if _, narrow := formats[out.DType]; j.add && narrow {
		j.toType, j.to = ops.F32, temp(ops.F32, out.Size())
	}
	j.split(types[0].Shape, axes)
	if err := j.deal(t, out.Size()); err != nil {
		return nil, err
	}
	programs, err := j.begin(in, types, t)
	if err != nil {
		return nil, err
	}
	programs = append(programs, j.positions(in, types, axes).programs(t)...)
	programs = append(programs, j.walks(t)...)
	if j.toType != out.DType {
		programs = append(programs, converted(j.to, j.toType, result(out.DType), out).programs(t)...)
	}
	return t.plan(temps, programs...)
}

// split divides the dimensions of the tensor into axes and those of a slice.
func (j *scatterJob) split(s ops.Shape, axes []int) {
	at, rest := apart(s.Strides(), axes)
	j.axes, j.slice = apart(s, axes)
	j.axesAt, j.sliceAt = view{strides: at}, view{strides: rest}
	j.elements = product(j.slice)
	j.axes = collapse(j.axes, []*view{&j.axesAt})
	j.slice = collapse(j.slice, []*view{&j.sliceAt})
}

// deal chooses the number of parts, a power of two.
func (j *scatterJob) deal(t *Target, size int) error {
	want := gpuScatter
	if t.CPU {
		want = cpuScatter
	}
	want = max(1, min(want/j.elements, product(j.axes)))
	j.parts = 1 << (bits.Len(uint(want)) - 1)
	if size >= 1<<31 || j.count >= 1<<31 {
		return unsupported("more than 2^31 elements")
	}
	if j.count > scatterWork/(j.parts*j.elements) {
		return unsupported("%d updates of %d elements", j.count, j.elements)
	}
	return nil
}

// begin plans the tensor before its updates.
func (j *scatterJob) begin(in *ops.Instr, types []ops.Type, t *Target) ([]*program, error) {
	s := types[0].Shape
	if j.to.ref.Kind == Result {
		return move{dims: s, operand: 0, in: dense(s), out: dense(s)}.programs(in, types, t)
	}
	from := buffer{ref: Ref{Operand, 0}, elem: storage[types[0].DType]}
	return converted(from, types[0].DType, j.to, ops.Type{DType: j.toType, Shape: s}).programs(t), nil
}

// converted copies a whole tensor to one of another type.
func converted(from buffer, d ops.DType, to buffer, out ops.Type) *mapJob {
	s := source{view: dense(out.Shape), buffer: from}
	return &mapJob{key: fmt.Sprintf("move %v to %v", d, out.DType), dims: out.Shape,
		ins: []source{s}, out: dense(out.Shape), to: to,
		body: func(e *emitter, xs []kernel.Value) (kernel.Value, error) {
			return e.encode(out.DType, e.value(&s, d, out.DType, xs[0])), nil
		}}
}

// positions numbers the slice of each update, in row-major order of the axes.
func (j *scatterJob) positions(in *ops.Instr, types []ops.Type, axes []int) *mapJob {
	m := &mapJob{key: "slice", dims: []int{j.count}, out: view{strides: []int{1}}, to: j.where,
		body: func(e *emitter, xs []kernel.Value) (kernel.Value, error) {
			return e.Convert(xs[len(xs)-1], scalar.U32), nil
		}}
	sizes, _ := apart(types[0].Shape, axes)
	number := indexOf([]int{0})
	for k, stride := range ops.Shape(sizes).Strides() {
		at := view{offset: k, strides: []int{len(axes)}}
		m.ins = append(m.ins, indexOperand(in, types, 1, at))
		number.shifts = append(number.shifts, shift{from: k, limit: sizes[k] - 1, stride: stride})
	}
	m.ins = append(m.ins, number)
	return m
}

// walks plans the walk, in dispatches of bounded length.
func (j *scatterJob) walks(t *Target) []*program {
	length := max(1, min(scatterLength, scatterDispatch/(j.parts*j.elements)))
	var all []*program
	for first := 0; first < j.count; first += length {
		all = append(all, j.program(t, first, min(j.count, first+length)))
	}
	return all
}

// program takes the updates from first up to end.
func (j *scatterJob) program(t *Target, first, end int) *program {
	units, size := j.parts*j.elements, product(j.axes)*j.elements
	j.where.access, j.updates.access, j.to.access = Read, Read, Write
	j.where.bytes, j.to.bytes = int64(4*j.count), int64(size*j.to.elem.Size())
	if j.add {
		j.to.access |= Read
	}
	p := &program{index: indexType(max(size, j.count*j.elements, units)), local: gpuPart, body: j.write,
		bufs: []buffer{j.where, j.updates, j.to}, nums: []int{units, j.elements, j.parts - 1, first, end},
		bytes: 3 * int64((end-first)*j.elements*j.to.elem.Size()), flops: int64((end - first) * units)}
	if t.CPU {
		p.local = cpuLocal
	}
	p.groups = (units + int(p.local) - 1) / int(p.local)
	for i, d := range j.axes {
		p.nums = append(p.nums, d, j.axesAt.strides[i])
	}
	for i, d := range j.slice {
		p.nums = append(p.nums, d, j.sliceAt.strides[i])
	}
	p.key = fmt.Sprintf("scatter add=%v raw=%v in %v of %v to %v axes=%d slice=%d",
		j.add, j.raw, j.elem, j.upType, j.toType, len(j.axes), len(j.slice))
	return p
}
