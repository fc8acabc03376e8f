package graph

import (
	"slices"

	"nxvk/ops"
)

// rewriter replaces instructions of a region, and of those in its instructions, by several others.
type rewriter struct {
	last    ops.ID // the highest id that is taken
	uses    map[ops.ID]int
	made    map[ops.ID]*ops.Instr
	types   map[ops.ID]ops.Type
	body    []ops.Instr              // so far, of the region under way
	rewrite func(in *ops.Instr) bool // adds what becomes of an instruction; false where it stays
}

func newRewriter(r *ops.Region) *rewriter {
	return &rewriter{last: r.LastID(), uses: usesIn(r), made: make(map[ops.ID]*ops.Instr), types: make(map[ops.ID]ops.Type)}
}

// region rewrites a region and those of its instructions.
func (w *rewriter) region(r *ops.Region) *ops.Region {
	outer, changed := w.body, false
	w.body = make([]ops.Instr, 0, len(r.Body))
	for _, p := range r.Params {
		w.types[p.ID] = p.Type
	}
	for i := range r.Body {
		in := &r.Body[i]
		if out := w.inside(in); out != in {
			in, changed = out, true
		}
		for _, o := range in.Outs {
			w.made[o.ID], w.types[o.ID] = in, o.Type
		}
		if w.rewrite(in) {
			changed = true
			continue
		}
		w.body = append(w.body, *in)
	}
	body := w.body
	w.body = outer
	if !changed {
		return r
	}
	return &ops.Region{Params: r.Params, Body: body, Values: r.Values}
}

// inside rewrites the regions of an instruction.
func (w *rewriter) inside(in *ops.Instr) *ops.Instr {
	if in.Op.Info().Closed {
		return in
	}
	out := in
	for k, inner := range in.Regions {
		r := w.region(inner)
		if r == inner {
			continue
		}
		if out == in {
			clone := *in
			clone.Regions = slices.Clone(in.Regions)
			out = &clone
		}
		out.Regions[k] = r
	}
	return out
}

// typeOf is the type of an operand.
func (w *rewriter) typeOf(o ops.Operand) ops.Type {
	if o.Lit != nil {
		return o.Lit.Type
	}
	return w.types[o.ID]
}

// add adds an instruction with one result.
func (w *rewriter) add(op ops.Op, t ops.Type, attrs [][]int, ins ...ops.Operand) ops.Operand {
	w.last++
	w.body = append(w.body, ops.Instr{Op: op, Ins: ins, Outs: []ops.Result{{ID: w.last, Type: t}}, Attrs: attrs})
	w.types[w.last] = t
	return ops.Operand{ID: w.last}
}
