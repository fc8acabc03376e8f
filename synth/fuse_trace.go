package synth

import (
	"errors"
	"fmt"
	"slices"

	"nxvk/ops"
)

// trace follows values back from the points of a space to what is loaded there,
// through operations on elements and views. A value that is wanted at the same
// place twice is computed once.
type trace struct {
	dims []int       // of the space, the kept ones first
	kept int         // dimensions that results of reductions have
	full view        // where a tensor has the point that has an element for each
	rows view        // where a tensor has it that has an element for each kept one
	lie  reduceShape // of what reductions fold

	graph   func(ops.ID) *ops.Instr // what computes a value; nil where it is loaded
	types   func(ops.ID) ops.Type
	literal func(*ops.Literal) int // its number among the operands
	number  func(ops.ID) int       // likewise of a value
	blocks  func(*ops.Instr) bool  // whether a view must not be looked through; may be nil
	product *ops.ID                // the value that the kernel has at each point; nil where there is none

	sources []source
	reaches []reach // dimensions that views may have beyond those of the space
	exprs   []expr
	outs    []int // expressions of the results of a unit
	known   sites
	room    room
}

// room is where expressions have their operands.
type room struct {
	types []ops.Type
	args  []int
}

// reset takes back all room that was given.
func (r *room) reset() { r.types, r.args = r.types[:0], r.args[:0] }

// operands is room for n operands.
func (r *room) operands(n int) (types []ops.Type, args []int) {
	i := len(r.args)
	if i+n > cap(r.args) || i+n > cap(r.types) {
		i = 0
		r.types, r.args = make([]ops.Type, 0, max(n, 2*cap(r.types), leastRoom)), make([]int, 0, max(n, 2*cap(r.args), leastRoom))
	}
	r.types, r.args = r.types[:i+n], r.args[:i+n]
	return r.types[i : i : i+n], r.args[i : i : i+n]
}

// leastRoom is for how many operands there is room at first.
const leastRoom = 8

// exprKind says how an expression gets its value.
type exprKind uint8

const (
	exprSource exprKind = iota // loads it
	exprApply                  // applies an instruction
	exprFold                   // is the result of a reduction
)

// expr is one value at one place: a node of the graph that a kernel computes.
type expr struct {
	kind   exprKind
	in     *ops.Instr
	types  []ops.Type // of the operands of in
	args   []int      // expressions; of a literal its source, below zero
	source int
	typ    ops.DType
	full   bool // differs along reduced dimensions
}

// space makes the points of a shape those of a trace. Reductions fold along axes.
func (tr *trace) space(s ops.Shape, axes []int) {
	if len(axes) == 0 {
		tr.dims, tr.kept, tr.full = append(tr.dims[:0], s...), len(s), dense(s)
		tr.rows = tr.full
		return
	}
	tr.dims, tr.full = tr.dims[:0], view{}
	strides := s.Strides()
	reduced := make([]bool, len(s))
	for _, a := range axes {
		reduced[a] = true
	}
	for _, want := range []bool{false, true} {
		for i, d := range s {
			if reduced[i] == want {
				tr.dims = append(tr.dims, d)
				tr.full.strides = append(tr.full.strides, strides[i])
			}
		}
		if !want {
			tr.kept = len(tr.dims)
		}
	}
	tr.rows.strides = append(ops.Shape(tr.dims[:tr.kept]).Strides(), make([]int, len(axes))...)
}

// run traces with f, again whenever a dimension must be cut.
func (tr *trace) run(f func() error) error {
	for {
		tr.sources, tr.reaches, tr.exprs = tr.sources[:0], nil, tr.exprs[:0]
		tr.known.reset()
		tr.room.reset()
		err := f()
		var s *splitError
		if !errors.As(err, &s) {
			return err
		}
		tr.cut(s)
	}
}

// cut cuts a dimension of the space in two.
func (tr *trace) cut(s *splitError) {
	dims := append([]int{}, tr.dims[:s.dim]...)
	dims = append(dims, tr.dims[s.dim]/s.inner, s.inner)
	tr.dims = append(dims, tr.dims[s.dim+1:]...)
	tr.full, tr.rows = tr.full.cut(s.dim, s.inner), tr.rows.cut(s.dim, s.inner)
	if s.dim < tr.kept {
		tr.kept++
	}
}

// meet gives the number of a new expression, which is that of a site from now on.
func (tr *trace) meet(at *site, x expr) int {
	tr.exprs = append(tr.exprs, x)
	tr.known.add(at, len(tr.exprs)-1)
	return len(tr.exprs) - 1
}

// value gives the expression of the element of a value that v leads to.
func (tr *trace) value(id ops.ID, v view) (int, error) {
	in := tr.graph(id)
	if in == nil {
		return tr.load(id, v)
	}
	if w, from, ok := tr.look(in); ok {
		if tr.blocks != nil && tr.blocks(in) {
			return 0, &viewError{id}
		}
		inner, err := tr.through(id, v, in.Outs[0].Type.Shape, w)
		if err != nil {
			return 0, err
		}
		return tr.value(from, inner)
	}
	if in.Op == ops.Slice {
		return tr.slide(in, v)
	}
	at := siteOf(siteValue, uint64(id), v)
	if i, ok := tr.known.find(&at); ok {
		return i, nil
	}
	x, err := tr.computed(in, v)
	if err != nil {
		return 0, err
	}
	return tr.meet(&at, x), nil
}

