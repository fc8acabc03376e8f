package graph

import (
	"slices"

	"nxvk/ops"
)

// Invariant returns a region in which loops find before them what is the same in all rounds and takes long to compute, such as
// the sines and cosines of rotary embeddings, or is part of the state (loop-invariant code motion). What else is quickly
// computed stays, because it is part of the kernels that read it, and may be more to read than to compute. The region that is
// given stays as it is.
func Invariant(r *ops.Region) *ops.Region {
	v := &invariants{rewriter: newRewriter(r)}
	v.rewrite = func(in *ops.Instr) bool { return in.Op == ops.While && v.loop(in) }
	return v.region(r)
}

const (
	mostInvariant = 1 << 28 // bytes that are kept while a loop runs
	mostPointwise = 1 << 22 // bytes of elements by functions: of more, memory is no quicker than the function
)

type invariants struct{ *rewriter }

// loop moves what is invariant before the loop.
func (v *invariants) loop(in *ops.Instr) bool {
	round := in.Regions[1]
	before := make(map[ops.ID]ops.Operand) // what parameters of the body are, if they are the same in all rounds
	varies := make(map[ops.ID]bool)
	for i, p := range round.Params {
		if next := round.Values[i]; next.Lit == nil && next.ID == p.ID {
			before[p.ID] = in.Ins[i]
		} else {
			varies[p.ID] = true
		}
	}
	for i := range round.Body {
		x := &round.Body[i]
		if !movable(x) || slices.ContainsFunc(x.Ins, func(o ops.Operand) bool { return o.Lit == nil && varies[o.ID] }) {
			for _, o := range x.Outs {
				varies[o.ID] = true
			}
		}
	}
	moves := moving(round, varies)
	if !slices.Contains(moves, true) {
		return false
	}
	body := make([]ops.Instr, 0, len(round.Body))
	known := make(map[string]*ops.Instr) // instructions that have left the loop, by their structure
	for i := range round.Body {
		x := round.Body[i]
		if !moves[i] {
			body = append(body, x)
			continue
		}
		x.Ins = renamed(x.Ins, before)
		if first := known[structure(&x)]; first != nil {
			for k, o := range x.Outs {
				before[o.ID] = ops.Operand{ID: first.Outs[k].ID}
			}
			continue
		}
		known[structure(&x)] = &round.Body[i]
		v.body = append(v.body, x)
	}
	out := *in
	out.Regions = slices.Clone(in.Regions)
	for _, p := range round.Params { // the state stays what it is
		delete(before, p.ID)
	}
	out.Regions[1] = withoutUnread(renamedIn(&ops.Region{Params: round.Params, Body: body, Values: round.Values}, before))
	v.body = append(v.body, out)
	return true
}

// renamed is a list of operands with others in the place of some.
func renamed(list []ops.Operand, is map[ops.ID]ops.Operand) []ops.Operand {
	list = slices.Clone(list)
	for i, o := range list {
		if other, ok := is[o.ID]; ok && o.Lit == nil {
			list[i] = other
		}
	}
	return list
}

// renamedIn is a region with other operands in the place of some.
func renamedIn(r *ops.Region, is map[ops.ID]ops.Operand) *ops.Region {
	if len(is) == 0 {
		return r
	}
	out := &ops.Region{Params: r.Params, Body: slices.Clone(r.Body), Values: renamed(r.Values, is)}
	for i := range out.Body {
		in := &out.Body[i]
		in.Ins = renamed(in.Ins, is)
		if in.Op.Info().Closed {
			continue
		}
		in.Regions = slices.Clone(in.Regions)
		for k := range in.Regions {
			in.Regions[k] = renamedIn(in.Regions[k], is)
		}
	}
	return out
}

// moving tells which instructions of a round leave it: those that do not vary and take long or are part of the state, which is
// in memory anyway, and what they need.
func moving(round *ops.Region, varies map[ops.ID]bool) []bool {
	moves, needed, state := make([]bool, len(round.Body)), make(map[ops.ID]bool), make(map[ops.ID]bool)
	for _, o := range round.Values {
		if o.Lit == nil {
			state[o.ID] = true
		}
	}
	kept := 0
	for i := len(round.Body) - 1; i >= 0; i-- {
		in := &round.Body[i]
		if len(in.Outs) == 0 || varies[in.Outs[0].ID] {
			continue
		}
		wanted := slices.ContainsFunc(in.Outs, func(o ops.Result) bool { return needed[o.ID] })
		n := bytesOf(in)
		given := state[in.Outs[0].ID] && n <= mostPointwise
		if !wanted && (takesLong(in) || given) && kept+n <= mostInvariant {
			wanted, kept = true, kept+n
		}
		if moves[i] = wanted; !wanted {
			continue
		}
		for _, o := range in.Ins {
			if o.Lit == nil {
				needed[o.ID] = true
			}
		}
	}
	return moves
}

// movable reports whether an instruction gives the same wherever it is, and cannot fail.
func movable(in *ops.Instr) bool {
	if len(in.Regions) > 0 {
		return false
	}
	switch in.Op.Info().Kind {
	case ops.Create, ops.Pointwise, ops.Movement, ops.Reduce, ops.ArgReduce, ops.Contract, ops.Window, ops.Order, ops.Scan, ops.Transform:
		return true
	}
	return false
}

// takesLong reports whether it is better to keep the results of an instruction than to compute them again.
func takesLong(in *ops.Instr) bool {
	switch info := in.Op.Info(); info.Kind {
	case ops.Create, ops.Movement:
		return false
	case ops.Pointwise:
		return info.ULP > 0 && bytesOf(in) <= mostPointwise
	}
	return true
}

// bytesOf is the size of the results of an instruction.
func bytesOf(in *ops.Instr) (n int) {
	for _, o := range in.Outs {
		n += o.Type.Bytes()
	}
	return n
}
