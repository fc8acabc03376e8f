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
// has no source. So a view of a trace may have extra dimensions beyond the iteration
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
func (tr *Trace) through(id ops.ID, v strided.View, s ops.Shape, w strided.View) (strided.View, error) {
	dims := tr.Dims
	for _, r := range tr.extraDims {
		dims = append(dims[:len(dims):len(dims)], r.size)
	}
	u, err := strided.Compose(dims, v, s, w)
	var cut *strided.SplitError
	if err == strided.ErrView || errors.As(err, &cut) && cut.Dim >= len(tr.Dims) {
		return strided.View{}, &ViewError{id}
	}
	for n := len(u.Strides); n > len(tr.Dims) && u.Strides[n-1] == 0; n-- {
		u.Strides = u.Strides[:n-1]
	}
	return u, err
}

// placed is a source read through a view.
func (tr *Trace) placed(s codegen.Source, v strided.View) codegen.Source {
	n := len(tr.Dims)
	s.View = strided.View{Offset: v.Offset, Strides: v.Strides[:n:n]}
	for i, stride := range v.Strides[n:] {
		if r := tr.extraDims[i]; stride != 0 && r.size > 1 {
			s.Shifts = append(s.Shifts, r.moved(stride))
		}
	}
	return s
}

// beyond is a view with further, extra dimensions of the given strides.
func (tr *Trace) beyond(v strided.View, strides []int) strided.View {
	all := slices.Clone(v.Strides)
	for len(all) < len(tr.Dims)+len(tr.extraDims)-len(strides) {
		all = append(all, 0)
	}
	return strided.View{Offset: v.Offset, Strides: append(all, strides...)}
}

// add adds a source and gives its number.
func (tr *Trace) add(s codegen.Source) int {
	tr.Sources = append(tr.Sources, s)
	return len(tr.Sources) - 1
}

// pad is an element of a padded tensor: an element of the tensor, or the padding value.
// Outside of the tensor the nearest element is loaded and not used.
func (tr *Trace) pad(in *ops.Instr, v strided.View) (Expr, error) {
	id, out, s := in.Outs[0].ID, in.Outs[0].Type, tr.types(in.Ins[0].ID).Shape
	if tr.Kept < len(tr.Dims) {
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
		at, err := tr.through(id, v, out.Shape, along)
		if err != nil {
			return Expr{}, err
		}
		r := extraDim{from: tr.add(tr.placed(codegen.Source{Kind: codegen.FromIndex}, at)), per: per, size: s[i]}
		inside.Shifts = append(inside.Shifts, r.moved(0))
		tr.extraDims, strides = append(tr.extraDims, r), append(strides, own)
	}
	inner, err := tr.through(id, v, out.Shape, still)
	if err != nil {
		return Expr{}, err
	}
	return tr.orPadding(in, tr.beyond(inner, strides), inside)
}

// orPadding selects the element of the operand of pad where inside holds, and the padding value elsewhere.
func (tr *Trace) orPadding(in *ops.Instr, v strided.View, inside codegen.Source) (Expr, error) {
	x := Expr{Kind: ExprApply, In: in, Type: in.Outs[0].Type.DType}
	for _, o := range in.Ins {
		x.Types = append(x.Types, tr.typeOf(o))
	}
	element, err := tr.value(in.Ins[0].ID, v)
	if err != nil {
		return Expr{}, err
	}
	padding := 0
	if l := in.Ins[1].Lit; l != nil {
		padding = tr.lit(l, LiteralType(in, x.Types, 1))
	} else if padding, err = tr.value(in.Ins[1].ID, strided.View{Strides: make([]int, len(tr.Dims))}); err != nil {
		return Expr{}, err
	}
	tr.Exprs = append(tr.Exprs, tr.from(inside, ops.Invalid))
	x.Args = []int{element, padding, len(tr.Exprs) - 1}
	return x, nil
}

// typeOf is the type of an operand.
func (tr *Trace) typeOf(o ops.Operand) ops.Type {
	if o.Lit != nil {
		return o.Lit.Type
	}
	return tr.types(o.ID)
}

// Coordinates are the sources whose values are coordinates of other sources.
func (tr *Trace) Coordinates() map[int]bool {
	is := map[int]bool{}
	for _, r := range tr.extraDims {
		is[r.from] = true
	}
	return is
}

// slide is an element of a slice whose start is an operand.
func (tr *Trace) slide(in *ops.Instr, v strided.View) (int, error) {
	id, from := in.Outs[0].ID, in.Ins[0].ID
	if tr.Kept < len(tr.Dims) {
		return 0, &ViewError{id}
	}
	s, strides := tr.types(from).Shape, []int(nil)
	inner, err := tr.through(id, v, in.Outs[0].Type.Shape, strided.SliceView(s, make([]int, len(s)), in.Attrs[2]))
	if err != nil {
		return 0, err
	}
	for i, own := range s.Strides() {
		room, o := s[i]-in.Attrs[1][i], in.Ins[1+i]
		if room == 0 && o.Lit != nil {
			continue
		}
		start, err := tr.start(o)
		if err != nil {
			return 0, err
		}
		tr.extraDims = append(tr.extraDims, extraDim{from: start, size: room + 1})
		strides = append(strides, own)
	}
	return tr.value(from, tr.beyond(inner, strides))
}

// start is the source of the start of a slice; it is read from memory even if it is one element.
func (tr *Trace) start(o ops.Operand) (int, error) {
	if o.Lit != nil {
		return tr.add(codegen.Source{Kind: codegen.FromLiteral, Lit: codegen.Literal{Operand: tr.literal(o.Lit), As: o.Lit.Type.DType.Wide()}}), nil
	}
	if tr.graph(o.ID) != nil {
		return 0, &ViewError{o.ID}
	}
	return tr.add(codegen.Source{View: strided.View{Strides: make([]int, len(tr.Dims))},
		Buffer: codegen.BufferOf(lowering.Ref{Kind: lowering.Operand, Index: tr.number(o.ID)}, tr.types(o.ID).DType)}), nil
}
