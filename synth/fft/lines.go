package fft

import "nxvk/synth/kernel"

// lineWriter writes the kernel of the one pass of short lines, each the work of an
// invocation. The lines of a workgroup are contiguous, so neighbouring invocations load
// neighbouring elements and exchange them through shared memory. The results leave in the
// same way.
type lineWriter struct {
	*fftWriter
	arrays [2]int // shared: the parts of the elements
}

// leastLine is the length below which an invocation loads its line itself.
const leastLine = 3

// pitch is the distance of lines in shared memory: odd, so that elements of neighbouring
// lines are in banks of their own.
func (j *fftJob) pitch() int { return j.length | 1 }

// linesOf is how many lines a workgroup has.
func (j *fftJob) linesOf() int {
	n := 128
	for n > banks && 2*n*j.pitch()*j.words() > jointWords {
		n /= 2
	}
	return n
}

// kept is how many elements of a line are stored.
func (j *fftJob) kept() int { return min(j.length, j.keep) }

func (w *lineWriter) write() {
	n, pitch := w.radix, w.job.pitch()
	lines := w.Local
	for i := range w.arrays {
		w.arrays[i] = w.Shared(w.t, lines*pitch)
	}
	first := w.Mul(w.Group(), w.Index(lines))
	// place is the line and the element of a round, and where that is in shared memory.
	place := func(round, length int) (line, i, slot kernel.Value) {
		line, i = w.DivMod(w.Add(w.Invocation(), w.Index(round*lines)), w.Index(length))
		return w.Add(first, line), i, w.Add(w.Mul(line, w.Index(pitch)), i)
	}
	xs := make([]cplx, n)
	for r := range xs {
		line, i, _ := place(r, n)
		xs[r] = w.load(w.Min(line, w.Sub(w.units, w.Index(1))), i)
	}
	for r := range xs {
		_, _, slot := place(r, n)
		w.put(slot, xs[r])
	}
	w.Barrier()
	own := w.Mul(w.Invocation(), w.Index(pitch))
	for m := range xs {
		xs[m] = w.take(w.Add(own, w.Index(m)))
	}
	for m, x := range w.dft(xs) {
		w.put(w.Add(own, w.Index(m)), x)
	}
	w.Barrier()
	for r := range w.job.kept() {
		line, k, slot := place(r, w.job.kept())
		x := w.take(slot)
		w.IfThen(w.IsLess(line, w.units), func() { w.store(line, k, x) })
	}
}

func (w *lineWriter) put(slot kernel.Value, x cplx) {
	for i, array := range w.arrays {
		w.StoreShared(array, slot, *x.part(i))
	}
}

func (w *lineWriter) take(slot kernel.Value) (x cplx) {
	for i, array := range w.arrays {
		*x.part(i) = w.LoadShared(array, slot)
	}
	return x
}
