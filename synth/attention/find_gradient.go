package attention

import (
	"maps"
	"slices"

	"nxvk/ops"
	"nxvk/synth/attention/gradient"
	"nxvk/synth/lowering"
)

// FindGradients returns a region that computes the values of r, with gradients of attention in one instruction each
// where that pays on the device. They compute scores and weights again, so that only the attention itself reads those that
// it has computed; where something else does, too, a gradient stays as it is written. The region is not changed.
func FindGradients(r *ops.Region, t *lowering.Target) *ops.Region {
	if t == nil || t.CPU || !t.Allows(lowering.RuleAttention|lowering.RuleGradients) {
		return r
	}
	return findGradients(r, t, map[ops.ID]ops.Type{})
}

func findGradients(r *ops.Region, t *lowering.Target, outer map[ops.ID]ops.Type) *ops.Region {
	if !multiplies(r) {
		return r
	}
	f := newFinder(r, t, outer)
	for i := 0; i < len(f.body); i++ {
		if f.body[i].Op != ops.Dot {
			continue
		}
		if found, ok := f.gradient(r, i, outer); ok {
			r, f, i = found, newFinder(found, t, outer), -1
		}
	}
	changed := false
	for i := range f.body {
		in := &f.body[i]
		if in.Op.Info().Closed {
			continue
		}
		for k, inner := range in.Regions {
			if found := findGradients(inner, t, f.types); found != inner {
				in.Regions = slices.Clone(in.Regions)
				in.Regions[k], changed = found, true
			}
		}
	}
	if !changed {
		return r
	}
	return &ops.Region{Params: r.Params, Body: f.body, Values: r.Values}
}

// gradient finds the gradient of an attention that product i is the first of: dQ or dK.
func (f *finder) gradient(r *ops.Region, i int, outer map[ops.ID]ops.Type) (found *ops.Region, ok bool) {
	for _, o := range f.body[i].Ins {
		if o.Lit != nil {
			continue
		}
		before := f.upstream(o.ID)
		var products []int
		for _, k := range before {
			if in := &f.body[k]; in.Op == ops.Dot {
				products = append(products, k)
			}
		}
		if k, made := f.made[o.ID]; len(products) != 2 || !made || f.body[k].Op == ops.Dot {
			continue
		}
		for k, inner := range products {
			scores := products[1-k]
			if found, ok = f.backward(r, o.ID, scores, inner, before, outer); ok {
				return found, true
			}
		}
	}
	return nil, false
}

// backward makes one instruction of the products by dS, which scores and another product inner are upstream of, and
// of that by the weights, dV. It reports false where something else reads what they read, or the instruction does not pay.
func (f *finder) backward(r *ops.Region, ds ops.ID, scores, inner int, before []int, outer map[ops.ID]ops.Type) (*ops.Region, bool) {
	size := f.types[ds].Size()
	for _, k := range []int{scores, inner} {
		if f.body[k].Outs[0].Type.Size() != size || f.body[k].Ins[0].Lit != nil || f.body[k].Ins[1].Lit != nil {
			return nil, false
		}
	}
	outs, uses := f.readers(ds), 0
	for _, k := range outs {
		for _, o := range f.body[k].Ins {
			if o.Lit == nil && o.ID == ds {
				uses++
			}
		}
	}
	own := f.dependents(before, inner)
	if uses != f.uses[ds] || !f.ends(own, ds) {
		return nil, false
	}
	outs = append(outs, f.byWeights(before, scores, inner)...)
	slices.Sort(outs)
	for _, all := range []bool{true, false} {
		in, ok := f.backwardInstr(before, scores, inner, outs, all)
		if !ok {
			continue
		}
		g := *f
		g.body, g.gone = slices.Clone(f.body), own
		for _, k := range outs[1:] {
			g.gone[k] = true
		}
		g.body[outs[0]] = *in
		found, ok := g.ordered(r)
		if !ok {
			return nil, false
		}
		// The attention itself must not have the scores in memory.
		left := find(found, f.target, outer, nil)
		id := r.Body[scores].Outs[0].ID
		if slices.ContainsFunc(left.Body, func(in ops.Instr) bool { return in.Outs != nil && in.Outs[0].ID == id }) {
			return nil, false
		}
		return found, true
	}
	return nil, false
}

// readers lists the products that read a value.
func (f *finder) readers(id ops.ID) (list []int) {
	for i := range f.body {
		in := &f.body[i]
		if in.Op == ops.Dot && slices.ContainsFunc(in.Ins, func(o ops.Operand) bool { return o.Lit == nil && o.ID == id }) {
			list = append(list, i)
		}
	}
	return list
}

