package synth

import "slices"

// joins reports whether the points of two groups, of which b reads a, can be
// those of one kernel.
func (f *fuser) joins(a, b *group) bool {
	switch {
	case a.fold == nil && b.fold == nil:
		return a.n == b.n && f.t.allows(RulePointwise) && f.only(a, b, along) && f.only(b, a, along)
	case a.fold != nil && b.fold != nil:
		return a.fold.equal(b.fold) && f.t.allows(RuleMulti) && f.only(a, b, along) && f.only(b, a, along)
	case a.fold == nil:
		return f.joinsFold(a, b)
	}
	return f.joinsFold(b, a)
}

// joinsFold is joins for operations on elements and reductions. Of the former,
// those that have an element for each that is folded must be wanted by the
// reductions alone; the others are computed where the totals are.
func (f *fuser) joinsFold(points, folds *group) bool {
	switch points.n {
	case folds.n:
		return f.t.allows(RuleReduceIn) && f.only(points, folds, along) && !f.reads(points, folds) &&
			!slices.ContainsFunc(points.items, func(i int) bool { return f.reachesOut(i, points, folds) })
	case folds.kept:
		return f.t.allows(RuleReduceOut) && f.only(points, folds, along) && f.only(folds, points, along)
	}
	return false
}

// equal reports whether two reductions fold tensors that lie alike.
func (r *reduceShape) equal(o *reduceShape) bool {
	return slices.Equal(r.kept, o.kept) && slices.Equal(r.reduced, o.reduced) &&
		slices.Equal(r.keptAt.strides, o.keptAt.strides) && slices.Equal(r.reducedAt.strides, o.reducedAt.strides)
}

// only reports whether whatever b reads of a is in the given relation.
func (f *fuser) only(a, b *group, want relation) bool {
	for _, i := range b.items {
		for _, d := range f.nodes[i].deps {
			if f.nodes[d.node].group == a && d.relation != want {
				return false
			}
		}
	}
	return true
}
