package partition

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
)

// A dispatch that waits for another one takes some microseconds, however little it does. So a small fusion takes none
// if the kernels that read its results can each carry it out themselves: every workgroup computes all of it and keeps
// the results in shared memory. A step of a generation is such fusions between products of one vector: norms, which
// the next products read, and what is computed from one or two products on the way to the next one.

// Bounds of a fusion that its readers carry out: the elements of a value, its readers, and the fusions of a kernel.
const (
	maxChained = 1 << 12
	maxReaders = 4
	maxStages  = 4
)

// chained has small fusions carried out by their readers, in the order of the list.
func (f *partitioner) chained(list []fusion.Fusion) []fusion.Fusion {
	if f.t.CPU || !f.t.Allows(lowering.RuleChains) {
		return list
	}
	readers := map[ops.ID][]int{}
	for i := range list {
		for _, id := range list[i].Ins {
			readers[id] = append(readers[id], i)
		}
	}
	gone := map[int]bool{}
	for i := range list {
		f.joinedByReader(list, i, readers, gone)
	}
	for i := range list {
		if gone[i] {
			continue
		}
		by := f.readersOf(&list[i], readers)
		var joined []fusion.Fusion
		for _, r := range by {
			if attends(&list[r]) { // see rowsJoined
				break
			}
			u, ok := f.chain(&list[i], &list[r])
			if !ok {
				break
			}
			joined = append(joined, u)
		}
		if len(joined) == 0 || len(joined) < len(by) {
			continue
		}
		gone[i] = true
		for k, r := range by {
			list[r] = joined[k]
			for _, id := range list[r].Ins {
				if !slices.Contains(readers[id], r) {
					readers[id] = append(readers[id], r)
				}
			}
		}
		for _, id := range list[i].Ins {
			readers[id] = slices.DeleteFunc(readers[id], func(r int) bool { return r == i })
		}
	}
	for i := range list {
		if !gone[i] {
			f.rowsJoined(list, i, readers, gone)
			f.productJoined(list, i, readers, gone)
		}
	}
	left := list[:0]
	for i := range list {
		if !gone[i] {
			left = append(left, list[i])
		}
	}
	return left
}

// joinedByReader has the parts of attention i joined by the only kernel that reads its results, maybe in another shape.
func (f *partitioner) joinedByReader(list []fusion.Fusion, i int, readers map[ops.ID][]int, gone map[int]bool) {
	if list[i].Body[0].Op != ops.Attention {
		return
	}
	c, way := list[i], []int{i}
	for {
		out := c.Outs[0].ID
		if len(readers[out]) != 1 || f.nodes[f.made[out]].kept || len(way) > maxStages {
			return
		}
		r := readers[out][0]
		u := &list[r]
		view := len(u.Body) == 1 && f.nodes[f.made[u.Outs[0].ID]].pattern == patternView
		if !view && u.StagesOrSelf()[max(1, len(u.Stages))-1].Contraction() == nil {
			return
		}
		var stages []fusion.Fusion
		stages = append(append(stages, c.StagesOrSelf()...), u.StagesOrSelf()...)
		c = fusion.Fusion{Stages: stages, Outs: u.Outs, Why: chainedWhy(&c, u)}
		if c.GatherStages(); view {
			way = append(way, r)
			continue
		}
		if !f.caps.Chains(&c, func(id ops.ID) ops.Type { return f.types[id] }, f.t) {
			return
		}
		for _, k := range way {
			gone[k] = true
			for _, id := range list[k].Ins {
				readers[id] = slices.DeleteFunc(readers[id], func(at int) bool { return at == k })
			}
		}
		list[r] = c
		for _, id := range c.Ins {
			if !slices.Contains(readers[id], r) {
				readers[id] = append(readers[id], r)
			}
		}
		return
	}
}

