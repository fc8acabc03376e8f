package synth

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/fused"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
)

// afterwards are examples of epilogues: from the smallest to the largest that fits, with
// rows of values, with values of the shape of the result, and a rounding to a narrow
// type.
var afterwards = []struct {
	name  string
	types []ops.DType // that have it
	grow  func(x *productGraph, z ops.Operand) ops.Operand
}{
	{"bias and maximum", productTypes, func(x *productGraph, z ops.Operand) ops.Operand {
		return x.apply(ops.Max, x.apply(ops.Add, z, x.row()), x.scalar())
	}},
	{"bias and tanh", productTypes[:2], func(x *productGraph, z ops.Operand) ops.Operand {
		return x.apply(ops.Tanh, x.apply(ops.Add, z, x.row()))
	}},
	{"bias and residual", productTypes, func(x *productGraph, z ops.Operand) ops.Operand {
		return x.apply(ops.Add, x.apply(ops.Add, z, x.row()), x.matrix())
	}},
	{"rounding", productTypes[:1], nil},
}

// productGraph is the graph of a product of square matrices in the making.
type productGraph struct {
	fusion.Graph
	typ   ops.DType
	types map[ops.ID]ops.Type
}

// exampleSize is how many rows and columns the matrices have. Rows of whole vectors
// are the longer code.
const exampleSize = 64

// exampleEpilogue is what an entry of afterwards does to products of a type; nil where
// there is none, or the device does it in a kernel of its own.
func exampleEpilogue(d ops.DType, name string, t *lowering.Target) (*fused.Epilogue, error) {
	for _, a := range afterwards {
		if a.name != name || t.CPU || !slices.Contains(a.types, d) {
			continue
		}
		x := &productGraph{typ: d, types: map[ops.ID]ops.Type{}}
		if a.grow == nil {
			x.typ = ops.BF16
			x.product()
			return fused.Rounding(&x.Body[0]), nil
		}
		x.Keep = []ops.ID{a.grow(x, x.product()).ID}
		fusions := Fuse(&x.Graph, t)
		if len(fusions) > 1 {
			return nil, nil
		}
		dag, err := fusion.NewDAG(&fusions[0], func(id ops.ID) ops.Type { return x.types[id] })
		return &fused.Epilogue{Fusion: &fusions[0], DAG: dag, Typ: x.typ}, err
	}
	return nil, nil
}

func (x *productGraph) product() ops.Operand {
	x.Body = append(x.Body, ops.Instr{Op: ops.Dot, Ins: []ops.Operand{x.matrix(), x.matrix()},
		Attrs: [][]int{{1}, {}, {0}, {}}, Outs: []ops.Result{x.value(exampleSize, exampleSize)}})
	return ops.Operand{ID: x.Body[0].Outs[0].ID}
}

// apply applies an operation to each element of a result.
func (x *productGraph) apply(op ops.Op, ins ...ops.Operand) ops.Operand {
	out := x.value(exampleSize, exampleSize)
	x.Body = append(x.Body, ops.Instr{Op: op, Ins: ins, Attrs: [][]int{}, Outs: []ops.Result{out}})
	return ops.Operand{ID: out.ID}
}

func (x *productGraph) value(shape ...int) ops.Result {
	r := ops.Result{ID: ops.ID(len(x.types) + 1), Type: ops.Type{DType: x.typ, Shape: shape}}
	x.types[r.ID] = r.Type
	return r
}

func (x *productGraph) param(shape ...int) ops.Operand {
	r := x.value(shape...)
	x.Params = append(x.Params, r)
	return ops.Operand{ID: r.ID}
}

func (x *productGraph) matrix() ops.Operand { return x.param(exampleSize, exampleSize) }
func (x *productGraph) row() ops.Operand    { return x.param(exampleSize) }

// scalar is the literal 0.
func (x *productGraph) scalar() ops.Operand {
	return ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: x.typ}, Data: make([]byte, x.typ.Size())}}
}
