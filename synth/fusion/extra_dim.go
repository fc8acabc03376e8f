package fusion

import (
	"errors"
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// Strides cannot express where an element of a padded tensor comes from, because padding
// has no source. So a view of a DAG may have extra dimensions beyond the iteration
// space: the coordinate along one of them is computed by another source and clamped. Views
// compose through extra dimensions as through others; a load adds them as shifts.

// extraDim is a dimension beyond the iteration space.
type extraDim struct {
	from, per int // the source of the coordinate, and its divisor
	size      int // coordinates that there are
}

// moved is the shift that the coordinate causes, with so many elements for each step.
func (r extraDim) moved(stride int) codegen.Shift {
	return codegen.Shift{From: r.from, Per: r.per, Limit: r.size - 1, Stride: stride}
}

// through composes views, as strided.Compose does, for the value id. An extra dimension
// cannot be split: then strides cannot express the view.
func (dag *DAG) through(id ops.ID, v strided.View, s ops.Shape, w strided.View) (strided.View, error) {
	dims := dag.Dims
	for _, r := range dag.extraDims {
		dims = append(dims[:len(dims):len(dims)], r.size)
	}
	u, err := strided.Compose(dims, v, s, w)
	var cut *strided.SplitError
	if err == strided.ErrView || errors.As(err, &cut) && cut.Dim >= len(dag.Dims) {
		return strided.View{}, &ViewError{id}
	}
	for n := len(u.Strides); n > len(dag.Dims) && u.Strides[n-1] == 0; n-- {
		u.Strides = u.Strides[:n-1]
	}
	return u, err
}

// placed is a source read through a view.
func (dag *DAG) placed(s codegen.Source, v strided.View) codegen.Source {
	n := len(dag.Dims)
	s.View = strided.View{Offset: v.Offset, Strides: v.Strides[:n:n]}
	for i, stride := range v.Strides[n:] {
		if r := dag.extraDims[i]; stride != 0 && r.size > 1 {
			s.Shifts = append(s.Shifts, r.moved(stride))
		}
	}
	return s
}

// beyond is a view with further, extra dimensions of the given strides.
func (dag *DAG) beyond(v strided.View, strides []int) strided.View {
	all := slices.Clone(v.Strides)
	for len(all) < len(dag.Dims)+len(dag.extraDims)-len(strides) {
		all = append(all, 0)
	}
	return strided.View{Offset: v.Offset, Strides: append(all, strides...)}
}

// add adds a source and gives its number.
func (dag *DAG) add(s codegen.Source) int {
	dag.Sources = append(dag.Sources, s)
	return len(dag.Sources) - 1
}

// pad is an element of a padded tensor: an element of the tensor, or the padding value.
// Outside of the tensor the nearest element is loaded and not used.
func (dag *DAG) pad(in *ops.Instr, v strided.View) (Expr, error) {
	id, out, s := in.Outs[0].ID, in.Outs[0].Type, dag.types(in.Ins[0].ID).Shape
	if dag.Kept < len(dag.Dims) {
		return Expr{}, &ViewError{id} // reductions know no shifts
	}
	inside := codegen.Source{Kind: codegen.FromInside}
	still, strides := strided.View{Strides: make([]int, len(s))}, []int(nil)
	for i, own := range s.Strides() {
		low, per := in.Attrs[0][3*i], in.Attrs[0][3*i+2]+1
		if !strided.PadsAround(in, i) {
			still.Offset, still.Strides[i] = still.Offset-low*own, own
			continue
		}
		along := strided.View{Offset: -low, Strides: make([]int, len(s))}
		along.Strides[i] = 1
		at, err := dag.through(id, v, out.Shape, along)
		if err != nil {
			return Expr{}, err
		}
		r := extraDim{from: dag.add(dag.placed(codegen.Source{Kind: codegen.FromIndex}, at)), per: per, size: s[i]}
		inside.Shifts = append(inside.Shifts, r.moved(0))
		dag.extraDims, strides = append(dag.extraDims, r), append(strides, own)
	}
	inner, err := dag.through(id, v, out.Shape, still)
	if err != nil {
		return Expr{}, err
	}
	return dag.orPadding(in, dag.beyond(inner, strides), inside)
}

// orPadding selects the element of the operand of pad where inside holds, and the padding value elsewhere.
func (dag *DAG) orPadding(in *ops.Instr, v strided.View, inside codegen.Source) (Expr, error) {
	x := Expr{Kind: ExprApply, In: in, Type: in.Outs[0].Type.DType}
	for _, o := range in.Ins {
		x.Types = append(x.Types, dag.typeOf(o))
	}
	element, err := dag.value(in.Ins[0].ID, v)
	if err != nil {
		return Expr{}, err
	}
	padding := 0
	if l := in.Ins[1].Lit; l != nil {
		padding = dag.lit(l, LiteralType(in, x.Types, 1))
	} else if padding, err = dag.value(in.Ins[1].ID, strided.View{Strides: make([]int, len(dag.Dims))}); err != nil {
		return Expr{}, err
	}
	dag.Exprs = append(dag.Exprs, dag.from(inside, ops.Invalid))
	x.Args = []int{element, padding, len(dag.Exprs) - 1}
	return x, nil
}

// typeOf is the type of an operand.
func (dag *DAG) typeOf(o ops.Operand) ops.Type {
	if o.Lit != nil {
		return o.Lit.Type
	}
	return dag.types(o.ID)
}

// Coordinates are the sources whose values are coordinates of other sources.
func (dag *DAG) Coordinates() map[int]bool {
	is := map[int]bool{}
	for _, r := range dag.extraDims {
		is[r.from] = true
	}
	return is
}

// slide is an element of a slice whose start is an operand.
func (dag *DAG) slide(in *ops.Instr, v strided.View) (int, error) {
	id, from := in.Outs[0].ID, in.Ins[0].ID
	if dag.Kept < len(dag.Dims) {
		return 0, &ViewError{id}
	}
	s, strides := dag.types(from).Shape, []int(nil)
	inner, err := dag.through(id, v, in.Outs[0].Type.Shape, strided.SliceView(s, make([]int, len(s)), in.Attrs[2]))
	if err != nil {
		return 0, err
	}
	for i, own := range s.Strides() {
		room, o := s[i]-in.Attrs[1][i], in.Ins[1+i]
		if room == 0 && o.Lit != nil {
			continue
		}
		start, err := dag.start(o)
		if err != nil {
			return 0, err
		}
		dag.extraDims = append(dag.extraDims, extraDim{from: start, size: room + 1})
		strides = append(strides, own)
	}
	return dag.value(from, dag.beyond(inner, strides))
}

// start is the source of the start of a slice; it is read from memory even if it is one element.
func (dag *DAG) start(o ops.Operand) (int, error) {
	if o.Lit != nil {
		return dag.add(codegen.Source{Kind: codegen.FromLiteral, Lit: codegen.Literal{Operand: dag.literal(o.Lit), As: o.Lit.Type.DType.Wide()}}), nil
	}
	if dag.graph(o.ID) != nil {
		return 0, &ViewError{o.ID}
	}
	return dag.add(codegen.Source{View: strided.View{Strides: make([]int, len(dag.Dims))},
		Buffer: codegen.BufferOf(lowering.Ref{Kind: lowering.Operand, Index: dag.number(o.ID)}, dag.types(o.ID).DType)}), nil
}
