package graph

import (
	"slices"

	"nxvk/ops"
)

// A loop is unrolled if its predicate is known before every round, as with a counter,
// and its body only computes and moves elements. Its rounds are then one kernel.
// Others gain nothing by it.
const (
	maxTrips    = 64
	maxUnrolled = 512  // instructions that a loop becomes, with those inside of it
	maxWritten  = 8192 // those of all loops of a program
)

// Unroll returns a region without the loops that can be written out. Its values
// are the same, bit for bit: eval computes what makes the predicates known, as
// whoever runs the region would. The region that is given stays as it is.
func Unroll(r *ops.Region, eval Eval) *ops.Region {
	if eval == nil || !slices.ContainsFunc(r.Body, hasLoop) {
		return r
	}
	u := &unroller{eval: eval, is: make(map[ops.ID]ops.Operand)}
	u.last = r.LastID()
	return u.region(r)
}

// hasLoop reports whether there is a loop in an instruction.
func hasLoop(in ops.Instr) bool {
	return in.Op == ops.While || slices.ContainsFunc(in.Regions, func(r *ops.Region) bool {
		return slices.ContainsFunc(r.Body, hasLoop)
	})
}

// unroller writes loops out.
type unroller struct {
	eval    Eval
	last    ops.ID                 // that has been given
	is      map[ops.ID]ops.Operand // the values that replace the results of unrolled loops
	tried   []ops.ID               // what has a value in is since the loop under way began
	made    int                    // instructions that the loop under way became
	written int                    // those of all loops
}

// region copies a region without its loops.
func (u *unroller) region(r *ops.Region) *ops.Region {
	out := &ops.Region{Params: r.Params}
	for i := range r.Body {
		in := r.Body[i]
		in.Ins = u.operands(in.Ins)
		if in.Op == ops.While {
			u.made, u.tried = 0, u.tried[:0]
			if body, state, ok := u.loop(nil, &in); ok && u.written+u.made <= maxWritten {
				out.Body = append(out.Body, body...)
				u.written += u.made
				u.name(in.Outs, state)
				continue
			}
			for _, id := range u.tried {
				delete(u.is, id)
			}
		}
		in.Regions = slices.Clone(in.Regions)
		for k, inner := range in.Regions {
			in.Regions[k] = u.region(inner)
		}
		out.Body = append(out.Body, in)
	}
	out.Values = u.operands(r.Values)
	return out
}

// operands replaces values that are gone by those that stand for them.
func (u *unroller) operands(list []ops.Operand) []ops.Operand { return renamed(list, u.is) }

func (u *unroller) name(list []ops.Result, is []ops.Operand) {
	for i, r := range list {
		u.set(r.ID, is[i])
	}
}

func (u *unroller) set(id ops.ID, is ops.Operand) { u.is[id], u.tried = is, append(u.tried, id) }

// loop appends the rounds of a loop to a body, and gives the state after the last.
func (u *unroller) loop(body []ops.Instr, in *ops.Instr) (out []ops.Instr, state []ops.Operand, ok bool) {
	cond, round := in.Regions[0], in.Regions[1]
	state = in.Ins
	for range maxTrips + 1 {
		_, on, ok := u.inline(nil, cond, state)
		if !ok || on[0].Lit == nil {
			return nil, nil, false
		}
		more, ok := on[0].Lit.Integer()
		if !ok {
			return nil, nil, false
		}
		if more == 0 {
			return body, state, true
		}
		if body, state, ok = u.inline(body, round, state); !ok {
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// inline appends the instructions of a region that it is known to be applied to,
// under new names, and gives the region's values.
func (u *unroller) inline(body []ops.Instr, r *ops.Region, args []ops.Operand) (out []ops.Instr, values []ops.Operand, ok bool) {
	u.name(r.Params, args)
	for i := range r.Body {
		in := r.Body[i]
		in.Ins = u.operands(in.Ins)
		if in.Op == ops.While {
			var state []ops.Operand
			if body, state, ok = u.loop(body, &in); !ok {
				return nil, nil, false
			}
			u.name(in.Outs, state)
			continue
		}
		if lit := u.known(&in); lit != nil {
			u.set(in.Outs[0].ID, ops.Operand{Lit: lit})
			continue
		}
		if u.made++; u.made > maxUnrolled || !elementwise(&in) {
			return nil, nil, false
		}
		in.Outs = slices.Clone(in.Outs)
		for k := range in.Outs {
			u.last++
			u.set(in.Outs[k].ID, ops.Operand{ID: u.last})
			in.Outs[k].ID = u.last
		}
		body = append(body, in)
	}
	return body, u.operands(r.Values), true
}

// elementwise reports whether an instruction computes or moves elements, one by
// one.
func elementwise(in *ops.Instr) bool {
	switch in.Op.Info().Kind {
	case ops.Create, ops.Pointwise, ops.Movement:
		return len(in.Regions) == 0
	}
	return false
}

// known is the result of an instruction on literals, nil where it is not known: a
// scalar that is computed, or an element of a tensor.
func (u *unroller) known(in *ops.Instr) *ops.Literal {
	for _, o := range in.Ins {
		if o.Lit == nil || o.Lit.Hold != nil || len(o.Lit.Data) == 0 {
			return nil
		}
	}
	if len(in.Ins) == 0 || len(in.Outs) != 1 || in.Outs[0].Type.Size() != 1 {
		return nil
	}
	to, data := in.Outs[0].Type, in.Ins[0].Lit.Data
	switch {
	case in.Op == ops.Squeeze || in.Op == ops.Reshape:
		return &ops.Literal{Type: to, Data: data}
	case in.Op == ops.Slice:
		at, ok := firstOf(in)
		if size := to.DType.Size(); ok {
			return &ops.Literal{Type: to, Data: data[at*size : (at+1)*size]}
		}
	case in.Op.Info().Kind == ops.Pointwise && len(to.Shape) == 0 && !to.DType.IsComplex():
		if data, err := u.eval(in); err == nil { // it fails when it runs, too, and says so
			return &ops.Literal{Type: to, Data: data}
		}
	}
	return nil
}

// firstOf is where the first element of a slice of a literal is.
func firstOf(in *ops.Instr) (at int, ok bool) {
	starts, s := in.Attrs[0], in.Ins[0].Lit.Type.Shape
	if len(in.Ins) > 1 {
		starts = make([]int, len(in.Ins)-1)
		for i, o := range in.Ins[1:] {
			n, ok := o.Lit.Integer()
			if !ok || len(o.Lit.Type.Shape) > 0 {
				return 0, false
			}
			starts[i] = int(n)
		}
	}
	for i, n := range clamped(starts, s, in.Attrs[1]) {
		at += n * s.Strides()[i]
	}
	return at, true
}
