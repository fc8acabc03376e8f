package model

import (
	"math"
	"slices"

	"nxvk/ops"
	"nxvk/test/draw"
)

// tape has the derivatives of a scalar by the values of straight-line code, from its end on.
type tape struct {
	*Model
	depends map[ops.ID]bool // on what it is derived by
	by      map[ops.ID]ops.Operand
}

// gradient lists the derivatives of a loss by some values, by the rules of Nx.Defn.Grad. The loss is computed from
// instruction from on. A value that the loss does not depend on has zeros.
func (m *Model) gradient(loss ops.Operand, of []ops.Operand, from int) []ops.Operand {
	t := &tape{Model: m, depends: make(map[ops.ID]bool), by: make(map[ops.ID]ops.Operand)}
	for _, o := range of {
		t.depends[o.ID] = true
	}
	body := slices.Clone(m.Body[from:])
	for i := range body {
		in := &body[i]
		if in.Outs[0].Type.DType.IsInteger() || len(in.Regions) > 0 {
			continue
		}
		if slices.ContainsFunc(in.Ins, func(o ops.Operand) bool { return o.Lit == nil && t.depends[o.ID] }) {
			t.depends[in.Outs[0].ID] = true
		}
	}
	t.by[loss.ID] = m.num(loss, 1)
	for i := len(body) - 1; i >= 0; i-- {
		in := &body[i]
		if g, ok := t.by[in.Outs[0].ID]; ok && t.depends[in.Outs[0].ID] {
			t.back(in, g)
		}
	}
	var list []ops.Operand
	for _, o := range of {
		g, ok := t.by[o.ID]
		if !ok {
			g = m.full(m.dtype(o), 0, m.shape(o))
		}
		list = append(list, g)
	}
	return list
}

// add adds a derivative by an operand, if the loss is derived by what it is computed from.
func (t *tape) add(o ops.Operand, g func() ops.Operand) {
	if o.Lit != nil || !t.depends[o.ID] {
		return
	}
	x := t.unbroadcast(g(), t.shape(o))
	if old, ok := t.by[o.ID]; ok {
		x = t.e(ops.Add, old, x)
	}
	t.by[o.ID] = x
}

// unbroadcast sums over the axes along which an operand was repeated.
func (t *tape) unbroadcast(g ops.Operand, s ops.Shape) ops.Operand {
	have := t.shape(g)
	if have.Equal(s) {
		return g
	}
	if len(have) < len(s) { // a literal
		return t.broadcast(g, s, axes(len(s)-len(have), len(s)))
	}
	extra := len(have) - len(s)
	over := axes(0, extra)
	for i, n := range s {
		if n == 1 && have[extra+i] != 1 {
			over = append(over, extra+i)
		}
	}
	if len(over) > 0 {
		g = t.fold(ops.Sum, g, over, 0)
	}
	return t.reshape(g, s...)
}

// back adds the derivatives by the operands of an instruction, of which g is that by its result.
func (t *tape) back(in *ops.Instr, g ops.Operand) {
	if t.elements(in, g) || t.look(in, g) || t.sums(in, g) || t.indices(in, g) || t.windows(in, g) {
		return
	}
	panic("BUG: no derivative of " + in.Op.String())
}

