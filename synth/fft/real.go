package fft

import (
	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// A real line of 2h elements is transformed by a complex transform of h elements, whose
// real parts are the even elements of the line and whose imaginary parts are the odd ones
// (Press et al., Numerical Recipes, 2007, section 12.3). Coefficients k and h-k of the one
// give coefficients k and h-k of the other. The way back is the same, backwards.

// form is how a line of complex numbers that is transformed, or the result of that, lies
// in memory.
type form uint8

const (
	plain     form = iota
	hermitian      // the first half of a line, whose other elements are the conjugates of those
	paired         // neighbouring real numbers are the parts of an element
	folded         // coefficients of the real line whose neighbours are the parts of an element
)

// halve lets a transform of a real line of even length, or to such a line, be one of half
// the length, where that is possible.
func (j *fftJob) halve(t *lowering.Target, op ops.Op) {
	n := j.length
	if n%2 != 0 || n < 4 {
		return
	}
	switch op {
	case ops.IRFFT:
		if j.toType.IsComplex() {
			return // whose parts are no neighbours of the line
		}
		j.length, j.keep, j.reads, j.gives = n/2, n/2, folded, paired
	case ops.RFFT, ops.FFT:
		passes := Passes(t, n/2, j.words(), j.aside())
		if j.fromType.IsComplex() || len(passes) != 1 || len(passes[0].Stages) == 1 || passes[0].Chirp > 0 {
			return // coefficients k and h-k are not in one workgroup
		}
		j.length, j.reads, j.gives = n/2, paired, folded
	}
}

// vectored reports whether the pairs of lines begin at even places, so that they can be
// read at once.
func vectored(rows []int, v strided.View, step int) bool {
	if step != 1 || v.Offset%2 != 0 {
		return false
	}
	for i, s := range v.Strides {
		if rows[i] > 1 && s%2 != 0 {
			return false
		}
	}
	return true
}

// neighbours gives the pair of real numbers that is element i of a line.
func (w *fftWriter) neighbours(line, i kernel.Value) cplx {
	if !w.job.vectorReads() {
		return cplx{w.operand(line, w.Shl(i, 1)).re, w.operand(line, w.Add(w.Shl(i, 1), w.Index(1))).re}
	}
	vs := w.Fetch(0, w.Add(w.Shr(w.Offsets(line, w.dims, w.atDims), 1), i), 2)
	return cplx{w.Convert(w.Decode(w.job.fromType, vs[0]), w.t), w.Convert(w.Decode(w.job.fromType, vs[1]), w.t)}
}

func (j *fftJob) vectorReads() bool {
	return j.reads == paired && j.whole() && vectored(j.rows, j.at, j.step)
}

func (j *fftJob) vectorWrites() bool { return j.gives == paired && vectored(j.rows, j.put, j.next) }

// fold gives element i of the line of half the length whose parts are the neighbours of
// the real line that a transform gives: coefficients i and length-i of it tell. Those that
// are real count as such.
func (w *fftWriter) fold(line, i, length kernel.Value) cplx {
	x, y := w.operand(line, i), w.operand(line, w.Sub(length, i))
	zero, half := w.Float(w.t, 0), w.Float(w.t, 0.5)
	atEnd := w.Compare(scalar.Eq, i, w.Index(0))
	x.im, y.im = w.Select(atEnd, zero, x.im), w.Select(atEnd, zero, y.im)
	even := cplx{w.Mul(half, w.Add(x.re, y.re)), w.Mul(half, w.Sub(x.im, y.im))}
	odd := cplx{w.Mul(half, w.Sub(x.re, y.re)), w.Mul(half, w.Add(x.im, y.im))}
	turn := w.twiddle(i, w.Shl(length, 1), w.binary && w.job.chirp.part == noChirp)
	odd = w.times(odd, cplx{turn.re, w.neg(turn.im)})
	return cplx{w.Sub(even.re, odd.im), w.Add(even.im, odd.re)}
}

// storePair writes element i of a line as two real numbers.
func (w *fftWriter) storePair(line, i kernel.Value, x cplx) {
	at := w.Offsets(line, w.dims, w.toDims)
	if w.job.vectorWrites() {
		w.Store(1, w.Add(w.Shr(at, 1), i), w.stored(x.re), w.stored(x.im))
		return
	}
	at = w.Add(at, w.Mul(w.Shl(i, 1), w.next))
	w.Store(1, at, w.stored(x.re))
	w.Store(1, w.Add(at, w.next), w.stored(x.im))
}

// unfold writes the coefficients of real lines from complex transforms of half the length,
// which are in work. With even and odd, the transforms of the even and the odd elements,
// coefficient k is even(k) + w(k)·odd(k), and coefficient h-k is the conjugate of even(k)
// - w(k)·odd(k), with the twiddle w.
func (w *blockWriter) unfold(work []smallDFT, at blockPlace, span int) {
	h := w.fftBlock.radix()
	l := w.shapes[len(w.Stages)-1]
	slot := func(k kernel.Value) kernel.Value {
		return w.Add(w.Mul(k, w.Index(l.place)), w.Mul(at.column, w.Index(l.column)))
	}
	// The coefficient in the middle of an even number is its own partner, and one more
	// than would keep all invocations busy.
	pairs := (h + 1) / 2
	ks := make([]kernel.Value, (pairs+w.Threads-1)/w.Threads)
	xs, ys := make([]cplx, len(ks)), make([]cplx, len(ks))
	for i := range ks {
		ks[i] = w.Add(at.thread, w.Index(i*w.Threads))
		if (i+1)*w.Threads > pairs {
			ks[i] = w.Min(ks[i], w.Index(pairs-1))
		}
	}
	var middle cplx
	w.share(func(part int) { w.put(work, at, l, span, part) }, func(part int) {
		for i, k := range ks {
			other := w.Sub(w.Index(h), k)
			if i == 0 {
				other = w.Select(w.IsEqual(k, w.Index(0)), k, other)
			}
			*xs[i].part(part) = w.LoadShared(w.array(part), slot(k))
			*ys[i].part(part) = w.LoadShared(w.array(part), slot(other))
		}
		*middle.part(part) = w.LoadShared(w.array(part), slot(w.Index(h/2)))
	})
	turn := w.twiddle(at.thread, w.Index(2*h), w.binary)
	w.IfThen(at.inside, func() {
		if h%2 == 0 {
			w.IfThen(w.IsEqual(at.thread, w.Index(0)), func() {
				w.putCoefficient(at.line, w.Index(h/2), cplx{middle.re, w.neg(middle.im)})
				if w.job.keep == 2*h {
					w.putCoefficient(at.line, w.Index(h+h/2), middle)
				}
			})
		}
		for i, k := range ks {
			own := turn
			if (i+1)*w.Threads > pairs {
				own = w.twiddle(k, w.Index(2*h), w.binary)
			} else if i > 0 {
				own = w.rotate(turn, i*w.Threads, 2*h)
			}
			w.unfoldPair(at.line, k, xs[i], ys[i], own)
		}
	})
}

// unfoldPair writes coefficients k and h-k, and where the result has them those of the
// second half, of x and y, the coefficients k and h-k of the line of half the length.
func (w *blockWriter) unfoldPair(line, k kernel.Value, x, y, turn cplx) {
	h, half := w.fftBlock.radix(), w.Float(w.t, 0.5)
	even := cplx{w.Mul(half, w.Add(x.re, y.re)), w.Mul(half, w.Sub(x.im, y.im))}
	odd := cplx{w.Mul(half, w.Add(x.im, y.im)), w.Mul(half, w.Sub(y.re, x.re))}
	odd = w.times(odd, turn)
	low, high := w.add(even, odd), w.sub(even, odd)
	other := w.Sub(w.Index(h), k)
	w.putCoefficient(line, k, low)
	w.putCoefficient(line, other, cplx{high.re, w.neg(high.im)})
	if w.job.keep == 2*h {
		w.putCoefficient(line, w.Add(w.Index(h), k), high)
		w.IfThen(w.IsLess(w.Index(0), k), func() {
			w.putCoefficient(line, w.Add(w.Index(h), other), cplx{low.re, w.neg(low.im)})
		})
	}
}