// computed is an element of the result of an instruction that is no view.
func (tr *trace) computed(in *ops.Instr, v view) (expr, error) {
	switch {
	case in.Op == ops.Pad:
		return tr.pad(in, v)
	case in.Op.Info().Kind == ops.Reduce:
		return tr.fold(in, v)
	case in.Op == ops.Iota || in.Op == ops.Eye:
		return tr.index(in, v)
	}
	return tr.apply(in, v)
}

// viewError says at which value no strides lead on.
type viewError struct{ id ops.ID }

// Error names the value.
func (e *viewError) Error() string { return fmt.Sprintf("%v of value %d", errView, e.id) }

// look gives the view of an instruction that only looks at its operand.
func (tr *trace) look(in *ops.Instr) (w view, from ops.ID, ok bool) {
	if len(in.Ins) == 0 || in.Ins[0].Lit != nil {
		return view{}, 0, false
	}
	from = in.Ins[0].ID
	w, ok = viewOf(in, tr.types(from).Shape)
	return w, from, ok
}

// load is the element of a value that lies in memory.
func (tr *trace) load(id ops.ID, v view) (int, error) {
	at := siteOf(siteLoad, uint64(id), v)
	if i, ok := tr.known.find(&at); ok {
		return i, nil
	}
	d := tr.types(id).DType
	s := source{view: v, kind: fromProduct}
	switch {
	case tr.product == nil || id != *tr.product:
		s = tr.placed(source{buffer: bufferOf(Ref{Operand, tr.number(id)}, d)}, v)
	case !sameView(tr.dims, v, tr.full):
		return 0, &viewError{id}
	}
	return tr.meet(&at, tr.from(s, d)), nil
}

// from is what a new source gives.
func (tr *trace) from(s source, d ops.DType) expr {
	return expr{kind: exprSource, source: tr.add(s), typ: d, full: tr.isFull(s)}
}

// isFull reports whether what a source gives differs along reduced dimensions.
func (tr *trace) isFull(s source) bool {
	for i := tr.kept; s.walks() && i < len(tr.dims); i++ {
		if s.strides[i] != 0 && tr.dims[i] > 1 {
			return true
		}
	}
	return false
}

// lit gives the source of a scalar literal in a type, as args has it.
func (tr *trace) lit(l *ops.Literal, as ops.DType) int {
	n := tr.literal(l)
	at := siteOf(siteLiteral, uint64(n)<<8|uint64(as), view{})
	if i, ok := tr.known.find(&at); ok {
		return i
	}
	return tr.meet(&at, tr.from(source{kind: fromLiteral, lit: literal{n, as}}, as))
}

// apply is an operation on elements: each operand is looked at through the
// shape of the result.
func (tr *trace) apply(in *ops.Instr, v view) (expr, error) {
	out := in.Outs[0].Type
	x := expr{kind: exprApply, in: in, typ: out.DType}
	x.types, x.args = tr.room.operands(len(in.Ins))
	for _, o := range in.Ins {
		x.types = append(x.types, tr.typeOf(o))
	}
	for i, o := range in.Ins {
		if o.Lit != nil {
			x.args = append(x.args, tr.lit(o.Lit, literalType(in, x.types, i)))
			continue
		}
		inner, err := v, error(nil)
		if !slices.Equal(x.types[i].Shape, out.Shape) {
			inner, err = tr.through(in.Outs[0].ID, v, out.Shape, stretched(x.types[i].Shape, out.Shape))
		}
		if err != nil {
			return expr{}, err
		}
		a, err := tr.value(o.ID, inner)
		if err != nil {
			return expr{}, err
		}
		x.args = append(x.args, a)
		x.full = x.full || tr.exprs[a].full
	}
	return x, nil
}

// literalType is the type in which an instruction takes literal operand i.
func literalType(in *ops.Instr, types []ops.Type, i int) ops.DType {
	switch {
	case in.Op.Info().Kind == ops.Pointwise && in.Op != ops.AsType:
		if in.Op.Info().Flags&ops.Predicate != 0 && i == 0 {
			return types[i].DType.Wide()
		}
		return computes(in, types[truthsOf(in.Op.Info()):]).Wide()
	}
	return in.Outs[0].Type.DType.Wide()
}

// fold is the result of a reduction that the kernel itself carries out. There
// is one for every kept point.
func (tr *trace) fold(in *ops.Instr, v view) (expr, error) {
	if !sameView(tr.dims, v, tr.rows) {
		return expr{}, &viewError{in.Outs[0].ID}
	}
	a, err := tr.value(in.Ins[0].ID, tr.full)
	if err != nil {
		return expr{}, err
	}
	return expr{kind: exprFold, in: in, types: []ops.Type{tr.types(in.Ins[0].ID)}, args: []int{a},
		typ: in.Outs[0].Type.DType}, nil
}

// sameView reports whether two views lead from every point to the same element.
func sameView(dims []int, v, w view) bool {
	if len(v.strides) != len(w.strides) {
		return false
	}
	for i, d := range dims {
		if d > 1 && v.strides[i] != w.strides[i] {
			return false
		}
	}
	return v.offset == w.offset
}

// index is an element of a tensor that its coordinates alone determine.
func (tr *trace) index(in *ops.Instr, v view) (expr, error) {
	out := in.Outs[0].Type
	x := expr{kind: exprApply, in: in, typ: out.DType}
	for _, strides := range coordinates(in) {
		inner, err := tr.through(in.Outs[0].ID, v, out.Shape, view{strides: strides})
		if err != nil {
			return expr{}, err
		}
		s := tr.placed(source{kind: fromIndex}, inner)
		tr.exprs = append(tr.exprs, tr.from(s, ops.Invalid))
		x.args = append(x.args, len(tr.exprs)-1)
		x.full = x.full || tr.isFull(s)
	}
	return x, nil
}
