package leapfrog

import (
	"slices"

	"nxvk/synth/kernel"
)

// sweepParts is how many partial results of each element the scratch holds: the
// second half of the parts is added to the first.
func sweepParts(width int) int {
	if width > 32 {
		return width / 2
	}
	return width
}

// sweep computes folds over one axis. An invocation goes through the indices of a
// part, for all the folds. The partial results of the parts are joined in an
// order that follows from shapes alone.
func (w *leapfrogWriter) sweep(s *sweep) {
	folds := make([]folded, len(s.folds))
	var starts []kernel.Value
	var places []int
	for i, in := range s.folds {
		var ok bool
		if folds[i], ok = w.foldOf(in); !ok {
			return
		}
		for k := range in.Outs[0].Type.Size() {
			starts, places = append(starts, folds[i].start), append(places, w.job.at[in.Outs[0].ID]+k)
		}
	}
	part := func(first kernel.Value) []kernel.Value {
		return w.Loop(first, w.Index(s.n), w.Index(w.job.width), starts, func(i kernel.Value, acc []kernel.Value) (next []kernel.Value) {
			w.apart(func() {
				for k, in := range s.folds {
					for out := range in.Outs[0].Type.Size() {
						idx := w.fixed(out, in.Outs[0].Type.Shape)
						next = append(next, w.swept(folds[k], idx, s.n, i, acc[len(next)]))
					}
				}
			})
			return next
		})
	}
	w.join(folds[0].operator, part, places)
}

// swept folds what lies at one index of the axis of a sweep.
func (w *leapfrogWriter) swept(f folded, out []kernel.Value, n int, i, acc kernel.Value) kernel.Value {
	axis := slices.Index(f.over, n)
	rest := slices.Clone(f.over)
	rest[axis] = 1
	for k := range rest.Size() {
		inner := w.fixed(k, rest)
		inner[axis] = i
		acc = f.operator(acc, f.element(out, inner))
	}
	return acc
}

// join joins the parts, and puts each sum in its place: halves first, then up to
// eight invocations an element, then one.
func (w *leapfrogWriter) join(operator func(x, y kernel.Value) kernel.Value, part func(first kernel.Value) []kernel.Value, places []int) {
	if w.Local == 1 {
		for k, x := range part(w.me) {
			w.StoreShared(w.mem, w.Index(places[k]), x)
		}
		return
	}
	n := sweepParts(w.job.width)
	w.halves(operator, part, n)
	w.Barrier()
	several := 8
	for several > 1 && several*len(places) > w.job.width {
		several /= 2
	}
	if several > 1 {
		w.each(several*len(places), func(i kernel.Value) {
			k, within := w.DivMod(i, w.Index(several))
			at := w.Add(w.Mul(k, w.Index(n)), within)
			w.StoreShared(w.scratch, at, w.treeOf(operator, at, several, n/several))
		})
		w.Barrier()
	}
	left := n
	if several > 1 {
		left = several
	}
	w.each(len(places), func(k kernel.Value) {
		place := w.Index(places[len(places)-1])
		for i := len(places) - 2; i >= 0; i-- {
			place = w.Select(w.IsEqual(k, w.Index(i)), w.Index(places[i]), place)
		}
		w.StoreShared(w.mem, place, w.treeOf(operator, w.Mul(k, w.Index(n)), 1, left))
	})
}

// halves puts n partial results of each element into the scratch. The second half
// of the parts, if there is one, comes after the first.
func (w *leapfrogWriter) halves(operator func(x, y kernel.Value) kernel.Value, part func(first kernel.Value) []kernel.Value, n int) {
	at := func(k int, i kernel.Value) kernel.Value { return w.Add(w.Index(k*n), i) }
	put := func(parts []kernel.Value, i kernel.Value) {
		for k, x := range parts {
			w.StoreShared(w.scratch, at(k, i), x)
		}
	}
	parts := part(w.me)
	if n == w.job.width {
		put(parts, w.me)
		return
	}
	upper := w.Not(w.IsLess(w.me, w.Index(n)))
	w.IfThen(upper, func() { put(parts, w.Sub(w.me, w.Index(n))) })
	w.Barrier()
	w.IfThen(w.Not(upper), func() {
		for k, x := range parts {
			w.StoreShared(w.scratch, at(k, w.me), operator(x, w.LoadShared(w.scratch, at(k, w.me))))
		}
	})
}

// treeOf is a tree over n numbers of the scratch.
func (w *leapfrogWriter) treeOf(operator func(x, y kernel.Value) kernel.Value, at kernel.Value, stride, n int) kernel.Value {
	xs := make([]kernel.Value, n)
	for i := range xs {
		xs[i] = w.LoadShared(w.scratch, w.Add(at, w.Index(i*stride)))
	}
	for n > 1 {
		half := (n + 1) / 2
		for i := range n - half {
			xs[i] = operator(xs[i], xs[i+half])
		}
		n = half
	}
	return xs[0]
}
