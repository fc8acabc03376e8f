package fused

import (
	"slices"

	"nxvk/synth/fusion"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/reduction"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// heldFour is a four of the row that an invocation keeps.
type heldFour struct {
	number kernel.Value
	points []*point // by component
	ragged bool     // it may end, or begin, beyond the end of the row
}

// shared writes the kernel in which a workgroup, or a fraction of one, keeps a row: it loads the row, and gives the rest.
func (w *rowsWriter) shared() (rest func() error) {
	parts, shares := w.job.Order.Parts, w.job.shares
	invocation := w.Invocation()
	if size := w.job.subgroupSize(w.Target); size > 0 {
		w.SetSubgroup(size)
		w.Together = true
		invocation = w.InSubgroups(size)
	}
	row, within := w.DivMod(invocation, w.Index(parts*shares))
	part, share := w.DivMod(within, w.Index(shares))
	w.Part, w.share = part, share
	// Halving joins the shares of a part first, as its components are joined.
	slot := w.Add(w.Mul(share, w.Index(parts)), part)
	begin := w.Mul(row, w.Index(parts*shares))
	u := w.Add(w.Mul(w.Group(), w.Index(w.Local/(parts*shares))), row)
	// All invocations take part in the barriers. Those beyond the last row compute
	// the last row again and do not store it.
	valid := w.Compare(scalar.Lt, u, w.Units)
	w.begin(w.Select(valid, u, w.Sub(w.Units, w.Index(1))))
	lines := line{begin: begin, slot: slot, n: parts * shares}
	held := w.newHeld()
	w.loadAll(held)
	return func() error {
		w.sharedRow(held, lines, row, valid)
		return w.Err
	}
}

// sharedRow reduces the row, and stores what is computed from it.
func (w *rowsWriter) sharedRow(held []heldFour, lines line, row, valid kernel.Value) {
	for d := range w.deepest() {
		w.steadily(d)
		ks := w.foldsAt(d)
		r := w.only(ks)
		acc := slices.Repeat(r.Zero(), w.width)
		for _, h := range held { // a four at a time, so that few values live at once
			w.computeFour(h, d)
			acc = w.foldFour(r, ks, h, acc)
		}
		if w.job.again {
			acc = w.foldAgain(r, ks, acc)
		}
		w.totals(ks, lines.total(r, w.joined(r, acc), d))
	}
	w.steadily(w.deepest())
	if w.job.staged > 0 {
		for _, h := range held {
			w.computeFour(h, w.deepest())
		}
		w.storeStaged(held, row)
	}
	w.If(valid, func() []kernel.Value {
		for _, h := range held {
			if w.job.staged > 0 {
				break
			}
			w.computeFour(h, w.deepest())
			w.storeFour(h.number, h.points, h.ragged)
		}
		if w.job.again {
			w.storeAgain()
		}
		w.storeFirst(lines.slot)
		return nil
	}, nil)
}

// newHeld makes the fours that an invocation keeps, one for each share of its part.
func (w *rowsWriter) newHeld() []heldFour {
	held := make([]heldFour, w.job.held)
	for i := range held {
		held[i] = heldFour{number: w.Add(w.Part, w.Index(i*w.job.Order.Parts)), ragged: !w.job.exact && !w.job.again && w.job.short == 0 && i == len(held)-1}
		for range w.there() {
			held[i].points = append(held[i].points, newPoint(w.job.fusion.DAG))
		}
	}
	return held
}

// subgroupSize is the number of invocations of a subgroup where each row belongs to one, so that rows
// do not wait for each other; 0 elsewhere.
func (j *rowsJob) subgroupSize(t *lowering.Target) int {
	n, row := t.FixedSubgroup(), j.Order.Parts*j.shares
	if row == 1 || row > n || j.Order.Local%n != 0 {
		return 0
	}
	return n
}

// line is the set of invocations that share a row: n invocations from begin on. This
// one is number slot.
type line struct {
	begin, slot kernel.Value
	n           int
}

// total joins the partial results of the reductions of a depth.
func (l line) total(r *reduction.Writer, xs []kernel.Value, depth int) []kernel.Value {
	return r.Everywhere(xs, l.begin, l.slot, l.n, depth%2)
}

// storeFirst has the first invocation of a row store the results with one element a
// row.
func (w *rowsWriter) storeFirst(slot kernel.Value) {
	w.If(w.Compare(scalar.Eq, slot, w.Index(0)), func() []kernel.Value {
		w.storeRow()
		return nil
	}, nil)
}

// loadAll loads the whole row before it computes anything, so that a GPU waits only
// once.
func (w *rowsWriter) loadAll(held []heldFour) {
	for i := range w.job.fusion.Exprs {
		x := &w.job.fusion.Exprs[i]
		if x.Kind != fusion.ExprSource || !x.Full {
			continue
		}
		for _, h := range held {
			w.compute(h.points, i, w.load(x.Source, h.number, h.ragged))
		}
	}
}

// computeFour computes the expressions of a depth that differ along the row.
func (w *rowsWriter) computeFour(h heldFour, depth int) {
	for i := range w.job.fusion.Exprs {
		if x := &w.job.fusion.Exprs[i]; x.Kind == fusion.ExprApply && x.Full && w.depth[i] == depth {
			w.compute(h.points, i, nil)
		}
	}
}

// foldFour folds the elements of a four onto accumulators, component by component.
func (w *rowsWriter) foldFour(r *reduction.Writer, ks []int, h heldFour, acc []kernel.Value) []kernel.Value {
	var xs []kernel.Value
	for _, p := range h.points {
		xs = append(xs, w.operands(ks, p)...)
	}
	each := r.Width()
	folded := append(r.ApplyAll(acc[:len(xs)], xs), acc[len(xs):]...)
	for component := 0; h.ragged && component < w.width; component++ {
		at := w.element(h.number, component)
		mine := folded[component*each : (component+1)*each]
		copy(mine, w.SelectAll(w.exists(at), mine, acc[component*each:]))
	}
	return folded
}

// there is how many elements of a four the invocation has.
func (w *rowsWriter) there() int {
	switch {
	case w.job.short > 0:
		return w.job.short
	case w.tail > 0:
		return w.tail
	}
	return w.width
}

// joined joins the components that the invocation has.
func (w *rowsWriter) joined(r *reduction.Writer, acc []kernel.Value) []kernel.Value {
	if w.width == strided.Components {
		return r.Join(acc)
	}
	n := len(acc) / w.width
	return r.ApplyAll(acc[:n], acc[n:])
}
