package fused

import (
	"slices"

	"nxvk/synth/fusion"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// solo writes the kernel in which one invocation has a whole row.
func (w *rowsWriter) solo() {
	u := w.Add(w.Mul(w.Group(), w.Index(w.Local)), w.Invocation())
	w.If(w.Compare(scalar.Lt, u, w.Units), func() []kernel.Value {
		w.begin(u)
		for d := 0; d <= w.deepest(); d++ {
			w.steadily(d)
			if ks := w.foldsAt(d); len(ks) > 0 {
				w.totals(ks, w.foldRow(ks))
			}
		}
		w.storeAll()
		w.storeRow()
		return nil
	}, nil)
}

// points computes the needed expressions of a four that differ along the row.
func (w *rowsWriter) points(n *needs, four kernel.Value) []*point {
	ps := newPoints(w.job.fusion.DAG, w.there())
	for i := range w.job.fusion.Exprs {
		x := &w.job.fusion.Exprs[i]
		switch {
		case !n.exprs[i] || !x.Full:
		case x.Kind == fusion.ExprSource:
			w.compute(ps, i, w.load(x.Source, four, false))
		default:
			w.compute(ps, i, nil)
		}
	}
	return ps
}

// foldRow goes through the row and returns the totals of some reductions. Each
// step folds a four of every part of the row. What is left after whole steps is known when the kernel is
// written: a processor takes several times as long where it looks whether each element exists.
func (w *rowsWriter) foldRow(ks []int) []kernel.Value {
	var args []int
	for _, k := range ks {
		args = append(args, w.job.fusion.Exprs[w.job.fusion.folds[k]].Args[0])
	}
	r, n := w.only(ks), needed(w.job.fusion.DAG, args)
	parts, each := w.job.Order.Parts, r.Width()
	cells := strided.Components * each
	fold := func(acc []kernel.Value, part int, four kernel.Value) {
		for component, p := range w.points(n, four) {
			copy(acc[part*cells+component*each:], r.ApplyAll(acc[part*cells+component*each:][:each], w.operands(ks, p)))
		}
	}
	whole, rest := w.Fours, w.job.rest()
	if rest > 0 {
		whole = w.Sub(w.Fours, w.Index(rest))
	}
	acc := w.Loop(w.Index(0), whole, w.Index(parts), slices.Repeat(r.Zero(), strided.Components*parts), func(first kernel.Value, acc []kernel.Value) []kernel.Value {
		acc = slices.Clone(acc)
		for part := range parts {
			fold(acc, part, w.Add(first, w.Index(part)))
		}
		return acc
	})
	acc = slices.Clone(acc)
	for part := range rest {
		fold(acc, part, w.Add(whole, w.Index(part)))
	}
	w.lastFour(func() { fold(acc, rest, w.Fours) })
	var totals [][]kernel.Value
	for part := range parts {
		totals = append(totals, r.Join(acc[part*cells:(part+1)*cells]))
	}
	return r.Sequence(totals)
}

// storeAll goes through the row and stores the wide results.
func (w *rowsWriter) storeAll() {
	wide := w.wide()
	if len(wide) == 0 {
		return
	}
	n := needed(w.job.fusion.DAG, wide)
	w.For(w.Index(0), w.Fours, w.Index(1), func(four kernel.Value) { w.storeFour(four, w.points(n, four), false) })
	w.lastFour(func() { w.storeFour(w.Fours, w.points(n, w.Fours), false) })
}

// lastFour has the elements that follow the whole fours of a row computed, if there are any.
func (w *rowsWriter) lastFour(f func()) {
	if w.tail = strided.Product(w.job.Reduced) % strided.Components; w.tail > 0 {
		f()
	}
	w.tail = 0
}

// rest is how many whole fours of a row follow those of whole steps.
func (j *rowsJob) rest() int { return strided.Product(j.Reduced) / strided.Components % j.Order.Parts }
