package fft

import (
	"nxvk/synth/kernel"
)

// The columns of a pass are transformed by convolutions in shared memory where their length has
// a large prime factor: see chirp. A column has at most half the points of the convolution and
// one half. So the second half of each small transform is zeros in the first stage, and is not
// wanted in the last one.

// wanted is how many of so many elements of a small transform are of a column.
func wanted(n int) int { return (n + 1) / 2 }

// loadChirped loads a small transform of the first stage of a convolution.
func (w *blockWriter) loadChirped(at blockPlace, s *smallDFT) {
	from := w.source(s)
	xs := s.xs[:wanted(len(s.xs))]
	for m := range s.xs {
		s.xs[m] = nought
	}
	for m := range xs {
		xs[m] = w.withinChirp(w.at(from, m), func(i kernel.Value) cplx {
			return w.times(w.load(at.line, w.Add(at.i, w.Mul(i, w.apart))), w.tabled(i))
		})
	}
	w.turned(xs, s, at)
}

// convolve multiplies the transform of columns by that of the chirp, transforms the product
// back, and stores the columns.
func (w *blockWriter) convolve(work []smallDFT, at blockPlace, span int) {
	for i := range work {
		s := &work[i]
		for m, x := range s.xs {
			s.xs[m] = w.exchanged(w.multiplied(x, w.at(w.target(s, span), m)), true)
		}
	}
	start := w.place(w.wide)
	work = w.exchange(work, at, start, len(w.Stages)-1, span)
	work, at, span = w.transform(work, start)
	scale := w.Float(w.t, 1/float64(w.fftBlock.radix()))
	w.IfThen(at.inside, func() {
		for i := range work {
			s := &work[i]
			to := w.target(s, span)
			w.only(s, func() {
				for m, x := range s.xs[:wanted(len(s.xs))] {
					i := w.at(to, m)
					w.IfThen(w.IsLess(i, w.short), func() {
						x := w.times(cplx{w.Mul(x.im, scale), w.Mul(x.re, scale)}, w.tabled(i))
						w.store(at.line, w.Add(at.first, w.Mul(i, w.span)), x)
					})
				}
			})
		}
	})
}
