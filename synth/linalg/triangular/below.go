package triangular

import (
	"nxvk/synth/kernel"
)

// An invocation needs the elements of its row below the diagonal block. Where neighbours in memory are those of a
// column, neighbouring invocations load neighbours. Else they would load from as many rows as there are of them, so
// the workgroup loads strips of all rows along these, and exchanges the elements through shared memory.

// stripWords is how many words of 32 bits a strip has of a row.
const stripWords = 16

// stripWide is how many columns a strip has.
func (w *byRows) stripWide() int { return max(1, stripWords*w.wide/rowsWide) }

// below loads elements below the diagonal block, as many as the block has columns: while the unknowns are found,
// they are on their way. Rows of the block, above it and beyond the matrix read some other element, so that nothing
// branches and loads do not wait for each other; no right-hand side that is read again comes of it.
func (k *rowsWriter) below(lo, hi kernel.Value) (vs []kernel.Value) {
	last := k.Sub(k.n, k.Index(1))
	load := func(row, c kernel.Value) {
		row = k.Min(k.Select(k.IsLess(row, hi), hi, row), last)
		vs = append(vs, k.t.Load(row, k.Min(k.Add(lo, c), last)))
	}
	if !k.along {
		for c := range k.wide {
			load(k.me, k.Index(c))
		}
		return vs
	}
	for first := 0; first < k.wide; first += k.stripWide() {
		for i := range k.stripWide() {
			row, c := k.place(i)
			load(row, k.Add(c, k.Index(first)))
		}
	}
	return vs
}

// place is the row and the column in a strip of the i-th element that the invocation loads of it.
func (k *rowsWriter) place(i int) (row, c kernel.Value) {
	return k.DivMod(k.Add(k.me, k.Index(i*k.local)), k.Index(k.stripWide()))
}

// exchange gives the elements of the row of the invocation, from those of the strips that the invocations loaded.
func (k *rowsWriter) exchange(loaded []kernel.Value) (vs []kernel.Value) {
	wide := k.stripWide()
	line := k.Index(wide + 1)
	for len(loaded) > 0 {
		if len(vs) > 0 {
			k.Barrier()
		}
		for i, v := range loaded[:wide] {
			row, c := k.place(i)
			k.StoreShared(k.strip, k.Add(k.Mul(row, line), c), v)
		}
		loaded = loaded[wide:]
		k.Barrier()
		for c := range wide {
			vs = append(vs, k.LoadShared(k.strip, k.Add(k.Mul(k.me, line), k.Index(c))))
		}
	}
	return vs
}
