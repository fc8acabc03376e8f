package partition

import (
	"slices"

	"nxvk/synth/codegen"
	"nxvk/synth/fusion"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
)

// addUse adds a use that is not known yet.
func (g *cluster) addUse(s fusion.Use) {
	if !slices.Contains(g.uses, s) {
		g.uses = append(g.uses, s)
	}
}

// fits gives the reason why a kernel of two clusters exceeds a limit; empty if it fits.
func (f *partitioner) fits(a, b *cluster) Reason {
	most := maxCost
	if a.reduction != nil || b.reduction != nil {
		most = maxFoldCost
	}
	if len(a.items)+len(b.items) > maxItems || a.cost+b.cost > most {
		return tooLong
	}
	f.outputs = f.outputsOf(f.outputs[:0], a, b)
	buffers := len(f.outputs)
	for _, g := range []*cluster{a, b} {
		for _, s := range g.uses {
			if g == b && slices.Contains(a.uses, s) || s.Of >= 0 && (f.nodes[s.Of].cluster == a || f.nodes[s.Of].cluster == b) {
				continue
			}
			buffers++
		}
	}
	return budgetFor(f.t, buffers, pushBytes(a.lits, b.lits))
}

// budgetFor gives the reason why a kernel cannot have so many buffers and bytes of literals.
func budgetFor(t *lowering.Target, buffers, push int) Reason {
	if t.Addresses {
		push += 8 * buffers
	}
	switch {
	case buffers > fusion.MaxBuffers:
		return manyBuffers
	case push > t.PushBytes():
		return manyParameters
	}
	return ""
}

// relieve materializes one of the values that an instruction recomputes, if its kernel
// would need too many buffers or push constants. It reports whether there was one.
func (f *partitioner) relieve(i int) bool {
	n := &f.nodes[i]
	if budgetFor(f.t, 1+len(n.uses), pushBytes(f.literals(i), nil)) == "" {
		return false
	}
	longest := -1
	for _, o := range n.in.Ins {
		j, ok := f.producer(o)
		if ok && f.nodes[j].rematerialized && (longest < 0 || f.nodes[j].remat.cost > f.nodes[longest].remat.cost) {
			longest = j
		}
	}
	if longest < 0 {
		return false
	}
	f.materialize(longest)
	return true
}

// pushBytes is an upper bound of the push constants that literals take.
func pushBytes(a, b []litKey) int {
	count, widest := 0, 0
	add := func(k litKey) {
		count += codegen.PartsOf(k.as)
		widest = max(widest, kernel.TypeSize(codegen.WideType(k.as))) // alignment may pad others to it
	}
	for _, k := range a {
		add(k)
	}
	for _, k := range b {
		if !slices.ContainsFunc(a, k.same) {
			add(k)
		}
	}
	return count * widest
}
