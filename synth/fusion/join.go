package fusion

import (
	"slices"

	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// joins says by which rule the points of two groups, of which b reads a, can be those
// of one kernel, or why they cannot.
func (f *partitioner) joins(a, b *cluster) (by lowering.Rules, why Reason) {
	switch {
	case a.product || b.product:
		return lowering.RuleProducts, f.joinsProduct(a, b)
	case a.fold == nil && b.fold == nil:
		return lowering.RulePointwise, f.joinsPoints(a, b)
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
func (f *partitioner) joinsPoints(a, b *cluster) Reason {
	if a.n != b.n {
		return otherSize
	}
	return f.aligned(a, b, lowering.RulePointwise)
}

// joinsFolds is joins for reductions.
func (f *partitioner) joinsFolds(a, b *cluster) (by lowering.Rules, why Reason) {
	if !a.fold.Equal(b.fold) {
		return 0, otherFold
	}
	if why = f.aligned(a, b, lowering.RuleMulti); why == "" {
		return lowering.RuleMulti, ""
	}
	return f.orInRows(a, b, why)
}

// joinsFold is joins for operations on elements and reductions. Of the former,
// those that have an element for each that is folded must be wanted by the
// reductions alone, unless whole rows come into one kernel; the others are computed
// where the totals are.
func (f *partitioner) joinsFold(points, folds *cluster) (by lowering.Rules, why Reason) {
	switch points.n {
	case folds.n:
		by, why = lowering.RuleReduceIn, f.foldsIn(points, folds)
	case folds.kept:
		by, why = lowering.RuleReduceOut, f.aligned(points, folds, lowering.RuleReduceOut)
	default:
		return 0, otherSize
	}
	if why == "" {
		return by, ""
	}
	return f.orInRows(points, folds, why)
}

// foldsIn says why operations on elements are not done while these are folded.
func (f *partitioner) foldsIn(points, folds *cluster) Reason {
	switch {
	case !f.t.Allows(lowering.RuleReduceIn):
		return off(lowering.RuleReduceIn)
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
func (f *partitioner) aligned(a, b *cluster, by lowering.Rules) Reason {
	switch {
	case !f.t.Allows(by):
		return off(by)
	case !f.only(a, b, along) || !f.only(b, a, along):
		return otherOrder
	}
	return ""
}

// orInRows is what joins says of two groups that are one only where whole rows of both
// come into one kernel, which keeps them apart as well where why does.
func (f *partitioner) orInRows(a, b *cluster, why Reason) (lowering.Rules, Reason) {
	rows := f.inRows(a, b)
	if rows == "" {
		return lowering.RuleRows, ""
	}
	return 0, why.and(rows)
}

// inRows says why whole rows of both groups do not come into one kernel, in which each
// looks at the elements of the other one for one, or at one for the row.
func (f *partitioner) inRows(a, b *cluster) Reason {
	lie := a.fold
	if lie == nil {
		lie = b.fold
	}
	held, ok := strided.RowsHeld(f.t, lie)
	switch {
	case !f.t.Allows(lowering.RuleRows):
		return off(lowering.RuleRows)
	case !ok:
		return noRows
	case rowCost(f.t, lie, held, a.folds+b.folds, a.cost+b.cost) > maxRowCost:
		return tooLong
	case !f.alongRows(a, b, lie) || !f.alongRows(b, a, lie):
		return otherRows
	}
	return ""
}

// alongRows reports whether whatever b reads of a is the element at its place, or
// that of its row.
func (f *partitioner) alongRows(a, b *cluster, lie *strided.Reduction) bool {
	for _, d := range b.deps {
		if f.nodes[d.node].group != a || d.relation == along {
			continue
		}
		if d.relation != spread || d.spread != strided.Product(lie.Reduced) || f.sizeOf(d.node) != strided.Product(lie.Kept) {
			return false
		}
	}
	return true
}

// rowCost is how many operations are written, for the drivers to compile, where
// rows with so many reductions take cost for an element. An invocation that keeps
// its part of a row has it at once; one that keeps nothing goes through it, in all
// its parts, for each reduction and again in the end.
func rowCost(t *lowering.Target, lie *strided.Reduction, held, folds, cost int) int {
	if held > 0 {
		return held * strided.Lanes * cost
	}
	return (folds + 1) * strided.ScheduleOf(t, lie).Parts * strided.Lanes * cost * againCost
}

// maxRowCost bounds what rowCost gives, in which an operation that is written
// again counts as several: it is processors that keep nothing, and their drivers
// take longest.
const (
	maxRowCost = 1 << 15
	againCost  = 4
)

// only reports whether whatever b reads of a is in the given relation.
func (f *partitioner) only(a, b *cluster, want relation) bool {
	return !slices.ContainsFunc(b.deps, func(d dep) bool { return f.nodes[d.node].group == a && d.relation != want })
}
