package indexing

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// accumulation adds updates to words of the tensor with atomics, on GPUs: sums of integers of
// up to 32 bits, which wrap, are the same in any order. One invocation adds an element of an
// update.
type accumulation struct {
	*scatterJob
	places
	words codegen.Buffer // the sums
}

// accumulates reports whether the order of the sums does not matter.
func (j *scatterJob) accumulates(t *lowering.Target) bool {
	d := j.toType
	if d.Size() < 4 && j.ranks(t) {
		return false // sums are words, and a copy of the tensor as words takes longer than the sums
	}
	return j.add && !t.CPU && d.IsInteger() && j.upType.IsInteger() && d.Bits() <= 32 && (j.upType.Size() <= 4 || t.Int64)
}

// accumulate plans the sums: the tensor as words, the sums, and the result.
func (j *scatterJob) accumulate(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	out, s := in.Outs[0].Type, types[0].Shape
	if j.count*j.elements >= 1<<31 {
		return nil, lowering.Unsupported("more than 2^31 elements of updates")
	}
	var temps []int64
	if out.DType.Size() < 4 {
		temps = []int64{int64(4 * out.Size())}
		j.toType, j.to = ops.S32, codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: 0}, Elem: kernel.I32}
	}
	j.split(s, in.Attrs[0])
	programs, err := j.begin(in, types, t)
	if err != nil {
		return nil, err
	}
	copies := len(programs)
	strides, _ := apart(s.Strides(), in.Attrs[0])
	a := &accumulation{scatterJob: j, places: placesOf(in, types, strides), words: j.to}
	a.words.Elem = kernel.U32
	programs = append(programs, a.program(s.Size()))
	if j.toType != out.DType {
		programs = append(programs, converted(j.to, j.toType, codegen.ResultBuffer(out.DType), out).Programs(t)...)
	}
	p, err := codegen.NewPlan(t, temps, programs...)
	return j.inPlace(p, err, in, types, copies)
}

// The buffers of the kernel, in order.
const (
	sumIndices = iota
	sumUpdates
	sumCheck
	sumWords
)

func (a *accumulation) program(size int) *codegen.Program {
	units := a.count * a.elements
	a.words.Bytes = int64(4 * size)
	p := &codegen.Program{Index: scalar.U32, Local: codegen.GPULocal, Body: a.write,
		Buffers: []codegen.Buffer{a.indices, with(a.updates, lowering.Read),
			codegen.CheckBuffer(0), with(a.words, lowering.Read|lowering.Write)},
		Groups: (units + codegen.GPULocal - 1) / codegen.GPULocal, Numbers: []int{units, a.elements},
		Bytes: a.indices.Bytes + a.updates.Bytes + int64(8*units), Flops: int64(units)}
	p.Numbers = append(p.Numbers, a.numbers()...)
	for i, d := range a.slice {
		p.Numbers = append(p.Numbers, d, a.sliceAt.Strides[i])
	}
	p.Key = fmt.Sprintf("accumulate %v in %v axes=%d slice=%d scalars=%v", a.upType, a.toType, len(a.limits), len(a.slice), a.elements == 1)
	return p
}

func (a *accumulation) write(e *codegen.Emitter) error {
	units, elements := e.NextNumber(), e.NextNumber()
	reader := a.reader(e, sumIndices, sumCheck)
	slice, sliceStrides := pairs(e, len(a.slice))
	u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
	e.IfThen(e.IsLess(u, units), func() {
		update, at := u, e.Index(0)
		if a.elements > 1 {
			var element kernel.Value
			update, element = e.DivMod(u, elements)
			at = e.Offsets(element, slice, sliceStrides)
		}
		at = reader.place(update, at)
		x := e.Fetch(sumUpdates, u, 1)[0]
		x = e.Cast(e.Decode(a.upType, x), a.upType, a.toType)
		e.AddBuffer(sumWords, at, e.Bitcast(x, scalar.U32))
	})
	return nil
}
