package synth

import (
	"slices"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// solo is the kernel in which an invocation has a row.
func (w *rowsWriter) solo() {
	u := w.Add(w.Mul(w.group(), w.int(w.local)), w.invocation())
	w.If(w.Compare(scalar.Lt, u, w.units), func() []kernel.Value {
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

// points computes what differs along the row and is needed, of a four.
func (w *rowsWriter) points(n *needs, four kernel.Value, clamp bool) []*point {
	ps := w.job.unit.newPoints(lanes)
	for i := range w.job.unit.exprs {
		x := &w.job.unit.exprs[i]
		switch {
		case !n.exprs[i] || !x.full:
		case x.kind == exprSource:
			w.compute(ps, i, w.load(x.source, four, clamp))
		default:
			w.compute(ps, i, nil)
		}
	}
	return ps
}

// foldRow goes through the row and gives the totals of some reductions. The
// parts of the row are side by side in every step.
func (w *rowsWriter) foldRow(ks []int) []kernel.Value {
	var args []int
	for _, k := range ks {
		args = append(args, w.job.unit.exprs[w.job.unit.folds[k]].args[0])
	}
	r, n := w.only(ks), w.job.unit.needed(args)
	parts, each := w.job.order.parts, r.width()
	cells := lanes * each
	acc := slices.Repeat(r.zero(), lanes*parts)
	acc = w.Loop(w.int(0), w.ceil(), w.int(parts), acc, func(first kernel.Value, acc []kernel.Value) []kernel.Value {
		acc = slices.Clone(acc)
		for part := range parts {
			four := w.Add(first, w.int(part))
			for lane, p := range w.points(n, four, !w.job.exact) {
				old := acc[part*cells+lane*each:][:each]
				folded := r.applyAll(old, w.operands(ks, p))
				if !w.job.exact {
					at := w.Add(w.Mul(four, w.int(lanes)), w.int(lane))
					folded = w.selectAll(w.exists(at), folded, old)
				}
				copy(old, folded)
			}
		}
		return acc
	})
	var totals [][]kernel.Value
	for part := range parts {
		totals = append(totals, r.join(acc[part*cells:(part+1)*cells]))
	}
	return r.sequence(totals)
}

// sequence folds the totals of parts as a part folds elements.
func (w *reduceWriter) sequence(totals [][]kernel.Value) []kernel.Value {
	if len(totals) == 1 {
		return totals[0]
	}
	var acc [lanes][]kernel.Value
	for lane := range acc {
		acc[lane] = w.zero()
	}
	for i, x := range totals {
		acc[i%lanes] = w.applyAll(acc[i%lanes], x)
	}
	return w.join(slices.Concat(acc[:]...))
}

// storeAll goes through the row and stores the results that have an element for
// each of its elements.
func (w *rowsWriter) storeAll() {
	var wide []int
	for k, i := range w.job.unit.outs {
		if w.job.unit.wide(k) {
			wide = append(wide, i)
		}
	}
	if len(wide) == 0 {
		return
	}
	n := w.job.unit.needed(wide)
	w.Loop(w.int(0), w.ceil(), w.int(1), nil, func(four kernel.Value, _ []kernel.Value) []kernel.Value {
		w.storeFour(four, w.points(n, four, product(w.job.reduced)%lanes != 0), false)
		return nil
	})
}
