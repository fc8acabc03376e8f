package fallback

import (
	"nxvk/fallback/dense"
	"nxvk/ops"
	"nxvk/ops/example"
)

// Computes reports why the host does not compute an operation on operands of a
// type, by computing the example of the operation on unit matrices.
func Computes(op ops.Op, d ops.DType) error {
	in, types, ok := example.Of(op, d)
	if !ok {
		return dense.ErrUnsupported
	}
	var args, outs []Value
	for _, t := range types {
		args = append(args, unit(t))
	}
	for i, o := range in.Ins {
		if o.Lit != nil {
			args[i] = Value{Type: o.Lit.Type, Data: o.Lit.Data}
		}
	}
	for _, o := range in.Outs {
		outs = append(outs, dense.New(o.Type))
	}
	return Run(in, args, outs)
}

// unit is a tensor with ones where a matrix of its last dimension has its
// diagonal.
func unit(t ops.Type) Value {
	v := dense.New(t)
	step := 1
	if n := len(t.Shape); n > 0 {
		step += t.Shape[n-1]
	}
	for i := 0; i < t.Size(); i += step {
		dense.StoreFloat[t.DType](v.Data, i, []float64{1})
	}
	return v
}
