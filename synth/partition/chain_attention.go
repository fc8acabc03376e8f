package partition

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/fusion"
)

// In a step of a generation, small fusions make the query of each head and its new key, which they put into a cache. The
// kernel of the attention that reads both carries them out first: each workgroup for its own head.

// attends reports whether the first stage of a fusion is an attention.
func attends(u *fusion.Fusion) bool { return u.StagesOrSelf()[0].Body[0].Op == ops.Attention }

// matrices are the operands of an attention that it multiplies: queries, keys and values.
func matrices(in *ops.Instr) (list []ops.ID) {
	r := in.Regions[0]
	made := map[ops.ID]*ops.Instr{}
	for i := range r.Body {
		made[r.Body[i].Outs[0].ID] = &r.Body[i]
	}
	for i := range r.Body {
		if r.Body[i].Op != ops.Dot {
			continue
		}
		for _, o := range r.Body[i].Ins {
			for o.Lit == nil && made[o.ID] != nil && len(made[o.ID].Ins) == 1 {
				o = made[o.ID].Ins[0]
			}
			k := slices.IndexFunc(r.Params, func(p ops.Result) bool { return o.Lit == nil && p.ID == o.ID })
			if k >= 0 && k < len(in.Ins) && in.Ins[k].Lit == nil {
				list = append(list, in.Ins[k].ID)
			}
		}
	}
	return list
}

// rowsJoined has attention i of a list carry out the small fusions that make its queries, keys and values, those that put rows
// into the latter among them: all of them or none, because what is left of them would take a dispatch all the same.
func (f *partitioner) rowsJoined(list []fusion.Fusion, i int, readers map[ops.ID][]int, gone map[int]bool) {
	if !attends(&list[i]) {
		return
	}
	whole := list[i].StagesOrSelf()
	attention := whole[0]
	read := matrices(&attention.Body[0])
	var stages []fusion.Fusion
	var joined []int
	for k := range i {
		u := &list[k]
		if gone[k] || !slices.ContainsFunc(u.Outs, func(o ops.Result) bool { return slices.Contains(read, o.ID) }) {
			continue
		}
		own := u.StagesOrSelf()
		last := &own[len(own)-1]
		put := &last.Body[len(last.Body)-1]
		switch {
		case fusion.Updates(put) && len(last.Body) == 1 && len(own) == 1:
			attention, own = f.withUpdate(put, &attention), nil
		case last.LastUpdate() != nil && put.Ins[fusion.UpdateBy].Lit == nil && f.light(f.withoutUpdate(u)):
			attention = f.withUpdate(put, &attention)
			own[len(own)-1] = *f.withoutUpdate(last)
		case !f.small(u) || f.nodes[f.made[u.Outs[0].ID]].kept:
			continue
		}
		if len(u.Outs) != 1 || !slices.Equal(readers[u.Outs[0].ID], []int{i}) {
			return
		}
		for _, s := range own {
			if !slices.ContainsFunc(stages, func(o fusion.Fusion) bool { return o.Outs[0].ID == s.Outs[0].ID }) {
				stages = append(stages, s)
			}
		}
		joined = append(joined, k)
	}
	if len(joined) == 0 {
		return
	}
	whole[0] = attention
	c := fusion.Fusion{Stages: append(stages, whole...), Outs: slices.Clone(list[i].Outs), Why: list[i].Why}
	c.Outs = append(c.Outs, attention.Outs[1:]...)
	for _, k := range joined {
		c.Why = chainedWhy(&list[k], &fusion.Fusion{Why: c.Why})
	}
	if c.GatherStages(); !f.caps.Chains(&c, func(id ops.ID) ops.Type { return f.types[id] }, f.t) {
		return
	}
	for _, k := range joined {
		gone[k] = true
	}
	list[i] = c
}

// withoutUpdate is a fusion that ends in a put_slice without that: it gives the slice.
func (f *partitioner) withoutUpdate(u *fusion.Fusion) *fusion.Fusion {
	n := len(u.Body) - 1
	slice := u.Body[n].Ins[fusion.UpdateBy].ID
	c := f.fusionOf(u.Body[:n])
	c.Outs = []ops.Result{{ID: slice, Type: f.types[slice]}}
	return c
}

// withUpdate is an attention behind one put_slice more that makes its keys or values, which it also gives.
func (f *partitioner) withUpdate(put *ops.Instr, attention *fusion.Fusion) fusion.Fusion {
	n := len(attention.Body) - 1
	c := f.fusionOf(slices.Insert(slices.Clone(attention.Body), n, *put))
	c.Outs = append(slices.Clone(attention.Outs), put.Outs[0])
	return *c
}

// fusionOf is a fusion of instructions, without results.
func (f *partitioner) fusionOf(body []ops.Instr) *fusion.Fusion {
	c := &fusion.Fusion{Body: slices.Clone(body)}
	made := map[ops.ID]bool{}
	for _, in := range body {
		for _, o := range in.Ins {
			switch {
			case o.Lit != nil && !slices.Contains(c.Lits, o.Lit):
				c.Lits = append(c.Lits, o.Lit)
			case o.Lit == nil && !made[o.ID] && !slices.Contains(c.Ins, o.ID):
				c.Ins = append(c.Ins, o.ID)
			}
		}
		for _, o := range in.Outs {
			made[o.ID] = true
		}
	}
	return c
}
