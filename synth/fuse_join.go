package synth

import "slices"

// joins reports whether the points of two groups, of which b reads a, can be
// those of one kernel.
func (f *fuser) joins(a, b *group) bool {
	switch {
	case a.product || b.product:
		return f.joinsProduct(a, b)
	case a.fold == nil && b.fold == nil:
		return a.n == b.n && f.t.allows(RulePointwise) && f.only(a, b, along) && f.only(b, a, along)
	case a.fold != nil && b.fold != nil:
		return a.fold.equal(b.fold) && (f.t.allows(RuleMulti) && f.only(a, b, along) && f.only(b, a, along) || f.inRows(a, b))
	case a.fold == nil:
		return f.joinsFold(a, b)
	}
	return f.joinsFold(b, a)
}

// joinsFold is joins for operations on elements and reductions. Of the former,
// those that have an element for each that is folded must be wanted by the
// reductions alone, unless whole rows come into one kernel; the others are computed
// where the totals are.
func (f *fuser) joinsFold(points, folds *group) bool {
	switch points.n {
	case folds.n:
		if f.t.allows(RuleReduceIn) && f.only(points, folds, along) && !f.reads(points, folds) &&
			!slices.ContainsFunc(points.open, func(i int) bool { return f.reachesOut(i, points, folds) }) {
			return true
		}
		return f.inRows(points, folds)
	case folds.kept:
		return f.t.allows(RuleReduceOut) && f.only(points, folds, along) && f.only(folds, points, along) ||
			f.inRows(points, folds)
	}
	return false
}

// inRows reports whether whole rows of both groups come into one kernel: each
// looks at the elements of the other one for one, or at one for the row.
func (f *fuser) inRows(a, b *group) bool {
	lie := a.fold
	if lie == nil {
		lie = b.fold
	}
	held, ok := f.t.rows(lie)
	if !ok || !f.t.allows(RuleRows) || f.t.rowCost(lie, held, a.folds+b.folds, a.cost+b.cost) > maxRowCost {
		return false
	}
	return f.alongRows(a, b, lie) && f.alongRows(b, a, lie)
}

// alongRows reports whether whatever b reads of a is the element at its place, or
// that of its row.
func (f *fuser) alongRows(a, b *group, lie *reduceShape) bool {
	for _, i := range b.items {
		for _, d := range f.nodes[i].deps {
			if f.nodes[d.node].group != a || d.relation == along {
				continue
			}
			if d.relation != spread || d.spread != product(lie.reduced) || f.sizeOf(d.node) != product(lie.kept) {
				return false
			}
		}
	}
	return true
}

// rowCost is how many operations are written, for the drivers to compile, where
// rows with so many reductions take cost for an element. An invocation that keeps
// its part of a row has it at once; one that keeps nothing goes through it, in all
// its parts, for each reduction and again in the end.
func (t *Target) rowCost(lie *reduceShape, held, folds, cost int) int {
	if held > 0 {
		return held * lanes * cost
	}
	return (folds + 1) * t.schedule(lie).parts * lanes * cost * againCost
}

// maxRowCost bounds what rowCost gives, in which an operation that is written
// again counts as several: it is processors that keep nothing, and their drivers
// take longest.
const (
	maxRowCost = 1 << 15
	againCost  = 4
)

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
