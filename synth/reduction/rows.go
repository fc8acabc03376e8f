package reduction

import (
	"slices"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// Spread gives what slot 0 of each of some rows has to all of the row.
func (w *Writer) Spread(xs []kernel.Value, row, slot kernel.Value, rows int) []kernel.Value {
	at := w.Convert(row, scalar.U32)
	arrays := make([]int, len(xs))
	for i, t := range w.typesOf(xs) {
		if t == scalar.Bool {
			t = scalar.U32
		}
		arrays[i] = w.Shared(t, rows)
	}
	w.If(w.Compare(scalar.Eq, slot, w.Index(0)), func() []kernel.Value {
		for i, x := range xs {
			w.StoreShared(arrays[i], at, w.AsBits(x, scalar.U32))
		}
		return nil
	}, nil)
	w.Barrier()
	out := make([]kernel.Value, len(xs))
	for i, t := range w.typesOf(xs) {
		out[i] = w.LoadShared(arrays[i], at)
		if t == scalar.Bool {
			out[i] = w.IsTrue(out[i])
		}
	}
	return out
}

// Sequence folds the totals of parts as a part folds elements.
func (w *Writer) Sequence(totals [][]kernel.Value) []kernel.Value {
	if len(totals) == 1 {
		return totals[0]
	}
	var acc [strided.Lanes][]kernel.Value
	for lane := range acc {
		acc[lane] = w.Zero()
	}
	for i, x := range totals {
		acc[i%strided.Lanes] = w.ApplyAll(acc[i%strided.Lanes], x)
	}
	return w.Join(slices.Concat(acc[:]...))
}
