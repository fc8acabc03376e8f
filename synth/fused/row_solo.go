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
func (w *rowsWriter) points(n *needs, four kernel.Value, clamp bool) []*point {
	ps := newPoints(w.job.fusion.DAG, strided.Lanes)
	for i := range w.job.fusion.Exprs {
		x := &w.job.fusion.Exprs[i]
		switch {
		case !n.exprs[i] || !x.Full:
		case x.Kind == fusion.ExprSource:
			w.compute(ps, i, w.load(x.Source, four, clamp))
		default:
			w.compute(ps, i, nil)
		}
	}
	return ps
}

// foldRow goes through the row and returns the totals of some reductions. Each
// step folds a four of every part of the row.
func (w *rowsWriter) foldRow(ks []int) []kernel.Value {
	var args []int
	for _, k := range ks {
		args = append(args, w.job.fusion.Exprs[w.job.fusion.folds[k]].Args[0])
	}
	r, n := w.only(ks), needed(w.job.fusion.DAG, args)
	parts, each := w.job.Order.Parts, r.Width()
	cells := strided.Lanes * each
	acc := slices.Repeat(r.Zero(), strided.Lanes*parts)
	acc = w.Loop(w.Index(0), w.ceil(), w.Index(parts), acc, func(first kernel.Value, acc []kernel.Value) []kernel.Value {
		acc = slices.Clone(acc)
		for part := range parts {
			four := w.Add(first, w.Index(part))
			for lane, p := range w.points(n, four, !w.job.exact) {
				old := acc[part*cells+lane*each:][:each]
				folded := r.ApplyAll(old, w.operands(ks, p))
				if !w.job.exact {
					at := w.Add(w.Mul(four, w.Index(strided.Lanes)), w.Index(lane))
					folded = w.SelectAll(w.exists(at), folded, old)
				}
				copy(old, folded)
			}
		}
		return acc
	})
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
	w.Loop(w.Index(0), w.ceil(), w.Index(1), nil, func(four kernel.Value, _ []kernel.Value) []kernel.Value {
		w.storeFour(four, w.points(n, four, strided.Product(w.job.Reduced)%strided.Lanes != 0), false)
		return nil
	})
}
