package scan

import (
	"slices"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// Short lines whose elements are neighbours share a workgroup on GPUs. An invocation folds four
// elements in order, and those of a line are folded by doubling, as in a row of a tile.

// shared is how many invocations have a line if it is short; else it is 0.
func (j *scanJob) shared(t *lowering.Target) int {
	bytes := 2 * scanLocal * kernel.TypeSize(codegen.WideType(j.elem))
	if t.CPU || !j.dense() || j.n <= strided.Lanes || j.n >= leastTiled || t.MaxInvocations < scanLocal || t.SharedMemory < bytes {
		return 0
	}
	n := 2
	for n*strided.Lanes < j.n {
		n *= 2
	}
	return n
}

// writeShort writes the results of the lines of a workgroup.
func (w *scanWriter) writeShort(shared int) {
	row, own := w.DivMod(w.Invocation(), w.Index(shared))
	line := w.Add(w.Mul(w.Group(), w.Index(scanLocal/shared)), row)
	// All invocations take part in the barriers; those beyond the last line repeat it and keep
	// it to themselves.
	active := w.Compare(scalar.Lt, line, w.lines)
	line = w.Select(active, line, w.Sub(w.lines, w.Index(1)))
	w.begin = w.Add(w.offset, w.Offsets(line, w.dims, w.strides))
	s := &tileScanner{scanWriter: w}
	first := w.Mul(own, w.Index(strided.Lanes))
	four := s.loadFour(first)
	for i := 1; i < strided.Lanes; i++ {
		four[i] = w.apply(four[i-1], four[i])
	}
	sum := four[strided.Lanes-1]
	for i := range s.arrays {
		s.arrays[i] = w.Shared(w.Type(sum), scanLocal)
	}
	array, place := 0, w.Invocation()
	put := func() {
		w.StoreShared(s.arrays[array], place, sum)
		w.Barrier()
	}
	put()
	for d := 1; d < shared; d *= 2 {
		later := w.Compare(scalar.Le, w.Index(d), own)
		other := w.Select(later, w.Sub(place, w.Index(d)), place)
		sum = w.Select(later, w.apply(w.LoadShared(s.arrays[array], other), sum), sum)
		array = 1 - array
		put()
	}
	start := w.Compare(scalar.Eq, own, w.Index(0))
	left := w.LoadShared(s.arrays[array], w.Select(start, place, w.Sub(place, w.Index(1))))
	for i, x := range four {
		four[i] = w.Select(start, x, w.apply(left, x))
	}
	w.If(active, func() []kernel.Value { s.storeFour(first, slices.Clone(four)); return nil }, nil)
}
