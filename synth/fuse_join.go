package synth

import "slices"

// joins says by which rule the points of two groups, of which b reads a, can be those
// of one kernel, or why they cannot.
func (f *fuser) joins(a, b *group) (by Rules, why reason) {
	switch {
	case a.product || b.product:
		return RuleProducts, f.joinsProduct(a, b)
	case a.fold == nil && b.fold == nil:
		return RulePointwise, f.joinsPoints(a, b)
	case a.shifted || b.shifted:
		return 0, foldsShifted
	case a.fold != nil && b.fold != nil:
		return f.joinsFolds(a, b)
	case a.fold == nil:
		return f.joinsFold(a, b)
	}
	return f.joinsFold(b, a)
}

// joinsPoints is joins for operations on elements.
func (f *fuser) joinsPoints(a, b *group) reason {
	if a.n != b.n {
		return otherSize
	}
	return f.aligned(a, b, RulePointwise)
}

// joinsFolds is joins for reductions.
func (f *fuser) joinsFolds(a, b *group) (by Rules, why reason) {
	if !a.fold.equal(b.fold) {
		return 0, otherFold
	}
	if why = f.aligned(a, b, RuleMulti); why == "" {
		return RuleMulti, ""
	}
	return f.orInRows(a, b, why)
}

// joinsFold is joins for operations on elements and reductions. Of the former,
// those that have an element for each that is folded must be wanted by the
// reductions alone, unless whole rows come into one kernel; the others are computed
// where the totals are.
func (f *fuser) joinsFold(points, folds *group) (by Rules, why reason) {
	switch points.n {
	case folds.n:
		by, why = RuleReduceIn, f.foldsIn(points, folds)
	case folds.kept:
		by, why = RuleReduceOut, f.aligned(points, folds, RuleReduceOut)
	default:
		return 0, otherSize
	}
	if why == "" {
		return by, ""
	}
	return f.orInRows(points, folds, why)
}

// foldsIn says why operations on elements are not done while these are folded.
func (f *fuser) foldsIn(points, folds *group) reason {
	switch {
	case !f.t.allows(RuleReduceIn):
		return off(RuleReduceIn)
	case f.reads(points, folds):
		return needsTotal
	case !f.only(points, folds, along):
		return otherOrder
	case slices.ContainsFunc(points.open, func(i int) bool { return f.reachesOut(i, points, folds) }):
		return wantedToo
	}
	return ""
}

// aligned says why two groups that have as many points are not one by a rule: it is
// off, or one of them looks at the other otherwise than one for one.
func (f *fuser) aligned(a, b *group, by Rules) reason {
	switch {
	case !f.t.allows(by):
		return off(by)
	case !f.only(a, b, along) || !f.only(b, a, along):
		return otherOrder
	}
	return ""
}

// orInRows is what joins says of two groups that are one only where whole rows of both
// come into one kernel, which keeps them apart as well where why does.
func (f *fuser) orInRows(a, b *group, why reason) (Rules, reason) {
	rows := f.inRows(a, b)
	if rows == "" {
		return RuleRows, ""
	}
	return 0, why.and(rows)
}

// inRows says why whole rows of both groups do not come into one kernel, in which each
// looks at the elements of the other one for one, or at one for the row.
func (f *fuser) inRows(a, b *group) reason {
	lie := a.fold
	if lie == nil {
		lie = b.fold
	}
	held, ok := f.t.rows(lie)
	switch {
	case !f.t.allows(RuleRows):
		return off(RuleRows)
	case !ok:
		return noRows
	case f.t.rowCost(lie, held, a.folds+b.folds, a.cost+b.cost) > maxRowCost:
		return tooLong
	case !f.alongRows(a, b, lie) || !f.alongRows(b, a, lie):
		return otherRows
	}
	return ""
}

// alongRows reports whether whatever b reads of a is the element at its place, or
// that of its row.
func (f *fuser) alongRows(a, b *group, lie *reduceShape) bool {
	for _, d := range b.deps {
		if f.nodes[d.node].group != a || d.relation == along {
			continue
		}
		if d.relation != spread || d.spread != product(lie.reduced) || f.sizeOf(d.node) != product(lie.kept) {
			return false
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
	return !slices.ContainsFunc(b.deps, func(d dep) bool { return f.nodes[d.node].group == a && d.relation != want })
}
