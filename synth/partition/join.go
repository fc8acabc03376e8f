package partition

import (
	"slices"

	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// joins gives the rule by which one kernel can execute cluster a and its reader b, or the
// reason why none can.
func (f *partitioner) joins(a, b *cluster) (by lowering.Rules, why Reason) {
	switch {
	case a.update || b.update:
		return lowering.RulePointwise, f.joinsUpdate(a, b)
	case a.product || b.product:
		return lowering.RuleProducts, f.joinsProduct(a, b)
	case a.reduction == nil && b.reduction == nil:
		return lowering.RulePointwise, f.joinsPoints(a, b)
	case a.dataDependent || b.dataDependent:
		return 0, dataDependentReduction
	case a.reduction != nil && b.reduction != nil:
		return f.joinsFolds(a, b)
	case a.reduction == nil:
		return f.joinsFold(a, b)
	}
	return f.joinsFold(b, a)
}

// joinsPoints is joins for two elementwise clusters.
func (f *partitioner) joinsPoints(a, b *cluster) Reason {
	if a.n != b.n {
		return otherSize
	}
	return f.aligned(a, b, lowering.RulePointwise)
}

// joinsFolds is joins for two clusters with reductions.
func (f *partitioner) joinsFolds(a, b *cluster) (by lowering.Rules, why Reason) {
	if !a.reduction.Equal(b.reduction) {
		return 0, otherReduction
	}
	if why = f.aligned(a, b, lowering.RuleMulti); why == "" {
		return lowering.RuleMulti, ""
	}
	return f.orInRows(a, b, why)
}

// joinsFold is joins for an elementwise cluster and one with reductions. Operations
// before the reduction must be read by it alone, unless one kernel carries out whole
// rows; operations after it are computed on its result.
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

// foldsIn gives the reason why elementwise operations are not computed within the reduction.
func (f *partitioner) foldsIn(points, folds *cluster) Reason {
	switch {
	case !f.t.Allows(lowering.RuleReduceIn):
		return off(lowering.RuleReduceIn)
	case f.reads(points, folds):
		return needsTotal
	case !f.only(points, folds, oneToOne):
		return otherOrder
	case slices.ContainsFunc(points.outputs, func(i int) bool { return f.isReadOutside(i, points, folds) }):
		return alsoRead
	}
	return ""
}

// aligned gives the reason why a rule does not join two clusters of as many points: it
// is disabled, or one reads the other in another order.
func (f *partitioner) aligned(a, b *cluster, by lowering.Rules) Reason {
	switch {
	case !f.t.Allows(by):
		return off(by)
	case !f.only(a, b, oneToOne) || !f.only(b, a, oneToOne):
		return otherOrder
	}
	return ""
}

// orInRows joins two clusters by rule RuleRows if one kernel can carry out whole rows of
// both; else the reasons are why, and why it cannot.
func (f *partitioner) orInRows(a, b *cluster, why Reason) (lowering.Rules, Reason) {
	rows := f.inRows(a, b)
	if rows == "" {
		return lowering.RuleRows, ""
	}
	return 0, why.and(rows)
}

// inRows gives the reason why one kernel cannot carry out whole rows of both clusters.
// Each must read the other element for element, or one value for each row.
func (f *partitioner) inRows(a, b *cluster) Reason {
	lie := a.reduction
	if lie == nil {
		lie = b.reduction
	}
	held, ok := strided.RowsHeld(f.t, lie)
	switch {
	case !f.t.Allows(lowering.RuleRows):
		return off(lowering.RuleRows)
	case !ok:
		return noRows
	case rowCost(f.t, lie, held, a.reductions+b.reductions, a.cost+b.cost) > maxRowCost:
		return tooLong
	case !f.alongRows(a, b, lie) || !f.alongRows(b, a, lie):
		return otherRows
	}
	return ""
}

// alongRows reports whether b reads of a only the same element, or the value of the same row.
func (f *partitioner) alongRows(a, b *cluster, lie *strided.Reduction) bool {
	for _, d := range b.deps {
		if f.nodes[d.node].cluster != a || d.relation == oneToOne {
			continue
		}
		if d.relation != broadcast || d.repeats != strided.Product(lie.Reduced) || f.sizeOf(d.node) != strided.Product(lie.Kept) {
			return false
		}
	}
	return true
}

// rowCost estimates the operations that the kernel of whole rows contains, which a driver must
// compile. An invocation that keeps its part of a row in registers has the code once for each
// element that it keeps. For elements that it reads again, the code is repeated for each
// reduction and once more for the results: on a processor for each part of the row, on a GPU
// for the elements that are loaded ahead and for the last ones.
func rowCost(t *lowering.Target, lie *strided.Reduction, held, folds, cost int) int {
	s := strided.ScheduleOf(t, lie)
	if !s.Tree {
		return (folds + 1) * s.Parts * strided.Components * cost * againCost
	}
	n := held
	if s.Rounds(strided.Product(lie.Reduced)) > held {
		n += (folds + 1) * (strided.RoundsAhead + 2)
	}
	return n * strided.Components * cost
}

// maxRowCost bounds rowCost. Code that processors repeat counts as several operations, because
// their drivers compile slowest.
const (
	maxRowCost = 1 << 15
	againCost  = 4
)

// only reports whether all that b reads of a has the given relation.
func (f *partitioner) only(a, b *cluster, want relation) bool {
	return !slices.ContainsFunc(b.deps, func(d dep) bool { return f.nodes[d.node].cluster == a && d.relation != want })
}
