package fusion

import (
	"errors"
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// NewTrace traces the results of a fusion.
func NewTrace(u *Fusion, types func(ops.ID) ops.Type) (*Trace, error) {
	shape, axes := u.Outs[0].Type.Shape, []int(nil)
	tr := &Trace{}
	tr.of(u, types)
	if in := u.FirstReduction(); in != nil {
		shape, axes = tr.types(in.Ins[0].ID).Shape, in.Attrs[0]
		tr.Layout = strided.NewReduction(shape, axes)
	}
	put := u.LastUpdate()
	if put != nil {
		shape = tr.typeOf(put.Ins[UpdateBy]).Shape
	}
	tr.space(shape, axes)
	tr.Outs = make([]int, len(u.Outs))
	return tr, tr.run(func() (err error) {
		if put != nil {
			tr.Outs[0], err = tr.update(put)
			return err
		}
		for i, o := range u.Outs {
			at := tr.Full
			if o.Type.Size() < shape.Size() {
				at = tr.rows
			}
			if tr.Outs[i], err = tr.value(o.ID, at); err != nil {
				return fmt.Errorf("result %d: %w", i, err)
			}
		}
		return nil
	})
}

// of makes the trace one of the instructions of a fusion.
func (tr *Trace) of(u *Fusion, types func(ops.ID) ops.Type) {
	type made struct {
		in   *ops.Instr
		Type *ops.Type
		at   int
	}
	body := make(map[ops.ID]made, len(u.Body))
	for i := range u.Body {
		in := &u.Body[i]
		for k, o := range in.Outs {
			body[o.ID] = made{in, &in.Outs[k].Type, i}
		}
	}
	ins, lits := u.numbers()
	if in := u.Contraction(); in != nil {
		tr.product, body[in.Outs[0].ID] = &in.Outs[0].ID, made{Type: &in.Outs[0].Type}
	}
	tr.graph = func(id ops.ID) *ops.Instr { return body[id].in }
	tr.number = func(id ops.ID) int { return ins[id] }
	tr.position = func(id ops.ID) int { return body[id].at }
	tr.literal = func(l *ops.Literal) int { return lits[l] }
	tr.types = func(id ops.ID) ops.Type {
		if m, ok := body[id]; ok {
			return *m.Type
		}
		return types(id)
	}
}

// Trace follows values back from the points of an iteration space to what is loaded there,
// through elementwise operations and views. An element that is read twice at the same place
// is computed once (common subexpressions).
type Trace struct {
	Dims   []int             // of the iteration space, the kept ones first
	Kept   int               // number of dimensions that are not reduced
	Full   strided.View      // the view of a dense tensor with an element for each point
	rows   strided.View      // the view of a dense tensor with an element for each kept point
	Layout strided.Reduction // of its reductions

	graph    func(ops.ID) *ops.Instr // the instruction that computes a value; nil if it is loaded
	types    func(ops.ID) ops.Type
	literal  func(*ops.Literal) int // the number of a literal among the operands
	number   func(ops.ID) int       // the number of a value among the operands
	blocks   func(*ops.Instr) bool  // whether a view must be read from memory; may be nil
	position func(ops.ID) int       // the instruction of the fusion that computes a value; may be nil
	product  *ops.ID                // the result of a contraction that the kernel has at each point; or nil

	Sources   []codegen.Source
	extraDims []extraDim // see extraDim
	Exprs     []Expr
	Outs      []int // expressions of the results
	Checks    []lowering.Check
	Update    *Update      // the store; nil where results are dense
	checked   []*ops.Instr // of Checks
	known     traceKeys
	arena     arena
}

// arena is the memory of the operands of expressions.
type arena struct {
	types []ops.Type
	args  []int
}

// reset frees the arena.
func (r *arena) reset() { r.types, r.args = r.types[:0], r.args[:0] }

// operands returns memory for n operands.
func (r *arena) operands(n int) (types []ops.Type, args []int) {
	i := len(r.args)
	if i+n > cap(r.args) || i+n > cap(r.types) {
		i = 0
		r.types, r.args = make([]ops.Type, 0, max(n, 2*cap(r.types), leastRoom)), make([]int, 0, max(n, 2*cap(r.args), leastRoom))
	}
	r.types, r.args = r.types[:i+n], r.args[:i+n]
	return r.types[i : i : i+n], r.args[i : i : i+n]
}

// leastRoom is the initial size of the arena.
const leastRoom = 8

// exprKind says how an expression gets its value.
type exprKind uint8

const (
	ExprSource exprKind = iota // loads it
	ExprApply                  // applies an instruction
	ExprFold                   // is the result of a reduction
)

// Expr is one element at one place: a node of the graph that a kernel computes.
type Expr struct {
	Kind   exprKind
	In     *ops.Instr
	Types  []ops.Type // of the operands of In
	Args   []int      // expressions of the operands of In, but for constants, which are the last
	Source int
	Type   ops.DType
	Full   bool // differs along reduced dimensions
}

// space sets the iteration space to a shape, whose axes are reduced.
func (tr *Trace) space(s ops.Shape, axes []int) {
	if len(axes) == 0 {
		tr.Dims, tr.Kept, tr.Full = append(tr.Dims[:0], s...), len(s), strided.Dense(s)
		tr.rows = tr.Full
		return
	}
	tr.Dims, tr.Full = tr.Dims[:0], strided.View{}
	strides := s.Strides()
	reduced := make([]bool, len(s))
	for _, a := range axes {
		reduced[a] = true
	}
	for _, want := range []bool{false, true} {
		for i, d := range s {
			if reduced[i] == want {
				tr.Dims = append(tr.Dims, d)
				tr.Full.Strides = append(tr.Full.Strides, strides[i])
			}
		}
		if !want {
			tr.Kept = len(tr.Dims)
		}
	}
	tr.rows.Strides = append(ops.Shape(tr.Dims[:tr.Kept]).Strides(), make([]int, len(axes))...)
}

// run traces with f, and again whenever a dimension must be split.
func (tr *Trace) run(f func() error) error {
	for {
		tr.Sources, tr.extraDims, tr.Exprs = tr.Sources[:0], nil, tr.Exprs[:0]
		tr.Checks, tr.checked = nil, nil
		tr.known.reset()
		tr.arena.reset()
		err := f()
		var s *strided.SplitError
		if !errors.As(err, &s) {
			return err
		}
		tr.cut(s)
	}
}

// cut splits a dimension of the space in two.
func (tr *Trace) cut(s *strided.SplitError) {
	dims := append([]int{}, tr.Dims[:s.Dim]...)
	dims = append(dims, tr.Dims[s.Dim]/s.Inner, s.Inner)
	tr.Dims = append(dims, tr.Dims[s.Dim+1:]...)
	tr.Full, tr.rows = tr.Full.Cut(s.Dim, s.Inner), tr.rows.Cut(s.Dim, s.Inner)
	if s.Dim < tr.Kept {
		tr.Kept++
	}
}

// meet adds an expression under its key.
func (tr *Trace) meet(at *traceKey, x Expr) int {
	tr.Exprs = append(tr.Exprs, x)
	tr.known.add(at, len(tr.Exprs)-1)
	return len(tr.Exprs) - 1
}

// value is the expression of the element of a value that view v leads to.
func (tr *Trace) value(id ops.ID, v strided.View) (int, error) {
	in := tr.graph(id)
	if in == nil {
		return tr.load(id, v)
	}
	if w, from, ok := tr.look(in); ok {
		if tr.blocks != nil && tr.blocks(in) {
			return 0, &ViewError{id}
		}
		inner, err := tr.through(id, v, in.Outs[0].Type.Shape, w)
		if err != nil {
			return 0, err
		}
		return tr.value(from, inner)
	}
	switch {
	case in.Op == ops.Slice:
		return tr.slide(in, v)
	case Gathers(in.Op):
		return tr.gather(in, v)
	}
	at := keyOf(keyValue, uint64(id), v)
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
func (tr *Trace) computed(in *ops.Instr, v strided.View) (Expr, error) {
	switch {
	case in.Op == ops.Pad:
		return tr.pad(in, v)
	case JoinsParts(in.Op):
		return tr.joined(in, v)
	case in.Op.Info().Kind == ops.Reduce:
		return tr.fold(in, v)
	case in.Op == ops.Iota || in.Op == ops.Eye:
		return tr.index(in, v)
	}
	return tr.apply(in, v)
}

// ViewError names the value at which strides cannot express the view.
type ViewError struct{ ID ops.ID }

// Error names the value.
func (e *ViewError) Error() string { return fmt.Sprintf("%v of value %d", strided.ErrView, e.ID) }

// look returns the view of an instruction that moves no data.
func (tr *Trace) look(in *ops.Instr) (w strided.View, from ops.ID, ok bool) {
	if len(in.Ins) == 0 || in.Ins[0].Lit != nil {
		return strided.View{}, 0, false
	}
	from = in.Ins[0].ID
	w, ok = strided.ViewOf(in, tr.types(from).Shape)
	return w, from, ok
}

// load is the element of a value that lies in memory.
func (tr *Trace) load(id ops.ID, v strided.View) (int, error) {
	at := keyOf(keyLoad, uint64(id), v)
	if i, ok := tr.known.find(&at); ok {
		return i, nil
	}
	d := tr.types(id).DType
	s := codegen.Source{View: v, Kind: codegen.FromContraction}
	switch {
	case tr.product == nil || id != *tr.product:
		s = tr.placed(codegen.Source{Buffer: codegen.BufferOf(lowering.Ref{Kind: lowering.Operand, Index: tr.number(id)}, d)}, v)
	case !SameView(tr.Dims, v, tr.Full):
		return 0, &ViewError{id}
	}
	return tr.meet(&at, tr.from(s, d)), nil
}

// from is the expression of a new source.
func (tr *Trace) from(s codegen.Source, d ops.DType) Expr {
	return Expr{Kind: ExprSource, Source: tr.add(s), Type: d, Full: tr.IsFull(s)}
}

// IsFull reports whether a source differs along reduced dimensions.
func (tr *Trace) IsFull(s codegen.Source) bool {
	for i := tr.Kept; s.HasView() && i < len(tr.Dims); i++ {
		if s.Strides[i] != 0 && tr.Dims[i] > 1 {
			return true
		}
	}
	return false
}

// lit is the source of a scalar literal in a type, as Args refers to it.
func (tr *Trace) lit(l *ops.Literal, as ops.DType) int {
	n := tr.literal(l)
	at := keyOf(keyLiteral, uint64(n)<<8|uint64(as), strided.View{})
	if i, ok := tr.known.find(&at); ok {
		return i
	}
	return tr.meet(&at, tr.from(codegen.Source{Kind: codegen.FromLiteral, Lit: codegen.Literal{Operand: n, As: as}}, as))
}

// apply is an elementwise operation: each operand is read through the shape of the result.
func (tr *Trace) apply(in *ops.Instr, v strided.View) (Expr, error) {
	out := in.Outs[0].Type
	x := Expr{Kind: ExprApply, In: in, Type: out.DType}
	x.Types, x.Args = tr.arena.operands(len(in.Ins))
	for _, o := range in.Ins {
		x.Types = append(x.Types, tr.typeOf(o))
	}
	for i, o := range in.Ins {
		if _, ok := ConstantOperand(in, i); ok {
			continue
		}
		if o.Lit != nil {
			x.Args = append(x.Args, tr.lit(o.Lit, LiteralType(in, x.Types, i)))
			continue
		}
		inner, err := v, error(nil)
		if !slices.Equal(x.Types[i].Shape, out.Shape) {
			inner, err = tr.through(in.Outs[0].ID, v, out.Shape, strided.Broadcast(x.Types[i].Shape, out.Shape))
		}
		if err != nil {
			return Expr{}, err
		}
		a, err := tr.value(o.ID, inner)
		if err != nil {
			return Expr{}, err
		}
		x.Args = append(x.Args, a)
		x.Full = x.Full || tr.Exprs[a].Full
	}
	return x, nil
}

// LiteralType is the type in which an instruction takes literal operand i.
func LiteralType(in *ops.Instr, types []ops.Type, i int) ops.DType {
	switch {
	case in.Op.Info().Kind == ops.Pointwise && in.Op != ops.AsType:
		if in.Op.Info().Flags&ops.Predicate != 0 && i == 0 {
			return types[i].DType.Wide()
		}
		return codegen.ComputeClass(in, types[codegen.Conditions(in.Op.Info()):]).Wide()
	}
	return in.Outs[0].Type.DType.Wide()
}

// fold is the result of a reduction that the kernel computes, one for every kept point.
func (tr *Trace) fold(in *ops.Instr, v strided.View) (Expr, error) {
	if !SameView(tr.Dims, v, tr.rows) {
		return Expr{}, &ViewError{in.Outs[0].ID}
	}
	a, err := tr.value(in.Ins[0].ID, tr.Full)
	if err != nil {
		return Expr{}, err
	}
	return Expr{Kind: ExprFold, In: in, Types: []ops.Type{tr.types(in.Ins[0].ID)}, Args: []int{a},
		Type: in.Outs[0].Type.DType}, nil
}

// SameView reports whether two views lead from every point to the same element.
func SameView(dims []int, v, w strided.View) bool {
	if len(v.Strides) != len(w.Strides) {
		return false
	}
	for i, d := range dims {
		if d > 1 && v.Strides[i] != w.Strides[i] {
			return false
		}
	}
	return v.Offset == w.Offset
}

// index is an element that its coordinates determine, as of iota.
func (tr *Trace) index(in *ops.Instr, v strided.View) (Expr, error) {
	out := in.Outs[0].Type
	x := Expr{Kind: ExprApply, In: in, Type: out.DType}
	for _, strides := range codegen.Coordinates(in) {
		inner, err := tr.through(in.Outs[0].ID, v, out.Shape, strided.View{Strides: strides})
		if err != nil {
			return Expr{}, err
		}
		s := tr.placed(codegen.Source{Kind: codegen.FromIndex}, inner)
		tr.Exprs = append(tr.Exprs, tr.from(s, ops.Invalid))
		x.Args = append(x.Args, len(tr.Exprs)-1)
		x.Full = x.Full || tr.IsFull(s)
	}
	return x, nil
}