// elements are the rules of operations on elements.
func (t *tape) elements(in *ops.Instr, g ops.Operand) bool {
	ans, x := ops.Operand{ID: in.Outs[0].ID}, in.Ins[0]
	of := func(f func() ops.Operand) bool { t.add(x, f); return true }
	mul := func(a, b ops.Operand) ops.Operand { return t.e(ops.Multiply, a, b) }
	one := func(o ops.Operand) ops.Operand { return t.num(o, 1) }
	switch in.Op {
	case ops.Add, ops.Subtract, ops.Multiply, ops.Divide, ops.Pow, ops.Max, ops.Min:
		t.pair(in, g)
		return true
	case ops.Select:
		zero := t.num(g, 0)
		t.add(in.Ins[1], func() ops.Operand { return t.e(ops.Select, x, g, zero) })
		t.add(in.Ins[2], func() ops.Operand { return t.e(ops.Select, x, zero, g) })
		return true
	case ops.Exp:
		return of(func() ops.Operand { return mul(g, ans) })
	case ops.Log:
		return of(func() ops.Operand { return t.e(ops.Divide, g, x) })
	case ops.Log1p:
		return of(func() ops.Operand { return t.e(ops.Divide, g, t.e(ops.Add, x, one(x))) })
	case ops.Tanh:
		return of(func() ops.Operand { return mul(g, t.e(ops.Subtract, one(ans), mul(ans, ans))) })
	case ops.Sigmoid:
		return of(func() ops.Operand { return mul(mul(g, ans), t.e(ops.Subtract, one(ans), ans)) })
	case ops.Sqrt:
		return of(func() ops.Operand { return t.e(ops.Divide, mul(g, t.num(g, 0.5)), ans) })
	case ops.Rsqrt:
		return of(func() ops.Operand { return mul(g, mul(t.num(x, -0.5), t.e(ops.Pow, x, t.num(x, -1.5)))) })
	case ops.Erf:
		return of(func() ops.Operand {
			return mul(mul(t.num(x, 2/math.Sqrt(math.Pi)), g), t.e(ops.Exp, t.e(ops.Negate, mul(x, x))))
		})
	case ops.Sin:
		return of(func() ops.Operand { return mul(g, t.e(ops.Cos, x)) })
	case ops.Cos:
		return of(func() ops.Operand { return mul(g, t.e(ops.Negate, t.e(ops.Sin, x))) })
	case ops.Negate:
		return of(func() ops.Operand { return t.e(ops.Negate, g) })
	case ops.Abs:
		return of(func() ops.Operand {
			return t.e(ops.Select, t.is(ops.GreaterEqual, x, t.num(x, 0)), g, t.e(ops.Negate, g))
		})
	case ops.AsType:
		return of(func() ops.Operand { return t.cast(g, t.dtype(x)) })
	}
	return false
}

// pair are the rules of operations on two operands.
func (t *tape) pair(in *ops.Instr, g ops.Operand) {
	ans, x, y := ops.Operand{ID: in.Outs[0].ID}, in.Ins[0], in.Ins[1]
	same := func() ops.Operand { return g }
	chosen := func(op ops.Op) func() ops.Operand {
		return func() ops.Operand { return t.e(ops.Multiply, g, t.cast(t.is(op, x, y), t.dtype(g))) }
	}
	switch in.Op {
	case ops.Add:
		t.add(x, same)
		t.add(y, same)
	case ops.Subtract:
		t.add(x, same)
		t.add(y, func() ops.Operand { return t.e(ops.Negate, g) })
	case ops.Multiply:
		if x.Lit == nil && x.ID == y.ID {
			t.add(x, func() ops.Operand { return t.e(ops.Multiply, g, t.e(ops.Multiply, t.num(x, 2), x)) })
			return
		}
		t.add(x, func() ops.Operand { return t.e(ops.Multiply, g, y) })
		t.add(y, func() ops.Operand { return t.e(ops.Multiply, g, x) })
	case ops.Divide:
		t.add(x, func() ops.Operand { return t.e(ops.Divide, g, y) })
		t.add(y, func() ops.Operand { return t.e(ops.Divide, t.e(ops.Multiply, g, ans), t.e(ops.Negate, y)) })
	case ops.Pow: // of a number
		p := draw.Decode(y.Lit.Data, y.Lit.Type)[0]
		t.add(x, func() ops.Operand {
			return t.e(ops.Multiply, t.e(ops.Multiply, g, y), t.e(ops.Pow, x, draw.Number(y.Lit.Type.DType, p-1)))
		})
	case ops.Max:
		t.add(x, chosen(ops.GreaterEqual))
		t.add(y, chosen(ops.Less))
	case ops.Min:
		t.add(x, chosen(ops.LessEqual))
		t.add(y, chosen(ops.Greater))
	}
}