// productJoined has a product of a vector that only the epilogue of another one reads carried out by its kernel: a gate, and what
// it gates. Each workgroup carries out both for its own results.
func (f *partitioner) productJoined(list []fusion.Fusion, i int, readers map[ops.ID][]int, gone map[int]bool) {
	u := &list[i]
	last := u.StagesOrSelf()[max(1, len(u.Stages))-1]
	in := last.Contraction()
	if in == nil || len(u.Outs) != 1 || f.nodes[f.made[u.Outs[0].ID]].kept || len(readers[u.Outs[0].ID]) != 1 || !f.ofVector(f.nodes[f.made[in.Outs[0].ID]].cluster) {
		return
	}
	r := &list[readers[u.Outs[0].ID][0]]
	if product := r.StagesOrSelf()[max(1, len(r.Stages))-1]; product.Contraction() == nil {
		return
	}
	if c, ok := f.chain(u, r); ok {
		gone[i], *r = true, c
	}
}

// chainedWhy explains fusion u in the kernel of its reader r.
func chainedWhy(u, r *fusion.Fusion) *fusion.Why {
	if r.Why == nil {
		return nil
	}
	return &fusion.Why{Rules: r.Why.Rules | u.Why.Rules | lowering.RuleChains, Ends: r.Why.Ends}
}

// readersOf lists the fusions that read a small one, if these are few and nothing else needs it.
func (f *partitioner) readersOf(u *fusion.Fusion, readers map[ops.ID][]int) (by []int) {
	if !f.small(u) {
		return nil
	}
	for _, o := range u.Outs {
		if f.nodes[f.made[o.ID]].kept {
			return nil
		}
		by = append(by, readers[o.ID]...)
	}
	slices.Sort(by)
	if by = slices.Compact(by); len(by) > maxReaders {
		return nil
	}
	return by
}

// small reports whether a fusion is one that each workgroup of its readers may carry out: of elementwise operations,
// views and reductions, on few elements.
func (f *partitioner) small(u *fusion.Fusion) bool {
	return f.light(u) && slices.ContainsFunc(u.Body, func(in ops.Instr) bool { // it is more than a view
		p := f.nodes[f.made[in.Outs[0].ID]].pattern
		return p == patternElementwise || p == patternReduction
	})
}

// light is small for views, too.
func (f *partitioner) light(u *fusion.Fusion) bool {
	if len(u.Whole) > 0 {
		return false
	}
	for i := range u.Body {
		in := &u.Body[i]
		n := &f.nodes[f.made[in.Outs[0].ID]]
		switch {
		case n.pattern == patternOpaque, n.pattern == patternContraction, n.checks, fusion.Updates(in), in.Outs[0].Type.Size() > maxChained:
			return false
		case n.pattern == patternReduction && f.typeOf(in.Ins[0]).Size() > maxChained:
			return false
		}
	}
	return true
}

// updatesMade reports whether fusion r is an update of a tensor that u makes, or an update alone. Its plan copies the tensor
// first, or has it updated in place: it is in memory.
func updatesMade(u, r *fusion.Fusion) bool {
	last := &r.Body[len(r.Body)-1]
	return fusion.Updates(last) && (len(r.Body) == 1 || u.Gives(last.Ins[fusion.UpdateOf].ID))
}

// chain is reader r with fusion u in its kernel, if that has room for it.
func (f *partitioner) chain(u, r *fusion.Fusion) (c fusion.Fusion, ok bool) {
	last := &r.Body[len(r.Body)-1]
	if len(r.Whole) > 0 || f.nodes[f.made[last.Outs[0].ID]].pattern == patternOpaque || updatesMade(u, r) {
		return c, false
	}
	for _, s := range append(u.StagesOrSelf(), r.StagesOrSelf()...) {
		if !slices.ContainsFunc(c.Stages, func(o fusion.Fusion) bool { return o.Outs[0].ID == s.Outs[0].ID }) {
			c.Stages = append(c.Stages, s)
		}
	}
	c.Outs = r.Outs
	c.GatherStages()
	c.Why = chainedWhy(u, r)
	return c, len(c.Stages) <= maxStages && f.caps.Chains(&c, func(id ops.ID) ops.Type { return f.types[id] }, f.t)
}
