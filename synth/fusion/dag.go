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

// NewDAG makes the expressions of the results of a fusion.
func NewDAG(u *Fusion, types func(ops.ID) ops.Type) (*DAG, error) {
	shape, axes := u.Outs[0].Type.Shape, []int(nil)
	dag := &DAG{}
	dag.of(u, types)
	if in := u.FirstReduction(); in != nil {
		shape, axes = dag.types(in.Ins[0].ID).Shape, in.Attrs[0]
		dag.Layout = strided.NewReduction(shape, axes)
	}
	put := u.LastUpdate()
	if put != nil {
		shape = dag.typeOf(put.Ins[UpdateBy]).Shape
	}
	dag.space(shape, axes)
	dag.Outs = make([]int, len(u.Outs))
	return dag, dag.run(func() (err error) {
		if put != nil {
			dag.Outs[0], err = dag.update(put)
			return err
		}
		for i, o := range u.Outs {
			at := dag.Full
			if o.Type.Size() < shape.Size() {
				at = dag.rows
			}
			if dag.Outs[i], err = dag.value(o.ID, at); err != nil {
				return fmt.Errorf("result %d: %w", i, err)
			}
		}
		return nil
	})
}

// of has the DAG follow the instructions of a fusion.
func (dag *DAG) of(u *Fusion, types func(ops.ID) ops.Type) {
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
		dag.product, body[in.Outs[0].ID] = &in.Outs[0].ID, made{Type: &in.Outs[0].Type}
	}
	dag.graph = func(id ops.ID) *ops.Instr { return body[id].in }
	dag.number = func(id ops.ID) int { return ins[id] }
	dag.position = func(id ops.ID) int { return body[id].at }
	dag.literal = func(l *ops.Literal) int { return lits[l] }
	dag.types = func(id ops.ID) ops.Type {
		if m, ok := body[id]; ok {
			return *m.Type
		}
		return types(id)
	}
}

// DAG has the expressions that a kernel computes at each point of an iteration space: loads are its leaves,
// and Outs its roots. It follows values back through elementwise operations and views. An element that is
// read twice at the same place is one expression (common subexpressions). The DAG of exp(x) / sum(exp(x)) has
// a load of x, its exponential, the sum, and the quotient.
type DAG struct {
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
	known     exprKeys
	arena     arena
}

// space sets the iteration space to a shape, whose axes are reduced.
func (dag *DAG) space(s ops.Shape, axes []int) {
	if len(axes) == 0 {
		dag.Dims, dag.Kept, dag.Full = append(dag.Dims[:0], s...), len(s), strided.Dense(s)
		dag.rows = dag.Full
		return
	}
	dag.Dims, dag.Full = dag.Dims[:0], strided.View{}
	strides := s.Strides()
	reduced := make([]bool, len(s))
	for _, a := range axes {
		reduced[a] = true
	}
	for _, want := range []bool{false, true} {
		for i, d := range s {
			if reduced[i] == want {
				dag.Dims = append(dag.Dims, d)
				dag.Full.Strides = append(dag.Full.Strides, strides[i])
			}
		}
		if !want {
			dag.Kept = len(dag.Dims)
		}
	}
	dag.rows.Strides = append(ops.Shape(dag.Dims[:dag.Kept]).Strides(), make([]int, len(axes))...)
}

// run adds expressions with f, and begins again whenever a dimension must be split.
func (dag *DAG) run(f func() error) error {
	for {
		dag.Sources, dag.extraDims, dag.Exprs = dag.Sources[:0], nil, dag.Exprs[:0]
		dag.Checks, dag.checked = nil, nil
		dag.known.reset()
		dag.arena.reset()
		err := f()
		var s *strided.SplitError
		if !errors.As(err, &s) {
			return err
		}
		dag.cut(s)
	}
}

// cut splits a dimension of the space in two.
func (dag *DAG) cut(s *strided.SplitError) {
	dims := append([]int{}, dag.Dims[:s.Dim]...)
	dims = append(dims, dag.Dims[s.Dim]/s.Inner, s.Inner)
	dag.Dims = append(dims, dag.Dims[s.Dim+1:]...)
	dag.Full, dag.rows = dag.Full.Cut(s.Dim, s.Inner), dag.rows.Cut(s.Dim, s.Inner)
	if s.Dim < dag.Kept {
		dag.Kept++
	}
}

// meet adds an expression under its key.
func (dag *DAG) meet(at *exprKey, x Expr) int {
	dag.Exprs = append(dag.Exprs, x)
	dag.known.add(at, len(dag.Exprs)-1)
	return len(dag.Exprs) - 1
}

// value is the expression of the element of a value that view v leads to.
func (dag *DAG) value(id ops.ID, v strided.View) (int, error) {
	in := dag.graph(id)
	if in == nil {
		return dag.load(id, v)
	}
	if w, from, ok := dag.look(in); ok {
		if dag.blocks != nil && dag.blocks(in) {
			return 0, &ViewError{id}
		}
		inner, err := dag.through(id, v, in.Outs[0].Type.Shape, w)
		if err != nil {
			return 0, err
		}
		return dag.value(from, inner)
	}
	switch {
	case in.Op == ops.Slice:
		return dag.slide(in, v)
	case Gathers(in.Op):
		return dag.gather(in, v)
	}
	at := keyOf(keyValue, uint64(id), v)
	if i, ok := dag.known.find(&at); ok {
		return i, nil
	}
	x, err := dag.computed(in, v)
	if err != nil {
		return 0, err
	}
	return dag.meet(&at, x), nil
}