// look are the rules of operations that move elements.
func (t *tape) look(in *ops.Instr, g ops.Operand) bool {
	x := in.Ins[0]
	s := t.shape(x)
	zero := t.num(g, 0)
	of := func(f func() ops.Operand) bool { t.add(x, f); return true }
	switch in.Op {
	case ops.Reshape, ops.Squeeze:
		return of(func() ops.Operand { return t.reshape(t.whole(in, g), s...) })
	case ops.BroadcastTo:
		return of(func() ops.Operand {
			over := without(len(in.Outs[0].Type.Shape), in.Attrs[0])
			for i, a := range in.Attrs[0] {
				if s[i] == 1 && in.Outs[0].Type.Shape[a] != 1 {
					over = append(over, a)
				}
			}
			slices.Sort(over)
			if g = t.whole(in, g); len(over) > 0 {
				g = t.fold(ops.Sum, g, over, 0)
			}
			return t.reshape(g, s...)
		})
	case ops.Transpose:
		return of(func() ops.Operand {
			back := make([]int, len(s))
			for i, a := range in.Attrs[0] {
				back[a] = i
			}
			return t.transpose(t.whole(in, g), back...)
		})
	case ops.Reverse:
		return of(func() ops.Operand { return t.do(ops.Reverse, t.dtype(g), nil, in.Attrs, t.whole(in, g)) })
	case ops.Pad:
		return of(func() ops.Operand {
			var crop []int
			for i := range s {
				if in.Attrs[0][3*i+2] != 0 {
					panic("BUG: no derivative of a padding between elements")
				}
				crop = append(crop, -in.Attrs[0][3*i], -in.Attrs[0][3*i+1], 0)
			}
			return t.do(ops.Pad, t.dtype(g), nil, [][]int{crop}, t.whole(in, g), zero)
		})
	case ops.Slice:
		return of(func() ops.Operand { return t.unslice(in, t.whole(in, g)) })
	case ops.PutSlice:
		t.put(in, t.whole(in, g))
		return true
	case ops.Concatenate, ops.Stack:
		t.parts(in, t.whole(in, g))
		return true
	}
	return false
}

// put are the rules of an update: zeros where the slice is, and what is there.
func (t *tape) put(in *ops.Instr, g ops.Operand) {
	x, u := in.Ins[0], in.Ins[1]
	t.add(x, func() ops.Operand {
		zeros := t.full(t.dtype(g), 0, t.shape(u))
		return t.do(ops.PutSlice, t.dtype(g), nil, in.Attrs, append([]ops.Operand{g, zeros}, in.Ins[2:]...)...)
	})
	t.add(u, func() ops.Operand {
		ones := slices.Repeat([]int{1}, t.rank(x))
		return t.do(ops.Slice, t.dtype(g), nil, [][]int{in.Attrs[0], t.shape(u), ones}, append([]ops.Operand{g}, in.Ins[2:]...)...)
	})
}

// parts are the rules of a concatenation or a stack: a slice for each operand.
func (t *tape) parts(in *ops.Instr, g ops.Operand) {
	axis, at := in.Attrs[0][0], 0
	for _, o := range in.Ins {
		from, n := at, 1
		if in.Op == ops.Concatenate {
			n = t.shape(o)[axis]
		}
		t.add(o, func() ops.Operand {
			if in.Op == ops.Stack {
				return t.at(g, axis, from)
			}
			return t.part(g, axis, from, n)
		})
		at += n
	}
}

// whole is a derivative in the shape of a result.
func (t *tape) whole(in *ops.Instr, g ops.Operand) ops.Operand {
	return t.unbroadcast(g, in.Outs[0].Type.Shape)
}

// unslice is a derivative where a slice was, with zeros around it.
func (t *tape) unslice(in *ops.Instr, g ops.Operand) ops.Operand {
	x := in.Ins[0]
	s := t.shape(x)
	if len(in.Ins) > 1 {
		return t.do(ops.PutSlice, t.dtype(g), nil, [][]int{{}}, append([]ops.Operand{t.full(t.dtype(g), 0, s), g}, in.Ins[1:]...)...)
	}
	var cfg []int
	for i, n := range s {
		at, step, have := in.Attrs[0][i], in.Attrs[2][i], t.shape(g)[i]
		cfg = append(cfg, at, n-at-((have-1)*step+1), step-1)
	}
	return t.do(ops.Pad, t.dtype(g), nil, [][]int{cfg}, g, t.num(g, 0))
}