// ends reports whether nothing but instructions of a set reads what they make, except for the last value.
func (f *finder) ends(set map[int]bool, last ops.ID) bool {
	reads := map[ops.ID]int{}
	for i := range set {
		for _, o := range f.body[i].Ins {
			if o.Lit == nil {
				reads[o.ID]++
			}
		}
	}
	for i := range set {
		if id := f.body[i].Outs[0].ID; id != last && reads[id] != f.uses[id] {
			return false
		}
	}
	return true
}

// byWeights lists the products of dV: one operand is weights, of the scores alone, and the other one is that of the
// inner product.
func (f *finder) byWeights(before []int, scores, inner int) (list []int) {
	for _, i := range f.readers(f.body[inner].Ins[0].ID) {
		if i == inner {
			continue
		}
		for _, o := range f.body[i].Ins {
			if o.Lit != nil || f.types[o.ID].Size() != f.body[scores].Outs[0].Type.Size() {
				continue
			}
			products := slices.DeleteFunc(f.upstream(o.ID), func(k int) bool { return f.body[k].Op != ops.Dot })
			if len(products) == 1 && products[0] == scores {
				list = append(list, i)
				break
			}
		}
	}
	return list
}

// backwardInstr is the instruction of products outs, with the values between. With all it computes masks and
// biases itself, as far as it can; else it reads them.
func (f *finder) backwardInstr(before []int, scores, inner int, outs []int, all bool) (*ops.Instr, bool) {
	depends := f.dependents(before, scores)
	maps.Copy(depends, f.dependents(before, inner))
	has := map[int]bool{}
	for _, i := range outs {
		has[i] = true
		for _, o := range f.body[i].Ins {
			if o.Lit != nil {
				return nil, false
			}
			maps.Copy(has, f.upstreamOf(o.ID, scores))
		}
	}
	for _, i := range before {
		switch in := &f.body[i]; {
		case depends[i]:
			has[i] = true
		case in.Op != ops.Dot && in.Op != ops.Sum && in.Op != ops.ReduceMax && (all || looks(in)) && in.Op != ops.Constant:
			has[i] = true
		}
	}
	for _, i := range append([]int{scores, inner}, outs...) {
		f.addViews(f.body[i].Ins[0], has)
		f.addViews(f.body[i].Ins[1], has)
	}
	in := f.instr(has, false, outs...)
	types := make([]ops.Type, len(in.Ins))
	for i := range types {
		types[i] = in.Regions[0].Params[i].Type
	}
	if in.Check(types) != nil {
		return nil, false
	}
	j, err := gradient.New(in, f.target)
	if err != nil || !Always && !j.Pays() {
		return nil, false
	}
	buffers := slices.Clone(types)
	for _, o := range in.Outs {
		buffers = append(buffers, o.Type)
	}
	_, err = f.target.WithBindings(func(t *lowering.Target) (*lowering.Plan, error) { return Lower(in, types, t) }, buffers...)
	return in, err == nil
}

// upstreamOf are the instructions upstream of a value that depend on a product.
func (f *finder) upstreamOf(id ops.ID, product int) map[int]bool {
	before := f.upstream(id)
	if !slices.Contains(before, product) {
		return nil
	}
	return f.dependents(before, product)
}

// ordered is the region without what is gone and what nothing reads, each instruction behind those that it reads. It
// reports false where another one than those that one kernel may have would have to move, or where there is no such order.
func (f *finder) ordered(r *ops.Region) (*ops.Region, bool) {
	from := f.finish(r)
	made := map[ops.ID]int{}
	for i := range from.Body {
		for _, o := range from.Body[i].Outs {
			made[o.ID] = i
		}
	}
	out := &ops.Region{Params: r.Params, Values: r.Values}
	begun, put := make([]bool, len(from.Body)), make([]bool, len(from.Body))
	var visit func(i, at int) bool
	visit = func(i, at int) bool {
		if begun[i] || i > at && !joins(&from.Body[i]) {
			return put[i]
		}
		begun[i] = true
		for _, o := range from.Body[i].Ins {
			if k, ok := made[o.ID]; ok && o.Lit == nil && !visit(k, at) {
				return false
			}
		}
		out.Body, put[i] = append(out.Body, from.Body[i]), true
		return true
	}
	for i := range from.Body {
		if !visit(i, i) {
			return nil, false
		}
	}
	return out, true
}
