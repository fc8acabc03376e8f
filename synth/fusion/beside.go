package fusion

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/lowering"
)

// Updates of many small tensors, as optimisers have them, and numbers that have
// nothing to do with one another take a dispatch each, which costs more than the
// work. Where they have the same shape one kernel does it for all.

// MaxHorizontal is the most elements that a tensor may have for a kernel to do another
// one's work besides: larger ones keep a device busy.
const MaxHorizontal = 1 << 15

// besideBack is how many units back one looks for another of the shape.
const besideBack = 4

// fuseHorizontally joins small units that do not depend on each other and read nothing in
// common.
func (f *partitioner) fuseHorizontally() {
	if !f.t.Allows(lowering.RuleHorizontal) {
		return
	}
	bySize := map[int][]*cluster{}
	for i := range f.nodes {
		b := f.nodes[i].group
		if b == nil || b.first != i || !f.plain(b) {
			continue
		}
		known := bySize[b.n]
		for _, a := range known[max(0, len(known)-besideBack):] {
			if len(b.items) > 0 && slices.Equal(f.shapeOf(a), f.shapeOf(b)) {
				if f.join(a, b) == "" {
					a.by |= lowering.RuleHorizontal
				}
			}
		}
		if len(b.items) > 0 {
			bySize[b.n] = append(known, b)
		}
	}
}

// shapeOf is that of the results of a plain unit.
func (f *partitioner) shapeOf(g *cluster) ops.Shape { return f.nodes[g.items[0]].in.Outs[0].Type.Shape }

// plain reports whether a unit is small and all that it looks at has one shape, or
// one element: then any other of the shape comes into its space.
func (f *partitioner) plain(g *cluster) bool {
	if g.n == 0 || g.n > MaxHorizontal || g.fold != nil || g.product {
		return false
	}
	shape := f.shapeOf(g)
	fits := func(t ops.Type) bool { return slices.Equal(t.Shape, shape) || t.Size() == 1 }
	for _, i := range g.items {
		for _, j := range f.nodes[i].body {
			in := f.nodes[j].in
			if f.nodes[j].pattern != patternElementwise || !fits(in.Outs[0].Type) {
				return false
			}
			for _, o := range in.Ins {
				if !fits(f.typeOf(o)) {
					return false
				}
			}
		}
	}
	return true
}
