package fft

import (
	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// fftWriter writes the kernel of one pass of a transform.
type fftWriter struct {
	*cplxWriter
	job         *fftJob
	radix       int
	first, last bool
	columns     bool // neighbouring invocations have neighbouring lines
	twiddles    bool
	binary      bool // the length is a power of two
	block       fftBlock
	wide        bool // neighbouring invocations read elements of neighbouring columns of the block
	wideLast    bool // and write such
	lines       bool // a workgroup has whole lines, each the work of an invocation
	chirp       chirp
	factor      int // buffers of it
	table       int

	units, inner, apart  kernel.Value // transforms of the pass; of a line, or lines; distance of the elements of one
	span, turn           kernel.Value // before and after the pass
	length               kernel.Value
	along, across        kernel.Value // strides of elements and lines between passes
	have, keep           kernel.Value
	step, next           kernel.Value
	short                kernel.Value // the length that a chirp is of
	dims, atDims, toDims []kernel.Value
}

func (w *fftWriter) write(e *codegen.Emitter) error {
	own := *w // a program may be compiled more than once
	w = &own
	w.cplxWriter = &cplxWriter{Emitter: e, t: w.job.compute, fused: !e.Target.CPU}
	w.units, w.inner, w.apart = e.NextNumber(), e.NextNumber(), e.NextNumber()
	w.span, w.turn, w.length = e.NextNumber(), e.NextNumber(), e.NextNumber()
	w.along, w.across = e.NextNumber(), e.NextNumber()
	w.have, w.keep, w.step, w.next = e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	w.short = e.NextNumber()
	for range w.job.rows {
		w.dims, w.atDims, w.toDims = append(w.dims, e.NextNumber()), append(w.atDims, e.NextNumber()), append(w.toDims, e.NextNumber())
	}
	w.known()
	if len(w.block.Stages) > 1 {
		(&blockWriter{fftWriter: w, fftBlock: w.block}).write()
		return nil
	}
	if w.lines {
		(&lineWriter{fftWriter: w}).write()
		return nil
	}
	u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
	e.If(e.Compare(scalar.Lt, u, w.units), func() []kernel.Value {
		line, i := w.split(u)
		k := w.within(i)
		xs := make([]cplx, w.radix)
		for m := range xs {
			if xs[m] = nought; w.filled(m, w.radix) {
				continue
			}
			xs[m] = w.load(line, e.Add(i, e.Mul(e.Index(m), w.apart)))
			if m > 0 && w.twiddles {
				xs[m] = w.times(xs[m], w.twiddle(e.Mul(e.Index(m), k), w.turn, w.binary))
			}
		}
		first := w.results(i, k)
		for m, x := range w.dft(xs) {
			w.store(line, e.Add(first, e.Mul(e.Index(m), w.span)), x)
		}
		return nil
	}, nil)
	return nil
}

// known makes constants of the numbers that the place of a pass among the others tells,
// so that there is no arithmetic with them.
func (w *fftWriter) known() {
	one := w.Index(1)
	if w.first {
		w.span = one
	}
	if w.first && w.last {
		w.apart = one
	}
	if w.job.step == 1 {
		w.step = one
	}
	if w.job.next == 1 {
		w.next = one
	}
	if w.columns {
		w.across = one
	} else {
		w.along = one
	}
}

// split gives the line of transform u of a pass, and its first element.
func (w *fftWriter) split(u kernel.Value) (line, i kernel.Value) {
	switch {
	case w.first && w.last:
		return u, w.Index(0)
	case w.columns:
		i, line = w.DivMod(u, w.inner)
		return line, i
	case w.binary:
		return w.Prim(scalar.Shr, scalar.U32, u, w.Prim(scalar.FindMSB, scalar.U32, w.inner)),
			w.Prim(scalar.And, scalar.U32, u, w.Sub(w.inner, w.Index(1)))
	}
	return w.DivMod(u, w.inner)
}

// within is the place of an element in its span. The first pass has spans of one
// element, the last one has one span.
func (w *fftWriter) within(i kernel.Value) kernel.Value {
	switch {
	case w.first:
		return w.Index(0)
	case w.last:
		return i
	case w.binary:
		return w.Prim(scalar.And, scalar.U32, i, w.Sub(w.span, w.Index(1)))
	}
	_, k := w.DivMod(i, w.span)
	return k
}

// results is where the results of the transform of element i begin, which is at k of its
// span.
func (w *fftWriter) results(i, k kernel.Value) kernel.Value {
	switch {
	case w.last:
		return k
	case w.first:
		return w.Mul(i, w.count())
	}
	return w.Add(w.Mul(w.Sub(i, k), w.count()), k)
}

// count is the radix. That of a convolution is a number, so that radices share kernels.
func (w *fftWriter) count() kernel.Value {
	if w.chirp.part == chirpColumn {
		return w.short
	}
	return w.Index(w.radix)
}

// between is where element i of a line lies between passes.
func (w *fftWriter) between(line, i kernel.Value) kernel.Value {
	return w.Add(w.Mul(line, w.across), w.Mul(i, w.along))
}

// load gives element i of a line.
func (w *fftWriter) load(line, i kernel.Value) cplx {
	if !w.first {
		v := w.Load(0, w.between(line, i), 2)
		return cplx{v[0], v[1]}
	}
	if w.job.chirp.part == noChirp {
		return w.exchanged(w.signal(line, i, w.length), w.job.inverse)
	}
	return w.exchanged(w.chirped(line, i), w.job.inverse)
}

// exchanged has real and imaginary parts exchanged, where that is to be.
func (w *fftWriter) exchanged(x cplx, exchange bool) cplx {
	if exchange {
		return cplx{x.im, x.re}
	}
	return x
}

// signal gives element i of a line of the given length that is transformed.
func (w *fftWriter) signal(line, i, length kernel.Value) cplx {
	var x cplx
	switch w.job.reads {
	case paired:
		x = w.neighbours(line, i)
	case folded:
		x = w.fold(line, i, length)
	case hermitian:
		// Beyond the half, element i is the conjugate of element length - i.
		beyond := w.Compare(scalar.Lt, w.Div(length, w.Index(2)), i)
		x = w.operand(line, w.Select(beyond, w.Sub(length, i), i))
		x.im = w.Select(beyond, w.neg(x.im), x.im)
	default:
		x = w.operand(line, i)
	}
	return w.exchanged(x, w.chirp.inverse)
}

// operand gives element i of a line of the operand, 0 beyond its end.
func (w *fftWriter) operand(line, i kernel.Value) cplx {
	inside, whole := w.Compare(scalar.Lt, i, w.have), w.job.whole()
	if !whole {
		i = w.Select(inside, i, w.Index(0))
	}
	at := w.Add(w.Offsets(line, w.dims, w.atDims), w.Mul(i, w.step))
	zero := w.Float(w.t, 0)
	x := cplx{zero, zero}
	if w.job.fromType.IsComplex() {
		v := w.Load(0, at, 2)
		x = cplx{w.Convert(v[0], w.t), w.Convert(v[1], w.t)}
	} else {
		x.re = w.Convert(w.Decode(w.job.fromType, w.Fetch(0, at, 1)[0]), w.t)
	}
	if whole {
		return x
	}
	return cplx{w.Select(inside, x.re, zero), w.Select(inside, x.im, zero)}
}

// stored is a part of a result as memory has it.
func (w *fftWriter) stored(x kernel.Value) kernel.Value {
	from, to := ops.F32, w.job.toType.Real()
	if w.t == scalar.F64 {
		from = ops.F64
	}
	return w.Encode(to, w.Cast(w.flush(x), from, to))
}

// store writes element i of a line.
func (w *fftWriter) store(line, i kernel.Value, x cplx) {
	if !w.last {
		w.Store(1, w.between(line, i), x.re, x.im)
		return
	}
	x = w.whole(x, w.job.inverse, w.length)
	put := func() []kernel.Value {
		if w.chirp.part == chirpOut {
			x = w.whole(w.times(x, w.tabled(i)), w.chirp.inverse, w.short)
		}
		w.putCoefficient(line, i, x)
		return nil
	}
	if w.job.keep == w.job.length {
		put()
		return
	}
	w.If(w.Compare(scalar.Lt, i, w.keep), put, nil)
}

// putCoefficient writes an element of the result.
func (w *fftWriter) putCoefficient(line, i kernel.Value, x cplx) {
	if w.job.gives == paired {
		w.storePair(line, i, x)
		return
	}
	at := w.Add(w.Offsets(line, w.dims, w.toDims), w.Mul(i, w.next))
	re := w.stored(x.re)
	if w.job.toType.IsComplex() {
		w.Store(1, at, re, w.stored(x.im))
	} else {
		w.Store(1, at, re)
	}
}

// whole ends an inverse transform of the given length.
func (w *fftWriter) whole(x cplx, inverse bool, length kernel.Value) cplx {
	if !inverse {
		return x
	}
	n := w.Prim(scalar.Div, w.t, w.Float(w.t, 1), w.Convert(length, w.t))
	return cplx{w.Mul(x.im, n), w.Mul(x.re, n)}
}

// flush makes small parts 0.
func (w *fftWriter) flush(x kernel.Value) kernel.Value {
	if !(w.job.eps > 0) {
		return x
	}
	eps := w.Float(w.t, w.job.eps)
	small := w.Prim(scalar.AndB, scalar.Bool, w.Compare(scalar.Le, x, eps), w.Compare(scalar.Le, w.neg(eps), x))
	return w.Select(small, w.Float(w.t, 0), x)
}
