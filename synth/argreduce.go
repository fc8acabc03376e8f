package synth

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
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

	dims    []int // outer and inner dimensions, which the result keeps
	length  int   // of a row
	at      view  // of dims
	stride  int   // of the row
	parts   int
	index   scalar.Type // of positions in a row
	partial bool        // reads winners rather than elements
	quad    bool        // elements are loaded in fours
	temp    int         // where winners go
}

// lowerArgReduce plans the index of an extreme along an axis, or of all.
func lowerArgReduce(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	ds := dtypes(in, types)
	if err := real(ds...); err != nil {
		return nil, err
	}
	if in.Ins[0].Lit != nil {
		return nil, unsupported("reduction of a literal")
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
				j.at.strides = append(j.at.strides, strides[i])
			}
		}
	}
	j.index = indexType(j.length)
	var programs []*program
	var temps []int64
	for {
		p := j.pass(t, len(temps))
		programs = append(programs, p)
		if j.parts == 1 {
			return t.plan(temps, programs...)
		}
		n := int64(product(j.dims) * j.parts)
		temps = append(temps, n*int64(j.from.Wide().Size()), n*int64(kernel.TypeSize(j.index)))
		j = j.rest()
	}
}

// pass plans the next kernel, whose winners go to temporary number temp and the
// one after it.
func (j *argJob) pass(t *Target, temp int) *program {
	j.dims = collapse(j.dims, []*view{&j.at})
	j.parts = t.argParts(product(j.dims), j.length, j.stride)
	j.quad = j.stride == 1 && j.parts > 1
	for i, s := range j.at.strides {
		j.quad = j.quad && (s%4 == 0 || j.dims[i] == 1)
	}
	j.temp = temp
	return j.program()
}

// rest is what is left after a pass: the winner among winners.
func (j *argJob) rest() *argJob {
	r := *j
	r.partial, r.length, r.stride = true, j.parts, 1
	r.dims, r.at = []int{product(j.dims)}, view{strides: []int{j.parts}}
	return &r
}

// argParts cuts rows so that there is work for all of the device, and so that
// neighbouring invocations read neighbours where the row is dense.
func (t *Target) argParts(k, n, stride int) int {
	want, side, least := 1<<17, 32, gpuPart
	if t.CPU {
		want, side, least = cpuParts, 8, cpuPart
	}
	if stride > 1 {
		side = 1
	}
	return max(1, min(max(want/k, side), n/least))
}

// winners are two temporaries between passes: values and indices.
func (j *argJob) winners(temp int, access Access) []buffer {
	index := kernel.U32
	if j.index == scalar.U64 {
		index = kernel.U64
	}
	return []buffer{{ref: Ref{Temp, temp}, elem: storage[j.from.Wide()], access: access},
		{ref: Ref{Temp, temp + 1}, elem: index, access: access}}
}

func (j *argJob) program() *program {
	k := product(j.dims)
	units := k * j.parts
	p := &program{index: indexType(max(k*j.length, units)), local: gpuPart, body: j.write,
		flops: int64(k * j.length), bytes: int64(k * j.length * j.from.Size()),
		nums: []int{units, j.parts, j.length, j.length / 4, j.stride}}
	p.groups = (units + int(p.local) - 1) / int(p.local)
	for i, d := range j.dims {
		p.nums = append(p.nums, d, j.at.strides[i])
	}
	p.bufs = []buffer{{ref: Ref{Operand, 0}, elem: storage[j.from], access: Read, bytes: p.bytes}}
	if j.partial {
		p.bufs = j.winners(j.temp-2, Read)
	}
	if j.parts > 1 {
		p.bufs = append(p.bufs, j.winners(j.temp, Write)...)
	} else {
		out := result(j.to)
		out.access = Write
		p.bufs = append(p.bufs, out)
	}
	p.key = fmt.Sprintf("arg %v high=%v of %v to %v rank=%d index=%d last=%v partial=%v quad=%v",
		j.op, j.high, j.from, j.to, len(j.dims), j.index, j.parts == 1, j.partial, j.quad)
	return p
}
