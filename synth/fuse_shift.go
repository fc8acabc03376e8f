package synth

import (
	"errors"
	"slices"

	"nxvk/ops"
)

// Where an element of a padded tensor comes from is no sum of coordinates times
// strides, since there is none for the padding. So a view of a trace may have
// dimensions beyond those of the space: the coordinate along one of them is what a
// source gives, brought into bounds. A view of such a view is one in the same way;
// what is loaded there is loaded by shifts.

// reach is a dimension beyond those of the space.
type reach struct {
	from, per int // the source of the coordinate, and what that is divided by
	size      int // coordinates that there are
}

// moved says by how much the coordinate moves what a source has at so many elements
// for each.
func (r reach) moved(stride int) shift {
	return shift{from: r.from, per: r.per, limit: r.size - 1, stride: stride}
}

// through composes views as the function of that name does, for the value id. Where
// dimensions beyond the space would have to be cut no strides lead on.
func (tr *trace) through(id ops.ID, v view, s ops.Shape, w view) (view, error) {
	dims := tr.dims
	for _, r := range tr.reaches {
		dims = append(dims[:len(dims):len(dims)], r.size)
	}
	u, err := through(dims, v, s, w)
	var cut *splitError
	if err == errView || errors.As(err, &cut) && cut.dim >= len(tr.dims) {
		return view{}, &viewError{id}
	}
	for n := len(u.strides); n > len(tr.dims) && u.strides[n-1] == 0; n-- {
		u.strides = u.strides[:n-1]
	}
	return u, err
}

// placed is a source at a view.
func (tr *trace) placed(s source, v view) source {
	n := len(tr.dims)
	s.view = view{v.offset, v.strides[:n:n]}
	for i, stride := range v.strides[n:] {
		if r := tr.reaches[i]; stride != 0 && r.size > 1 {
			s.shifts = append(s.shifts, r.moved(stride))
		}
	}
	return s
}

// beyond is a view with dimensions more, the latest of the trace, in which it has
// these strides.
func (tr *trace) beyond(v view, strides []int) view {
	all := slices.Clone(v.strides)
	for len(all) < len(tr.dims)+len(tr.reaches)-len(strides) {
		all = append(all, 0)
	}
	return view{v.offset, append(all, strides...)}
}

// add adds a source and gives its number.
func (tr *trace) add(s source) int {
	tr.sources = append(tr.sources, s)
	return len(tr.sources) - 1
}

// pad is an element of a padded tensor: that of the tensor where there is one, and
// else the padding. Along a dimension that is padded, the element of the tensor is the
// nearest there is.
func (tr *trace) pad(in *ops.Instr, v view) (expr, error) {
	id, out, s := in.Outs[0].ID, in.Outs[0].Type, tr.types(in.Ins[0].ID).Shape
	if tr.kept < len(tr.dims) {
		return expr{}, &viewError{id} // reductions know no shifts
	}
	inside := source{kind: fromInside}
	still, strides := view{strides: make([]int, len(s))}, []int(nil)
	for i, own := range s.Strides() {
		low, per := in.Attrs[0][3*i], in.Attrs[0][3*i+2]+1
		if !pads(in, i) {
			still.offset, still.strides[i] = still.offset-low*own, own
			continue
		}
		along := view{offset: -low, strides: make([]int, len(s))}
		along.strides[i] = 1
		at, err := tr.through(id, v, out.Shape, along)
		if err != nil {
			return expr{}, err
		}
		r := reach{from: tr.add(tr.placed(source{kind: fromIndex}, at)), per: per, size: s[i]}
		inside.shifts = append(inside.shifts, r.moved(0))
		tr.reaches, strides = append(tr.reaches, r), append(strides, own)
	}
	inner, err := tr.through(id, v, out.Shape, still)
	if err != nil {
		return expr{}, err
	}
	return tr.orPadding(in, tr.beyond(inner, strides), inside)
}

// orPadding is the element of the operand of pad at a view where inside holds.
func (tr *trace) orPadding(in *ops.Instr, v view, inside source) (expr, error) {
	x := expr{kind: exprApply, in: in, typ: in.Outs[0].Type.DType}
	for _, o := range in.Ins {
		x.types = append(x.types, tr.typeOf(o))
	}
	element, err := tr.value(in.Ins[0].ID, v)
	if err != nil {
		return expr{}, err
	}
	padding := 0
	if l := in.Ins[1].Lit; l != nil {
		padding = tr.lit(l, literalType(in, x.types, 1))
	} else if padding, err = tr.value(in.Ins[1].ID, view{strides: make([]int, len(tr.dims))}); err != nil {
		return expr{}, err
	}
	tr.exprs = append(tr.exprs, tr.from(inside, ops.Invalid))
	x.args = []int{element, padding, len(tr.exprs) - 1}
	return x, nil
}

// typeOf is the type of an operand.
func (tr *trace) typeOf(o ops.Operand) ops.Type {
	if o.Lit != nil {
		return o.Lit.Type
	}
	return tr.types(o.ID)
}

// movers are the sources that say where others are read.
func (tr *trace) movers() map[int]bool {
	is := map[int]bool{}
	for _, r := range tr.reaches {
		is[r.from] = true
	}
	return is
}

// slide is the expression of an element of a slice that begins where operands say.
func (tr *trace) slide(in *ops.Instr, v view) (int, error) {
	id, from := in.Outs[0].ID, in.Ins[0].ID
	if tr.kept < len(tr.dims) {
		return 0, &viewError{id}
	}
	s, strides := tr.types(from).Shape, []int(nil)
	inner, err := tr.through(id, v, in.Outs[0].Type.Shape, part(s, make([]int, len(s)), in.Attrs[2]))
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
		tr.reaches = append(tr.reaches, reach{from: start, size: room + 1})
		strides = append(strides, own)
	}
	return tr.value(from, tr.beyond(inner, strides))
}

// start is the source of where a slice begins, which is read from memory even where
// there is but one place.
func (tr *trace) start(o ops.Operand) (int, error) {
	if o.Lit != nil {
		return tr.add(source{kind: fromLiteral, lit: literal{tr.literal(o.Lit), o.Lit.Type.DType.Wide()}}), nil
	}
	if tr.graph(o.ID) != nil {
		return 0, &viewError{o.ID}
	}
	return tr.add(source{view: view{strides: make([]int, len(tr.dims))},
		buffer: bufferOf(Ref{Operand, tr.number(o.ID)}, tr.types(o.ID).DType)}), nil
}
