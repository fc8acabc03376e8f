package fusion

import (
	"slices"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
)

// bufferUse is a value in memory as a kernel sees it, through a view. It takes a buffer.
type bufferUse struct {
	of int    // a node or, below zero, a parameter
	by uint64 // a hash of the view; 0 where points have their elements one for one
}

// see adds what is not seen yet.
func (g *cluster) see(s bufferUse) {
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
	return all
}

// fits says why a kernel of both groups has no room for its buffers or its code.
func (f *partitioner) fits(a, b *cluster) Reason {
	most := maxCost
	if a.fold != nil || b.fold != nil {
		most = maxFoldCost
	}
	if len(a.items)+len(b.items) > maxItems || a.cost+b.cost > most {
		return tooLong
	}
	f.room = f.open(f.room[:0], a, b)
	buffers := len(f.room)
	for _, g := range []*cluster{a, b} {
		for _, s := range g.uses {
			if g == b && slices.Contains(a.uses, s) || s.of >= 0 && (f.nodes[s.of].group == a || f.nodes[s.of].group == b) {
				continue
			}
			buffers++
		}
	}
	return budgetFor(f.t, buffers, pushBytes(a.lits, b.lits))
}

// budgetFor says why a kernel has no room for so many buffers and bytes of literals.
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

// relieve has one of the values that an instruction computes again lie in memory, where
// its kernel, by itself, has no room for what all of them bring along. It reports
// whether there was one.
func (f *partitioner) relieve(i int) bool {
	n := &f.nodes[i]
	if budgetFor(f.t, 1+len(n.uses), pushBytes(f.literals(i), nil)) == "" {
		return false
	}
	longest := -1
	for _, o := range n.in.Ins {
		j, ok := f.maker(o)
		if ok && f.nodes[j].pulled && (longest < 0 || f.nodes[j].pull.cost > f.nodes[longest].pull.cost) {
			longest = j
		}
	}
	if longest < 0 {
		return false
	}
	f.settle(longest)
	return true
}

// MaxBuffers is how many buffers a kernel may have where they are bound.
const MaxBuffers = 32

// pushBytes is what literals take among the push constants at most.
func pushBytes(a, b []litKey) int {
	count, widest := 0, 0
	add := func(k litKey) {
		count += codegen.PartsOf(k.as)
		widest = max(widest, kernel.TypeSize(codegen.WideType(k.as))) // to which others may be padded
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
