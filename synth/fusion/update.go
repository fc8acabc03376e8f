package fusion

import (
	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/strided"
)

// A put_slice is the store of a fusion: its kernel computes the slice and writes it where it goes, in
// a copy of the tensor or in the tensor itself (see lowering.InPlace). So a rotary embedding and its
// write to a cache are one kernel, and so are a repetition of heads and its write. The iteration space
// is the slice. The tensor and the starts are read from memory.

// Updates reports whether an instruction is a put_slice.
func Updates(in *ops.Instr) bool { return in.Op == ops.PutSlice }

// The operands of a put_slice; starts follow.
const (
	UpdateOf = iota // the tensor
	UpdateBy        // the slice
	UpdateAt        // the first start
)

// Update is the store of a DAG that ends in a put_slice.
type Update struct {
	In     *ops.Instr
	Out    strided.View    // from a point to the place of its element in the tensor, but for the starts
	Starts []codegen.Shift // by sources
}

// update follows the slice of a put_slice, and where it goes.
func (dag *DAG) update(in *ops.Instr) (value int, err error) {
	s, u := in.Outs[0].Type.Shape, dag.typeOf(in.Ins[UpdateBy]).Shape
	at := make([]int, len(s))
	if len(in.Attrs[0]) > 0 {
		at = strided.ClampStarts(in.Attrs[0], s, u)
	}
	dag.Update = &Update{In: in}
	for i, o := range in.Ins[UpdateAt:] {
		if room := s[i] - u[i]; room > 0 {
			from, err := dag.start(o)
			if err != nil {
				return 0, err
			}
			dag.Update.Starts = append(dag.Update.Starts, codegen.Shift{From: from, Limit: room, Stride: s.Strides()[i]})
		}
	}
	if dag.Update.Out, err = dag.through(in.Outs[0].ID, dag.Full, u, strided.SliceView(s, at, nil)); err != nil {
		return 0, err
	}
	return dag.value(in.Ins[UpdateBy].ID, dag.Full)
}

// LastUpdate is the put_slice that ends a fusion, or nil.
func (u *Fusion) LastUpdate() *ops.Instr {
	if in := &u.Body[len(u.Body)-1]; Updates(in) && len(u.Body) > 1 {
		return in
	}
	return nil
}
