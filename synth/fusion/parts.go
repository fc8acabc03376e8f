package fusion

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/strided"
)

// An element of a concatenation or a stack is one of a part, which its coordinate along the axis
// tells. So whoever reads it may compute it: the kernel loads the nearest element of each part and
// selects one of them, as it does for padding (see pad).

// JoinsParts reports whether an operation puts tensors side by side.
func JoinsParts(op ops.Op) bool { return op == ops.Concatenate || op == ops.Stack }

// part is an operand of a concatenation or a stack: where it begins along the axis, its size there,
// and the view of it that its elements have in the whole, but for the axis.
type part struct {
	low, size int
	still     strided.View
	own       int // the stride of the axis
}

// partOf is the part of an operand of shape s that begins at low.
func partOf(in *ops.Instr, s ops.Shape, low int) part {
	axis, strides := in.Attrs[0][0], s.Strides()
	if in.Op == ops.Stack {
		return part{low: low, size: 1, still: strided.View{Strides: slices.Insert(slices.Clone(strides), axis, 0)}}
	}
	p := part{low: low, size: s[axis], own: strides[axis], still: strided.View{Strides: slices.Clone(strides)}}
	p.still.Strides[axis] = 0
	return p
}

// joined is an element of a concatenation or a stack: Args has the element of each part, and then,
// for each part but the first, whether the element is of that part.
func (dag *DAG) joined(in *ops.Instr, v strided.View) (Expr, error) {
	id, out := in.Outs[0].ID, in.Outs[0].Type
	if dag.Kept < len(dag.Dims) {
		return Expr{}, &ViewError{id} // reductions know no shifts
	}
	x := Expr{Kind: ExprApply, In: in, Type: out.DType}
	var inside []int
	low := 0
	for i, o := range in.Ins {
		t := dag.typeOf(o)
		x.Types = append(x.Types, t)
		p := partOf(in, t.Shape, low)
		low += p.size
		along := strided.View{Offset: -p.low, Strides: make([]int, len(out.Shape))}
		along.Strides[in.Attrs[0][0]] = 1
		at, err := dag.through(id, v, out.Shape, along)
		if err != nil {
			return Expr{}, err
		}
		inner, err := dag.through(id, v, out.Shape, p.still)
		if err != nil {
			return Expr{}, err
		}
		r := extraDim{from: dag.add(dag.placed(codegen.Source{Kind: codegen.FromIndex}, at)), per: 1, size: p.size}
		if p.own != 0 {
			inner = dag.along(inner, r, p.own)
		}
		element, err := dag.value(o.ID, inner)
		if err != nil {
			return Expr{}, err
		}
		x.Args = append(x.Args, element)
		if i > 0 {
			dag.Exprs = append(dag.Exprs, dag.from(codegen.Source{Kind: codegen.FromInside, Shifts: []codegen.Shift{r.moved(0)}}, ops.Invalid))
			inside = append(inside, len(dag.Exprs)-1)
		}
	}
	x.Args = append(x.Args, inside...)
	return x, nil
}