// computed is an element of the result of an instruction that is no view.
func (dag *DAG) computed(in *ops.Instr, v strided.View) (Expr, error) {
	switch {
	case in.Op == ops.Pad:
		return dag.pad(in, v)
	case JoinsParts(in.Op):
		return dag.joined(in, v)
	case in.Op.Info().Kind == ops.Reduce:
		return dag.fold(in, v)
	case in.Op == ops.Iota || in.Op == ops.Eye:
		return dag.index(in, v)
	}
	return dag.apply(in, v)
}

// ViewError names the value at which strides cannot express the view.
type ViewError struct{ ID ops.ID }

// Error names the value.
func (e *ViewError) Error() string { return fmt.Sprintf("%v of value %d", strided.ErrView, e.ID) }

// look returns the view of an instruction that moves no data.
func (dag *DAG) look(in *ops.Instr) (w strided.View, from ops.ID, ok bool) {
	if len(in.Ins) == 0 || in.Ins[0].Lit != nil {
		return strided.View{}, 0, false
	}
	from = in.Ins[0].ID
	w, ok = strided.ViewOf(in, dag.types(from).Shape)
	return w, from, ok
}

// load is the element of a value that lies in memory.
func (dag *DAG) load(id ops.ID, v strided.View) (int, error) {
	at := keyOf(keyLoad, uint64(id), v)
	if i, ok := dag.known.find(&at); ok {
		return i, nil
	}
	d := dag.types(id).DType
	s := codegen.Source{View: v, Kind: codegen.FromContraction}
	switch {
	case dag.product == nil || id != *dag.product:
		s = dag.placed(codegen.Source{Buffer: codegen.BufferOf(lowering.Ref{Kind: lowering.Operand, Index: dag.number(id)}, d)}, v)
	case !SameView(dag.Dims, v, dag.Full):
		return 0, &ViewError{id}
	}
	return dag.meet(&at, dag.from(s, d)), nil
}

// from is the expression of a new source.
func (dag *DAG) from(s codegen.Source, d ops.DType) Expr {
	return Expr{Kind: ExprSource, Source: dag.add(s), Type: d, Full: dag.IsFull(s)}
}

// IsFull reports whether a source differs along reduced dimensions.
func (dag *DAG) IsFull(s codegen.Source) bool {
	for i := dag.Kept; s.HasView() && i < len(dag.Dims); i++ {
		if s.Strides[i] != 0 && dag.Dims[i] > 1 {
			return true
		}
	}
	return false
}

// lit is the source of a scalar literal in a type, as Args refers to it.
func (dag *DAG) lit(l *ops.Literal, as ops.DType) int {
	n := dag.literal(l)
	at := keyOf(keyLiteral, uint64(n)<<8|uint64(as), strided.View{})
	if i, ok := dag.known.find(&at); ok {
		return i
	}
	return dag.meet(&at, dag.from(codegen.Source{Kind: codegen.FromLiteral, Lit: codegen.Literal{Operand: n, As: as}}, as))
}

// apply is an elementwise operation: each operand is read through the shape of the result.
func (dag *DAG) apply(in *ops.Instr, v strided.View) (Expr, error) {
	out := in.Outs[0].Type
	x := Expr{Kind: ExprApply, In: in, Type: out.DType}
	x.Types, x.Args = dag.arena.operands(len(in.Ins))
	for _, o := range in.Ins {
		x.Types = append(x.Types, dag.typeOf(o))
	}
	for i, o := range in.Ins {
		if _, ok := ConstantOperand(in, i); ok {
			continue
		}
		if o.Lit != nil {
			x.Args = append(x.Args, dag.lit(o.Lit, LiteralType(in, x.Types, i)))
			continue
		}
		inner, err := v, error(nil)
		if !slices.Equal(x.Types[i].Shape, out.Shape) {
			inner, err = dag.through(in.Outs[0].ID, v, out.Shape, strided.Broadcast(x.Types[i].Shape, out.Shape))
		}
		if err != nil {
			return Expr{}, err
		}
		a, err := dag.value(o.ID, inner)
		if err != nil {
			return Expr{}, err
		}
		x.Args = append(x.Args, a)
		x.Full = x.Full || dag.Exprs[a].Full
	}
	return x, nil
}

// fold is the result of a reduction that the kernel computes, one for every kept point.
func (dag *DAG) fold(in *ops.Instr, v strided.View) (Expr, error) {
	if !SameView(dag.Dims, v, dag.rows) {
		return Expr{}, &ViewError{in.Outs[0].ID}
	}
	a, err := dag.value(in.Ins[0].ID, dag.Full)
	if err != nil {
		return Expr{}, err
	}
	return Expr{Kind: ExprFold, In: in, Types: []ops.Type{dag.types(in.Ins[0].ID)}, Args: []int{a},
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
func (dag *DAG) index(in *ops.Instr, v strided.View) (Expr, error) {
	out := in.Outs[0].Type
	x := Expr{Kind: ExprApply, In: in, Type: out.DType}
	for _, strides := range codegen.Coordinates(in) {
		inner, err := dag.through(in.Outs[0].ID, v, out.Shape, strided.View{Strides: strides})
		if err != nil {
			return Expr{}, err
		}
		s := dag.placed(codegen.Source{Kind: codegen.FromIndex}, inner)
		dag.Exprs = append(dag.Exprs, dag.from(s, ops.Invalid))
		x.Args = append(x.Args, len(dag.Exprs)-1)
		x.Full = x.Full || dag.IsFull(s)
	}
	return x, nil
}
