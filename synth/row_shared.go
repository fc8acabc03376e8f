package synth

import (
	"slices"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// heldFour is a four of the row that an invocation keeps.
type heldFour struct {
	number kernel.Value
	points []*point // by lane
	ragged bool     // it may be beyond the end of the row, or its end in it
}

// shared is the kernel in which a workgroup, or a fraction of it, has a row.
func (w *rowsWriter) shared() {
	parts, shares := w.job.order.parts, w.job.shares
	row, within := w.divide(w.invocation(), w.int(parts*shares))
	part, share := w.divide(within, w.int(shares))
	w.share = share
	// Halving joins the shares of a part first, as its lanes are joined.
	slot := w.Add(w.Mul(share, w.int(parts)), part)
	begin := w.Mul(row, w.int(parts*shares))
	u := w.Add(w.Mul(w.group(), w.int(w.local/(parts*shares))), row)
	// All invocations take part in the barriers; what is beyond the last row
	// does that one again and keeps it to itself.
	valid := w.Compare(scalar.Lt, u, w.units)
	w.begin(w.Select(valid, u, w.Sub(w.units, w.int(1))))
	held := make([]heldFour, w.job.held)
	for i := range held {
		held[i] = heldFour{number: w.Add(part, w.int(i*parts)), ragged: !w.job.exact && i == len(held)-1}
		for range w.width {
			held[i].points = append(held[i].points, w.job.unit.newPoint())
		}
	}
	w.loadAll(held)
	for d := range w.deepest() {
		w.steadily(d)
		ks := w.foldsAt(d)
		r := w.only(ks)
		acc := slices.Repeat(r.zero(), w.width)
		for _, h := range held { // a four at a time, so that few values live at once
			w.computeFour(h, d)
			acc = w.foldFour(r, ks, h, acc)
		}
		totals := r.tree(w.joined(r, acc), begin, slot, parts*shares)
		w.totals(ks, r.spread(totals, row, slot, w.local/(parts*shares)))
	}
	w.steadily(w.deepest())
	w.If(valid, func() []kernel.Value {
		for _, h := range held {
			w.computeFour(h, w.deepest())
			w.storeFour(h.number, h.points, h.ragged)
		}
		w.If(w.Compare(scalar.Eq, slot, w.int(0)), func() []kernel.Value {
			w.storeRow()
			return nil
		}, nil)
		return nil
	}, nil)
}

// loadAll loads all of the row before anything is computed, so that a GPU waits
// once.
func (w *rowsWriter) loadAll(held []heldFour) {
	for i := range w.job.unit.exprs {
		x := &w.job.unit.exprs[i]
		if x.kind != exprSource || !x.full {
			continue
		}
		for _, h := range held {
			w.compute(h.points, i, w.load(x.source, h.number, h.ragged))
		}
	}
}

// computeFour computes what differs along the row and has so many reductions in
// front of it.
func (w *rowsWriter) computeFour(h heldFour, depth int) {
	for i := range w.job.unit.exprs {
		if x := &w.job.unit.exprs[i]; x.kind == exprApply && x.full && w.depth[i] == depth {
			w.compute(h.points, i, nil)
		}
	}
}

// foldFour folds the elements of a four onto accumulators, lane by lane.
func (w *rowsWriter) foldFour(r *reduceWriter, ks []int, h heldFour, acc []kernel.Value) []kernel.Value {
	var xs []kernel.Value
	for _, p := range h.points {
		xs = append(xs, w.operands(ks, p)...)
	}
	folded, each := r.applyAll(acc, xs), r.width()
	for lane := 0; h.ragged && lane < w.width; lane++ {
		at := w.element(h.number, lane)
		mine := folded[lane*each : (lane+1)*each]
		copy(mine, w.selectAll(w.exists(at), mine, acc[lane*each:]))
	}
	return folded
}

// joined joins the lanes that the invocation has.
func (w *rowsWriter) joined(r *reduceWriter, acc []kernel.Value) []kernel.Value {
	if w.width == lanes {
		return r.join(acc)
	}
	n := len(acc) / w.width
	return r.applyAll(acc[:n], acc[n:])
}

// spread gives what slot 0 of each of some rows has to all of the row.
func (w *reduceWriter) spread(xs []kernel.Value, row, slot kernel.Value, rows int) []kernel.Value {
	at := w.Convert(row, scalar.U32)
	arrays := make([]int, len(xs))
	for i, t := range w.typesOf(xs) {
		if t == scalar.Bool {
			t = scalar.U32
		}
		arrays[i] = w.Shared(t, rows)
	}
	w.If(w.Compare(scalar.Eq, slot, w.int(0)), func() []kernel.Value {
		for i, x := range xs {
			w.StoreShared(arrays[i], at, w.asBits(x, scalar.U32))
		}
		return nil
	}, nil)
	w.Barrier()
	out := make([]kernel.Value, len(xs))
	for i, t := range w.typesOf(xs) {
		out[i] = w.LoadShared(arrays[i], at)
		if t == scalar.Bool {
			out[i] = w.truth(out[i])
		}
	}
	return out
}
