package attention

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/fused"
	"nxvk/synth/fusion"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// mask is a condition on rows and columns that logits hold for, so that whole tiles can be left out.
type mask struct {
	conditions []*fusion.DAG    // all of which hold where a score counts
	within     []*fusion.DAG    // numbers in the conditions
	fill       *codegen.Literal // the logit of what does not count, or what is added to it
	added      bool
	exact      bool             // where all conditions hold, the logit is the scaled score
	zero       *codegen.Literal // that is added where the conditions hold, if added
}

// findMask finds a mask in the logits: fill in the place of what does not count, or added to it. The
// conditions compare sums of rows, columns and numbers, so that one that holds, or does not, in
// the four corners of a tile does so everywhere in it.
func findMask(dag *fusion.DAG) *mask {
	t := &tree{dag}
	root := t.float(dag.Outs[0])
	m := &mask{}
	pick, score := t.apply(root, ops.Select), -1
	if sum := t.apply(root, ops.Add); sum != nil {
		for k := range 2 {
			if x := t.apply(t.float(sum.Args[k]), ops.Select); x != nil && pick == nil {
				pick, score, m.added = x, sum.Args[1-k], true
			}
		}
	}
	if pick == nil || len(pick.Args) != 3 {
		return nil
	}
	m.fill = t.literal(t.float(pick.Args[2]))
	if m.added {
		m.zero = t.literal(t.float(pick.Args[1]))
	} else {
		score = pick.Args[1]
	}
	if m.fill == nil || m.fill.As != ops.F32 || m.added && (m.zero == nil || m.zero.As != ops.F32) {
		return nil
	}
	s := &t.Exprs[t.float(score)]
	m.exact = s.Kind == fusion.ExprSource && dag.Sources[s.Source].Kind == codegen.FromContraction
	t.conditions(pick.Args[0], m)
	if len(m.conditions) == 0 {
		return nil
	}
	return m
}

// conditions adds those of a conjunction that tiles can be left out by.
func (t *tree) conditions(i int, m *mask) {
	x := &t.Exprs[i]
	if t.literal(i) != nil { // such as "no key is padding"
		m.conditions = append(m.conditions, tile.Pruned(t.DAG, i))
		return
	}
	if x.Kind == fusion.ExprApply {
		switch x.In.Op {
		case ops.LogicalAnd:
			t.conditions(x.Args[0], m)
			t.conditions(x.Args[1], m)
			return
		case ops.Less, ops.LessEqual, ops.Greater, ops.GreaterEqual:
			var within []*fusion.DAG
			if t.linear(x.Args[0], &within) && t.linear(x.Args[1], &within) {
				m.conditions, m.within = append(m.conditions, tile.Pruned(t.DAG, i)), append(m.within, within...)
				return
			}
		}
	}
	m.exact = false
}

// linear reports whether expression i is a sum of indices and numbers, of integers of 32 bits or more. A
// number is a literal, or a scalar in memory, such as the position of the first query.
func (t *tree) linear(i int, within *[]*fusion.DAG) bool {
	x := &t.Exprs[i]
	if t.number(i) {
		*within = append(*within, tile.Pruned(t.DAG, i))
		return true
	}
	if x.Kind != fusion.ExprApply || x.Type != ops.S32 && x.Type != ops.S64 {
		return false
	}
	switch x.In.Op {
	case ops.Iota:
		return true
	case ops.AsType:
		return t.linear(x.Args[0], within)
	case ops.Add, ops.Subtract:
		return t.linear(x.Args[0], within) && t.linear(x.Args[1], within)
	}
	return false
}

// number reports whether expression i is a signed integer that no row and no column changes.
func (t *tree) number(i int) bool {
	if lit := t.literal(i); lit != nil {
		return lit.As == ops.S32 || lit.As == ops.S64
	}
	x := &t.Exprs[i]
	if x.Kind != fusion.ExprSource || x.Type != ops.S32 && x.Type != ops.S64 {
		return false
	}
	s := &t.Sources[x.Source]
	return s.Kind == codegen.FromBuffer && tile.Zero(s.Strides)
}

