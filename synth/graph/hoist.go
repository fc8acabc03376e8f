package graph

import (
	"slices"

	"nxvk/ops"
)

// Hoist returns a region in which loops that count their rounds, such as those of an LSTM, have fewer products.
// Where the rounds take one row after another of a value from before the loop, and multiply each by a matrix from
// before the loop, one product before the loop multiplies all rows, and a round reads its own. Products of one value
// of a round by several such matrices are one product by all of them side by side.
//
// The terms of a sum are the same, but another tile may add them up in another order: a result is within
// the bound of products (decision 10 of ARCHITECTURE). The region that is given stays as it is.
func Hoist(r *ops.Region) *ops.Region {
	h := &hoister{rewriter: newRewriter(r)}
	h.rewrite = func(in *ops.Instr) bool { return in.Op == ops.While && h.loop(in) }
	return h.region(r)
}

const (
	leastRounds  = 8       // of a loop; fewer do not pay for the matrices side by side
	mostHoisted  = 1 << 28 // bytes that the products of a loop make before it
	mostAbreast  = 1 << 26 // bytes of matrices side by side
	mostRows     = 256     // of a product by such matrices; those of more fill a device by themselves
	leastAbreast = 2       // matrices
)

type hoister struct{ *rewriter }

// counted is a loop that counts its rounds.
type counted struct {
	*hoister
	in       *ops.Instr
	round    *ops.Region
	state    map[ops.ID]int // the numbers of the parameters of the body
	inside   map[ops.ID]bool
	counter  ops.ID // the parameter of the body that counts from 0
	rounds   int
	body     []ops.Instr // of the rounds, as far as it is rewritten
	products int         // bytes of the products before the loop
	abreast  int         // bytes of the matrices side by side
}

// loop rewrites the body of a loop.
func (h *hoister) loop(in *ops.Instr) bool {
	l := &counted{hoister: h, in: in, round: in.Regions[1], state: make(map[ops.ID]int), inside: make(map[ops.ID]bool)}
	if !l.counts() {
		return false
	}
	for i, p := range l.round.Params {
		l.state[p.ID] = i
	}
	for i := range l.round.Body {
		for _, o := range l.round.Body[i].Outs {
			l.inside[o.ID] = true
		}
	}
	changed := false
	merged := l.groups()
	for i := range l.round.Body {
		dot := &l.round.Body[i]
		if dot.Op == ops.Dot && (l.hoisted(dot) || l.side(dot, merged)) {
			changed = true
			continue
		}
		l.body = append(l.body, *dot)
	}
	if !changed {
		return false
	}
	out := *in
	out.Regions = slices.Clone(in.Regions)
	out.Regions[1] = withoutUnread(&ops.Region{Params: l.round.Params, Body: l.body, Values: l.round.Values})
	h.body = append(h.body, out)
	return true
}

// withoutUnread leaves out the views of a body that nothing reads any more.
func withoutUnread(r *ops.Region) *ops.Region {
	for {
		uses := usesIn(r)
		body := slices.DeleteFunc(slices.Clone(r.Body), func(in ops.Instr) bool {
			return (in.Op == ops.Slice || in.Op == ops.Reshape || in.Op == ops.Squeeze) && uses[in.Outs[0].ID] == 0
		})
		if len(body) == len(r.Body) {
			return r
		}
		r = &ops.Region{Params: r.Params, Body: body, Values: r.Values}
	}
}

// counts finds the counter: it begins at 0, each round adds 1, and the loop ends at a literal.
func (l *counted) counts() bool {
	cond := l.in.Regions[0]
	if len(cond.Body) != 1 || len(cond.Values) != 1 || cond.Values[0].Lit != nil || cond.Values[0].ID != cond.Body[0].Outs[0].ID {
		return false
	}
	test := &cond.Body[0]
	if test.Op != ops.Less && test.Op != ops.LessEqual || test.Ins[0].Lit != nil {
		return false
	}
	at := slices.IndexFunc(cond.Params, func(p ops.Result) bool { return p.ID == test.Ins[0].ID })
	end, ok := integer(test.Ins[1])
	if !ok || at < 0 {
		return false
	}
	if test.Op == ops.LessEqual {
		end++
	}
	l.counter, l.rounds = l.round.Params[at].ID, end
	first, ok := integer(l.in.Ins[at])
	return ok && first == 0 && end >= leastRounds && l.steps(l.round.Values[at])
}

// steps reports whether a value of a round is one more than the counter.
func (l *counted) steps(next ops.Operand) bool {
	in := l.made[next.ID]
	if next.Lit != nil || in == nil || in.Op != ops.Add {
		return false
	}
	for i, o := range in.Ins {
		if one, ok := integer(in.Ins[1-i]); ok && one == 1 && o.Lit == nil && o.ID == l.counter {
			return true
		}
	}
	return false
}

