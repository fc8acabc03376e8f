package reduction

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// argJob finds where the extreme of each row of elements is. An element beats
// another when it is more extreme, or as extreme and earlier (or later, by the
// tie break); NaN beats every number, and the last NaN all others. That is a
// total order, so elements may be compared in any order.
//
// Long rows are cut into parts, whose winners are a temporary of values and one
// of indices; a second pass finds the winner among them.
type argJob struct {
	op   ops.Op
	high bool // the last of equals wins
	from ops.DType
	to   ops.DType

	dims    []int        // outer and inner dimensions, which the result keeps
	length  int          // of a row
	at      strided.View // of dims
	stride  int          // of the row
	parts   int
	index   scalar.Type // of positions in a row
	partial bool        // reads winners rather than elements
	quad    bool        // elements are loaded in fours
	temp    int         // where winners go
}

// LowerArg plans the index of an extreme along an axis, or of all.
func LowerArg(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	ds := codegen.DTypes(in, types)
	if err := codegen.CheckReal(ds...); err != nil {
		return nil, err
	}
	if in.Ins[0].Lit != nil {
		return nil, lowering.Unsupported("reduction of a literal")
	}
	s, axis := types[0].Shape, in.Attrs[0][0]
	j := &argJob{op: in.Op, high: in.Attrs[2][0] == 1, from: ds[0], to: ds[1]}
	strides := s.Strides()
	j.length, j.stride = s.Size(), 1
	if axis >= 0 {
		j.length, j.stride = s[axis], strides[axis]
		for i, d := range s {
			if i != axis {
				j.dims = append(j.dims, d)
				j.at.Strides = append(j.at.Strides, strides[i])
			}
		}
	}
	j.index = codegen.IndexType(j.length)
	var programs []*codegen.Program
	var temps []int64
	for {
		p := j.pass(t, len(temps))
		programs = append(programs, p)
		if j.parts == 1 {
			return codegen.NewPlan(t, temps, programs...)
		}
		n := int64(strided.Product(j.dims) * j.parts)
		temps = append(temps, n*int64(j.from.Wide().Size()), n*int64(kernel.TypeSize(j.index)))
		j = j.rest()
	}
}

// pass plans the next kernel, whose winners go to temporary number temp and the
// one after it.
func (j *argJob) pass(t *lowering.Target, temp int) *codegen.Program {
	j.dims = strided.Collapse(j.dims, []*strided.View{&j.at})
	j.parts = argParts(t, strided.Product(j.dims), j.length, j.stride)
	j.quad = j.stride == 1 && j.parts > 1
	for i, s := range j.at.Strides {
		j.quad = j.quad && (s%4 == 0 || j.dims[i] == 1)
	}
	j.temp = temp
	return j.program()
}

// rest is what is left after a pass: the winner among winners.
func (j *argJob) rest() *argJob {
	r := *j
	r.partial, r.length, r.stride = true, j.parts, 1
	r.dims, r.at = []int{strided.Product(j.dims)}, strided.View{Strides: []int{j.parts}}
	return &r
}

// argParts cuts rows so that there is work for all of the device, and so that
// neighbouring invocations read neighbours where the row is dense.
func argParts(t *lowering.Target, k, n, stride int) int {
	want, side, least := 1<<17, 32, strided.GPUPart
	if t.CPU {
		want, side, least = strided.CPUParts, 8, strided.CPUPart
	}
	if stride > 1 {
		side = 1
	}
	return max(1, min(max(want/k, side), n/least))
}

// winners are two temporaries between passes: values and indices.
func (j *argJob) winners(temp int, access lowering.Access) []codegen.Buffer {
	index := kernel.U32
	if j.index == scalar.U64 {
		index = kernel.U64
	}
	return []codegen.Buffer{{Ref: lowering.Ref{Kind: lowering.Temp, Index: temp}, Elem: lowering.ElemOf[j.from.Wide()], Access: access},
		{Ref: lowering.Ref{Kind: lowering.Temp, Index: temp + 1}, Elem: index, Access: access}}
}

func (j *argJob) program() *codegen.Program {
	k := strided.Product(j.dims)
	units := k * j.parts
	p := &codegen.Program{Index: codegen.IndexType(max(k*j.length, units)), Local: strided.GPUPart, Body: j.write,
		Flops: int64(k * j.length), Bytes: int64(k * j.length * j.from.Size()),
		Numbers: []int{units, j.parts, j.length, j.length / 4, j.stride}}
	p.Groups = (units + int(p.Local) - 1) / int(p.Local)
	for i, d := range j.dims {
		p.Numbers = append(p.Numbers, d, j.at.Strides[i])
	}
	p.Buffers = []codegen.Buffer{{Ref: lowering.Ref{Kind: lowering.Operand, Index: 0}, Elem: lowering.ElemOf[j.from], Access: lowering.Read, Bytes: p.Bytes}}
	if j.partial {
		p.Buffers = j.winners(j.temp-2, lowering.Read)
	}
	if j.parts > 1 {
		p.Buffers = append(p.Buffers, j.winners(j.temp, lowering.Write)...)
	} else {
		out := codegen.ResultBuffer(j.to)
		out.Access = lowering.Write
		p.Buffers = append(p.Buffers, out)
	}
	p.Key = fmt.Sprintf("arg %v high=%v of %v to %v rank=%d index=%d last=%v partial=%v quad=%v",
		j.op, j.high, j.from, j.to, len(j.dims), j.index, j.parts == 1, j.partial, j.quad)
	return p
}
