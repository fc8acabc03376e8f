package reduction

import (
	"slices"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// Everywhere joins n values by halves as Tree does, and gives the totals to all n slots. turn
// is 0 and 1 in turn: the arrays of one are read while those of the other are written. Slots that
// are invocations of one subgroup wait for this subgroup alone.
func (w *Writer) Everywhere(xs []kernel.Value, first, slot kernel.Value, n, turn int) []kernel.Value {
	if n == 1 {
		return xs
	}
	own := *w
	own.arrays = w.turns[turn]
	place := w.Convert(w.Add(first, slot), scalar.U32)
	types, shared := w.typesOf(xs), own.share(xs)
	put := func(xs []kernel.Value) { w.put(shared, place, xs) }
	barrier := w.Barrier
	if w.Together {
		barrier = w.SubgroupBarrier
	}
	put(xs)
	left := n
	for ; left > radix; left /= radix {
		barrier()
		next := left / radix
		w.If(w.Compare(scalar.Lt, slot, w.Index(next)), func() []kernel.Value {
			put(w.halves(types, shared, place, next, radix))
			return nil
		}, nil)
	}
	barrier()
	return w.halves(types, shared, w.Convert(first, scalar.U32), 1, left)
}

// halves loads n values, whose places in the arrays are a distance apart, and joins them by
// halves.
func (w *Writer) halves(types []scalar.Type, shared []int, first kernel.Value, apart, n int) []kernel.Value {
	held := make([][]kernel.Value, n) // by slot
	for k := range held {
		for i := range shared {
			v := w.LoadShared(shared[i], w.Add(first, w.Int(scalar.U32, k*apart)))
			if types[i] == scalar.Bool {
				v = w.IsTrue(v)
			}
			held[k] = append(held[k], v)
		}
	}
	for half := n / 2; half > 0; half /= 2 {
		for k := range half {
			held[k] = w.ApplyAll(held[k], held[k+half])
		}
	}
	return held[0]
}

// Sequence folds the totals of parts as a part folds elements.
func (w *Writer) Sequence(totals [][]kernel.Value) []kernel.Value {
	if len(totals) == 1 {
		return totals[0]
	}
	var acc [strided.Components][]kernel.Value
	for component := range acc {
		acc[component] = w.Zero()
	}
	for i, x := range totals {
		acc[i%strided.Components] = w.ApplyAll(acc[i%strided.Components], x)
	}
	return w.Join(slices.Concat(acc[:]...))
}
