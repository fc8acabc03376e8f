package partition

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/lowering"
)

// Horizontal fusion: updates of many small tensors, as in optimizers, and numbers that do
// not depend on one another would take a dispatch each, which costs more than the work.
// If they have the same shape, one kernel computes all of them.

// MaxHorizontal is the most elements of a tensor that is fused horizontally: a larger one
// keeps the device busy by itself.
const MaxHorizontal = 1 << 15

// maxHorizontalSearch is how many clusters back to search for another one of the same shape.
const maxHorizontalSearch = 4

// fuseHorizontally merges small clusters that do not depend on each other and read nothing in common.
func (f *partitioner) fuseHorizontally() {
	if !f.t.Allows(lowering.RuleHorizontal) {
		return
	}
	bySize := map[int][]*cluster{}
	for i := range f.nodes {
		b := f.nodes[i].cluster
		if b == nil || b.first != i || !f.plain(b) {
			continue
		}
		known := bySize[b.n]
		for _, a := range known[max(0, len(known)-maxHorizontalSearch):] {
			if len(b.items) > 0 && slices.Equal(f.shapeOf(a), f.shapeOf(b)) {
				if f.join(a, b) == "" {
					a.rules |= lowering.RuleHorizontal
				}
			}
		}
		if len(b.items) > 0 {
			bySize[b.n] = append(known, b)
		}
	}
}

// shapeOf is the shape of the results of a plain cluster.
func (f *partitioner) shapeOf(g *cluster) ops.Shape { return f.nodes[g.items[0]].in.Outs[0].Type.Shape }

// plain reports whether a cluster is small and all tensors that it reads have one shape or
// one element, so that any other cluster of the shape fits its iteration space.
func (f *partitioner) plain(g *cluster) bool {
	if g.n == 0 || g.n > MaxHorizontal || g.reduction != nil || g.product {
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