// describe is the part of a key that the mask is.
func (m *mask) describe() string {
	if m == nil {
		return ""
	}
	key := fmt.Sprint(" mask ", m.added, m.exact)
	for _, c := range m.conditions {
		key += " " + fused.Describe(c)
	}
	return key
}

// giveCover tells of a tile whether the mask leaves all of it out, or nothing: see
// shaders/attention_matrix.comp. Its arguments are the matrix, the first and the last row, and the first
// and the last column.
func (w *writer) giveCover() error {
	number := w.Param(scalar.U32)
	var rows, columns [2]kernel.Value
	for _, to := range []*kernel.Value{&rows[0], &rows[1], &columns[0], &columns[1]} {
		*to = w.Param(scalar.U32)
	}
	w.logits.of(number)
	m := w.job.matrix.mask
	none, all := w.truth(false), w.truth(m.exact)
	for _, c := range m.conditions {
		holds, err := w.points(c, none, [2]kernel.Value{rows[0], columns[0]}, [2]kernel.Value{rows[0], columns[1]},
			[2]kernel.Value{rows[1], columns[0]}, [2]kernel.Value{rows[1], columns[1]})
		if err != nil {
			return err
		}
		some := w.truth(false)
		for _, h := range holds {
			is := w.IsNonzero(h)
			some, all = w.Or2(some, is), w.And2(all, is)
		}
		none = w.Or2(none, w.Not(some))
	}
	if m.added {
		none = w.And2(none, w.enormous())
		all = w.And2(all, w.Compare(scalar.Eq, w.literal(m.zero), w.Float(scalar.F32, 0)))
	}
	small, err := w.small(m.within)
	if err != nil {
		return err
	}
	bits := w.Select(none, w.Int(scalar.U32, 1), w.Select(all, w.Int(scalar.U32, 2), w.Int(scalar.U32, 0)))
	tile.Give(w.Emitter, w.Select(small, bits, w.Int(scalar.U32, 0)))
	return nil
}

// enormous reports whether what a mask adds is so far below 0 that no score makes up for it: scores of f32 and
// bf16 are absorbed by it, those of f16 are taken to be less than half of it.
func (w *writer) enormous() kernel.Value {
	bound := -1e30
	if w.job.query.DType == ops.F16 {
		bound = -6e4
	}
	return w.Compare(scalar.Lt, w.literal(w.job.matrix.mask.fill), w.Float(scalar.F32, bound))
}

// small reports whether sums of numbers and indices do not overflow.
func (w *writer) small(list []*fusion.DAG) (is kernel.Value, err error) {
	is = w.truth(true)
	zero := w.Index(0)
	for _, dag := range list {
		vs, err := w.points(dag, is, [2]kernel.Value{zero, zero})
		if err != nil {
			return is, err
		}
		v := vs[0][0]
		most := w.Int(w.Type(v), 1<<28)
		is = w.And2(is, w.And2(w.Compare(scalar.Lt, v, most), w.Compare(scalar.Lt, w.Sub(w.Int(w.Type(v), 0), most), v)))
	}
	return is, nil
}

// giveLeast is the greatest logit of what the mask leaves out, but for what the kernel adds to it. Where the
// mask is added, it is half of that.
func (w *writer) giveLeast() error {
	m := w.job.matrix.mask
	w.logits.of(w.Param(scalar.U32))
	least := w.literal(m.fill)
	if m.added {
		least = w.Sub(w.Mul(least, w.Float(scalar.F32, 0.5)), w.Float(scalar.F32, 128))
	}
	tile.Give(w.Emitter, least)
	return nil
}

// literal is the value of a literal of the expressions.
func (w *writer) literal(lit *codegen.Literal) kernel.Value {
	for i := range w.job.space.Sources {
		if s := &w.job.space.Sources[i]; s.Kind == codegen.FromLiteral && s.Lit == *lit {
			return w.logits.List[i].Literals[0]
		}
	}
	panic("BUG: a literal that the logits do not have")
}

// truth is a constant.
func (w *writer) truth(is bool) kernel.Value {
	if is {
		return w.Const(scalar.Bool, 1)
	}
	return w.Const(scalar.Bool, 0)
}
