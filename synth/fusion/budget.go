package fusion

import (
	"slices"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
)

// bufferUse is a value in memory that a kernel reads through a view. It takes a buffer.
type bufferUse struct {
	of int    // a node or, below zero, a parameter
	by uint64 // a hash of the view; 0 if it is the identity
}

// addUse adds a use that is not known yet.
func (g *cluster) addUse(s bufferUse) {
	if !slices.Contains(g.uses, s) {
		g.uses = append(g.uses, s)
	}
}

// usesOf lists what a traced instruction reads from memory.
func usesOf(tr *Trace) (all []bufferUse) {
	for _, s := range tr.Sources {
		if s.Kind != codegen.FromBuffer {
			continue
		}
		at := bufferUse{of: s.Buffer.Ref.Index}
		if len(s.Shifts) > 0 || !SameView(tr.Dims, s.View, tr.Full) {
			at.by = keyOf(keyLoad, 0, s.View).hash
			for _, h := range s.Shifts {
				at.by = mix(mix(at.by, uint64(h.From)), uint64(h.Stride))
			}
		}
		all = append(all, at)
	}
	for _, in := range tr.checked {
		all = append(all, checkUse(in))
	}
	return all
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
			if g == b && slices.Contains(a.uses, s) || s.of >= 0 && (f.nodes[s.of].cluster == a || f.nodes[s.of].cluster == b) {
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
	case buffers > MaxBuffers:
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

// MaxBuffers is the most buffers of a kernel where they are bound.
const MaxBuffers = 32

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
