package synth

import (
	"slices"

	"nxvk/synth/kernel"
)

// sight is a value in memory as a kernel sees it, through a view. It takes a buffer.
type sight struct {
	of int    // a node or, below zero, a parameter
	by uint64 // a hash of the view; 0 where points have their elements one for one
}

// see adds what is not seen yet.
func (g *group) see(s sight) {
	if !slices.Contains(g.sights, s) {
		g.sights = append(g.sights, s)
	}
}

// sightsOf lists what a traced instruction reads from memory.
func sightsOf(tr *trace) (all []sight) {
	for _, s := range tr.sources {
		if s.kind != fromBuffer {
			continue
		}
		at := sight{of: s.buffer.ref.Index}
		if len(s.shifts) > 0 || !sameView(tr.dims, s.view, tr.full) {
			at.by = siteOf(siteLoad, 0, s.view).hash
			for _, h := range s.shifts {
				at.by = mix(mix(at.by, uint64(h.from)), uint64(h.stride))
			}
		}
		all = append(all, at)
	}
	return all
}

// fits says why a kernel of both groups has no room for its buffers or its code.
func (f *fuser) fits(a, b *group) reason {
	most := maxCost
	if a.fold != nil || b.fold != nil {
		most = maxFoldCost
	}
	if len(a.items)+len(b.items) > maxItems || a.cost+b.cost > most {
		return tooLong
	}
	f.room = f.open(f.room[:0], a, b)
	buffers := len(f.room)
	for _, g := range []*group{a, b} {
		for _, s := range g.sights {
			if g == b && slices.Contains(a.sights, s) || s.of >= 0 && (f.nodes[s.of].group == a || f.nodes[s.of].group == b) {
				continue
			}
			buffers++
		}
	}
	return f.t.holds(buffers, pushBytes(a.lits, b.lits))
}

// holds says why a kernel has no room for so many buffers and bytes of literals.
func (t *Target) holds(buffers, push int) reason {
	if t.Addresses {
		push += 8 * buffers
	}
	switch {
	case buffers > maxBuffers:
		return manyBuffers
	case push > t.maxPush():
		return manyParameters
	}
	return ""
}

// relieve has one of the values that an instruction computes again lie in memory, where
// its kernel, by itself, has no room for what all of them bring along. It reports
// whether there was one.
func (f *fuser) relieve(i int) bool {
	n := &f.nodes[i]
	if f.t.holds(1+len(n.sights), pushBytes(f.literals(i), nil)) == "" {
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

// maxBuffers is how many buffers a kernel may have where they are bound.
const maxBuffers = 32

// pushBytes is what literals take among the push constants at most.
func pushBytes(a, b []litKey) int {
	count, widest := 0, 0
	add := func(k litKey) {
		count += partsOf(k.as)
		widest = max(widest, kernel.TypeSize(wide(k.as))) // to which others may be padded
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