// integer is the number that an operand is, if it is a literal integer.
func integer(o ops.Operand) (int, bool) {
	if o.Lit == nil || len(o.Lit.Type.Shape) != 0 {
		return 0, false
	}
	n, ok := o.Lit.Integer()
	return int(n), ok
}

// outer is the value from before the loop that an operand of a round is in every round.
func (l *counted) outer(o ops.Operand) (ops.Operand, bool) {
	if o.Lit != nil {
		return o, false
	}
	i, ok := l.state[o.ID]
	if !ok {
		return o, !l.inside[o.ID]
	}
	same := l.round.Values[i]
	return l.in.Ins[i], same.Lit == nil && same.ID == o.ID && l.in.Ins[i].Lit == nil
}

// matrix is the value from before the loop by which a product multiplies rows.
func (l *counted) matrix(dot *ops.Instr) (ops.Operand, bool) {
	if len(dot.Attrs[1]) > 0 || len(dot.Attrs[3]) > 0 || dot.Ins[0].Lit != nil {
		return ops.Operand{}, false
	}
	return l.outer(dot.Ins[1])
}

// rows is the value of which a round takes row number counter along an axis.
func (l *counted) rows(o ops.Operand) (x ops.Operand, axis int, slice *ops.Instr) {
	view := l.made[o.ID]
	if !l.inside[o.ID] || view == nil || view.Op != ops.Reshape && view.Op != ops.Squeeze || view.Ins[0].Lit != nil {
		return x, 0, nil
	}
	slice = l.made[view.Ins[0].ID]
	if slice == nil || slice.Op != ops.Slice || !l.inside[view.Ins[0].ID] {
		return x, 0, nil
	}
	x, ok := l.outer(slice.Ins[0])
	shape, axis := l.typeOf(x).Shape, -1
	if !ok || len(slice.Ins) != 1+len(shape) {
		return x, 0, nil
	}
	for i, n := range slice.Attrs[1] {
		start, known := integer(slice.Ins[1+i])
		switch {
		case slice.Attrs[2][i] != 1:
			return x, 0, nil
		case known && start == 0 && n == shape[i]:
		case axis < 0 && slice.Ins[1+i].Lit == nil && slice.Ins[1+i].ID == l.counter && n == 1 && shape[i] == l.rounds:
			axis = i
		default:
			return x, 0, nil
		}
	}
	if axis < 0 || !slices.Equal(view.Outs[0].Type.Shape, slices.Delete(slices.Clone(shape), axis, axis+1)) {
		return x, 0, nil
	}
	return x, axis, slice
}

// hoisted has one product before the loop multiply the rows of all rounds.
func (l *counted) hoisted(dot *ops.Instr) bool {
	w, ok := l.matrix(dot)
	if !ok {
		return false
	}
	x, axis, slice := l.rows(dot.Ins[0])
	if slice == nil {
		return false
	}
	contracted, at := make([]int, len(dot.Attrs[0])), axis
	for i, c := range dot.Attrs[0] {
		contracted[i] = c
		if c >= axis {
			contracted[i]++
		} else {
			at-- // of the axes before it that are left
		}
	}
	result := dot.Outs[0].Type
	all := ops.Type{DType: result.DType, Shape: slices.Insert(slices.Clone(result.Shape), at, l.rounds)}
	if l.products += all.Bytes(); l.products > mostHoisted {
		return false
	}
	y := l.add(ops.Dot, all, [][]int{contracted, nil, dot.Attrs[2], nil}, x, w)
	lengths, ones := slices.Clone(all.Shape), make([]int, len(all.Shape))
	lengths[at] = 1
	zero := slice.Ins[1:][slices.IndexFunc(slice.Ins[1:], func(o ops.Operand) bool { return o.Lit != nil })]
	ins := []ops.Operand{y}
	for i := range ones {
		ones[i] = 1
		if ins = append(ins, zero); i == at {
			ins[1+i] = ops.Operand{ID: l.counter}
		}
	}
	row := l.inRound(ops.Slice, ops.Type{DType: result.DType, Shape: lengths}, [][]int{nil, lengths, ones}, ins...)
	l.body = append(l.body, ops.Instr{Op: ops.Reshape, Ins: []ops.Operand{row}, Outs: dot.Outs})
	return true
}

// inRound adds an instruction to the body of the rounds.
func (l *counted) inRound(op ops.Op, t ops.Type, attrs [][]int, ins ...ops.Operand) ops.Operand {
	l.last++
	l.body = append(l.body, ops.Instr{Op: op, Ins: ins, Outs: []ops.Result{{ID: l.last, Type: t}}, Attrs: attrs})
	l.types[l.last] = t
	return ops.Operand{ID: l.last}
}
