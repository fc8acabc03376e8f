package fused

import (
	"nxvk/synth/fusion"
	"nxvk/synth/kernel"
	"nxvk/synth/reduction"
	"nxvk/synth/strided"
)

// If a workgroup cannot keep a row, it reads the rest of the row again, mostly from caches:
// once for each reduction that depends on another one, and once for the results.

// storeAgain goes through the part of the row that is not kept and stores the wide results.
func (w *rowsWriter) storeAgain() {
	wide := w.wide()
	if len(wide) == 0 {
		return
	}
	n := needed(w.job.fusion.DAG, wide)
	w.throughRow(n, nil, func(fours []heldFour, _ []kernel.Value) []kernel.Value {
		for _, h := range fours {
			w.computeNeeded(n, h)
			w.storeFour(h.number, h.points, h.ragged)
		}
		return nil
	})
}

// wide lists the expressions of the results that have an element for each element of the row.
func (w *rowsWriter) wide() []int {
	var wide []int
	for k, i := range w.job.fusion.Outs {
		if w.job.fusion.wide(k) {
			wide = append(wide, i)
		}
	}
	return wide
}

// foldAgain folds the invocation's share of the part of the row that is not kept, component by
// component.
func (w *rowsWriter) foldAgain(r *reduction.Writer, ks []int, acc []kernel.Value) []kernel.Value {
	var args []int
	for _, k := range ks {
		args = append(args, w.job.fusion.Exprs[w.job.fusion.folds[k]].Args[0])
	}
	n := needed(w.job.fusion.DAG, args)
	return w.throughRow(n, acc, func(fours []heldFour, acc []kernel.Value) []kernel.Value {
		for _, h := range fours {
			w.computeNeeded(n, h)
			acc = w.foldFour(r, ks, h, acc)
		}
		return acc
	})
}

// throughRow goes through the invocation's fours of the row that are not kept, some at a time,
// with carried values. It loads the needed sources of the fours before it calls use.
func (w *rowsWriter) throughRow(n *needs, carried []kernel.Value, use func([]heldFour, []kernel.Value) []kernel.Value) []kernel.Value {
	parts := w.job.Order.Parts
	step, whole := w.Index(parts), w.wholeRounds()
	ahead := w.Index(parts * strided.RoundsAhead)
	start := w.Index(w.job.held * parts)
	many := w.Add(start, w.Mul(w.Div(w.Sub(whole, start), ahead), ahead))
	several := func(count int, ragged bool) func(kernel.Value, []kernel.Value) []kernel.Value {
		return func(four kernel.Value, carried []kernel.Value) []kernel.Value {
			fours := make([]heldFour, count)
			for i := range fours {
				fours[i] = heldFour{number: four, ragged: ragged, points: newPoints(w.job.fusion.DAG, strided.Components)}
				four = w.Add(four, step)
			}
			w.loadNeeded(n, fours)
			return use(fours, carried)
		}
	}
	carried = w.Loop(w.Add(start, w.Part), many, ahead, carried, several(strided.RoundsAhead, false))
	carried = w.Loop(w.Add(many, w.Part), whole, step, carried, several(1, false))
	if w.job.exact {
		return carried
	}
	return several(1, true)(w.Add(whole, w.Part), carried)
}

// wholeRounds is the number of fours in those rounds in which every part has a four.
func (w *rowsWriter) wholeRounds() kernel.Value {
	parts := w.Index(w.job.Order.Parts)
	return w.Mul(w.Div(w.Fours, parts), parts)
}

// loadNeeded loads the needed sources of some fours.
func (w *rowsWriter) loadNeeded(n *needs, fours []heldFour) {
	for i := range w.job.fusion.Exprs {
		if x := &w.job.fusion.Exprs[i]; n.exprs[i] && x.Full && x.Kind == fusion.ExprSource {
			for _, h := range fours {
				w.compute(h.points, i, w.load(x.Source, h.number, h.ragged))
			}
		}
	}
}

// computeNeeded computes the needed expressions of a four that differ along the row.
func (w *rowsWriter) computeNeeded(n *needs, h heldFour) {
	for i := range w.job.fusion.Exprs {
		if x := &w.job.fusion.Exprs[i]; n.exprs[i] && x.Full && x.Kind == fusion.ExprApply {
			w.compute(h.points, i, nil)
		}
	}
}
