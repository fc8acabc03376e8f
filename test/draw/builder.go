package draw

import (
	"slices"

	"nxvk/ops"
)

// Builder writes a region, instruction by instruction.
type Builder struct {
	Params []ops.Result
	Body   []ops.Instr // of the region under way

	next  ops.ID
	types map[ops.ID]ops.Type
}

// NewBuilder returns a builder of an empty region.
func NewBuilder() *Builder { return &Builder{types: make(map[ops.ID]ops.Type)} }

// Region ends the region with the values that it gives.
func (b *Builder) Region(values ...ops.Operand) *ops.Region {
	return &ops.Region{Params: b.Params, Body: b.Body, Values: values}
}

// ID names a value of a type.
func (b *Builder) ID(t ops.Type) ops.ID {
	b.next++
	b.types[b.next] = t
	return b.next
}

// TypeOf is the type of a value or of a literal.
func (b *Builder) TypeOf(o ops.Operand) ops.Type {
	if o.Lit != nil {
		return o.Lit.Type
	}
	return b.types[o.ID]
}

// Param adds a parameter.
func (b *Builder) Param(t ops.Type) ops.Operand {
	id := b.ID(t)
	b.Params = append(b.Params, ops.Result{ID: id, Type: t})
	return ops.Operand{ID: id}
}

// Do adds an instruction with one result of type t. Nothing checks it.
func (b *Builder) Do(op ops.Op, t ops.Type, attrs [][]int, ins ...ops.Operand) ops.Operand {
	id := b.ID(t)
	b.Body = append(b.Body, ops.Instr{Op: op, Outs: []ops.Result{{ID: id, Type: t}}, Ins: ins, Attrs: attrs})
	return ops.Operand{ID: id}
}

// Add adds an instruction. Its results have the stated types and the shapes that
// follow from its operands. shape is the shape of the result if the client chooses
// it, else nil. It reports false, and adds nothing, where such an instruction is
// not well formed.
func (b *Builder) Add(op ops.Op, dtypes []ops.DType, shape ops.Shape, attrs [][]int, ins ...ops.Operand) ([]ops.Operand, bool) {
	in := ops.Instr{Op: op, Ins: ins, Attrs: attrs}
	types := make([]ops.Type, len(ins))
	for i, o := range ins {
		types[i] = b.TypeOf(o)
	}
	for _, d := range dtypes {
		in.Outs = append(in.Outs, ops.Result{Type: ops.Type{DType: d, Shape: shape}})
	}
	if infer := op.Info().Infer; infer != nil && shape == nil {
		shapes, err := infer(&in, types)
		if err != nil || len(shapes) != len(in.Outs) {
			return nil, false
		}
		for i, s := range shapes {
			in.Outs[i].Type.Shape = slices.Clone(s)
		}
	}
	if in.Check(types) != nil {
		return nil, false
	}
	return b.add(in), true
}

// add names the results of a checked instruction.
func (b *Builder) add(in ops.Instr) (outs []ops.Operand) {
	for i := range in.Outs {
		in.Outs[i].ID = b.ID(in.Outs[i].Type)
		outs = append(outs, ops.Operand{ID: in.Outs[i].ID})
	}
	b.Body = append(b.Body, in)
	return outs
}

// Number is a scalar literal.
func Number(d ops.DType, x float64) ops.Operand {
	t := ops.Type{DType: d}
	return ops.Operand{Lit: &ops.Literal{Type: t, Data: Encode([]float64{x}, t)}}
}

// Complex is a scalar literal of a complex type.
func Complex(d ops.DType, re, im float64) ops.Operand {
	parts := ops.Type{DType: d.Real(), Shape: ops.Shape{2}}
	return ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: d}, Data: Encode([]float64{re, im}, parts)}}
}
