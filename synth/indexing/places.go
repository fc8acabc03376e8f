package indexing

import (
	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
)

// places are the indices of updates, as a kernel reads them: a row has one along each axis, and its
// place is their sum, times strides.
type places struct {
	indices codegen.Buffer
	limits  []int // the last index along each axis
	strides []int
}

// placesOf are the places of an instruction, with the strides of its axes.
func placesOf(in *ops.Instr, types []ops.Type, strides []int) places {
	p := places{indices: codegen.BufferOf(lowering.Ref{Kind: lowering.Operand, Index: 1}, types[1].DType), strides: strides}
	p.indices.Access, p.indices.Bytes = lowering.Read, int64(types[1].Bytes())
	sizes, _ := apart(types[0].Shape, in.Attrs[0])
	for _, n := range sizes {
		p.limits = append(p.limits, n-1)
	}
	return p
}

// numbers are the parameters of a reader.
func (p *places) numbers() (list []int) {
	for i, n := range p.limits {
		list = append(list, n, p.strides[i])
	}
	return list
}

// pairs are the next numbers of a kernel: n dimensions, each with its stride.
func pairs(e *codegen.Emitter, n int) (dims, strides []kernel.Value) {
	for range n {
		dims, strides = append(dims, e.NextNumber()), append(strides, e.NextNumber())
	}
	return dims, strides
}

// placeReader reads places in a kernel.
type placeReader struct {
	*codegen.Emitter
	indices, check  int // buffers
	limits, strides []kernel.Value
}

// reader takes the next numbers, which are those of p.
func (p *places) reader(e *codegen.Emitter, indices, check int) *placeReader {
	r := &placeReader{Emitter: e, indices: indices, check: check}
	r.limits, r.strides = pairs(e, len(p.limits))
	return r
}

// place is at and the place of row i. An index outside of its axis fails the check and is clamped.
func (r *placeReader) place(i, at kernel.Value) kernel.Value {
	var wrong kernel.Value
	for k, limit := range r.limits {
		x := r.Fetch(r.indices, r.Add(r.Mul(i, r.Index(len(r.limits))), r.Index(k)), 1)[0]
		if out := r.Outside(x, limit); k == 0 {
			wrong = out
		} else {
			wrong = r.Or2(wrong, out)
		}
		at = r.Add(at, r.Mul(r.Clamp(x, limit), r.strides[k]))
	}
	r.Fail(r.check, wrong)
	return at
}
