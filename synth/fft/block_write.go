package fft

import (
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// blockWriter writes the kernel of a pass whose radix is a block.
type blockWriter struct {
	*fftWriter
	fftBlock
	shapes    []layout
	exchanges int
	arrays    []int // shared: both parts of the elements, or one array for one after the other
}

// blockPlace is the work of an invocation: the small transforms thread, thread +
// threads, … of a column, which begins with element i of a line.
type blockPlace struct {
	column, thread kernel.Value
	line, i, k     kernel.Value
	first          kernel.Value // of the results
	inside         kernel.Value // whether there is such a column
}

// place finds the work of this invocation. A column beyond the last one is the
// last one, whose results are not written.
func (w *blockWriter) place(wide bool) blockPlace {
	var p blockPlace
	if wide {
		p.thread, p.column = w.DivMod(w.Invocation(), w.Index(w.fftBlock.Columns))
	} else {
		p.column, p.thread = w.DivMod(w.Invocation(), w.Index(w.Threads))
	}
	u := w.Add(w.Mul(w.Group(), w.Index(w.fftBlock.Columns)), p.column)
	p.inside = w.Compare(scalar.Lt, u, w.units)
	u = w.Select(p.inside, u, w.Sub(w.units, w.Index(1)))
	p.line, p.i = w.split(u)
	p.k = w.within(p.i)
	p.first = w.results(p.i, p.k)
	return p
}

// smallDFT is a transform of a stage.
type smallDFT struct {
	number kernel.Value // in its column
	thread kernel.Value // the first number of the invocation
	cycle  int          // the number is thread + cycle; negative where it is something else
	extra  kernel.Value // whether there is such a one, where some invocations have one less; else -1
	xs     []cplx
}

// smalls are the transforms of an invocation in a stage.
func (w *blockWriter) smalls(p blockPlace, radix int) []smallDFT {
	n := w.fftBlock.radix() / radix
	out := make([]smallDFT, (n+w.Threads-1)/w.Threads)
	for i := range out {
		b := w.Add(p.thread, w.Index(i*w.Threads))
		out[i] = smallDFT{number: b, thread: p.thread, cycle: i * w.Threads, extra: -1, xs: make([]cplx, radix)}
		if (i+1)*w.Threads > n {
			out[i].extra = w.Compare(scalar.Lt, b, w.Index(n))
			out[i].number = w.Select(out[i].extra, b, w.Index(n-1))
			out[i].cycle = -1
		}
	}
	return out
}

// divided splits the number of a small transform by a constant. The rest is the same
// value for all of an invocation where it is the same, so that their twiddles are found
// once.
func (w *blockWriter) divided(s *smallDFT, by int) (quotient, rest kernel.Value) {
	if s.cycle >= 0 && s.cycle%by == 0 {
		quotient, rest = w.DivMod(s.thread, w.Index(by))
		return w.Add(quotient, w.Index(s.cycle/by)), rest
	}
	return w.DivMod(s.number, w.Index(by))
}

// blockRun are places in a column or in shared memory, so many steps apart.
type blockRun struct {
	first   kernel.Value
	step, n int
}

// at is place m of a run.
func (w *blockWriter) at(r blockRun, m int) kernel.Value { return w.Add(r.first, w.Index(m*r.step)) }

// source is where the elements of a small transform are.
func (w *blockWriter) source(s *smallDFT) blockRun {
	return blockRun{s.number, w.fftBlock.radix() / len(s.xs), len(s.xs)}
}

// target is where the results go, where the stage has the given span.
func (w *blockWriter) target(s *smallDFT, span int) blockRun {
	q, k := w.divided(s, span)
	return blockRun{w.Add(w.Mul(q, w.Index(span*len(s.xs))), k), span, len(s.xs)}
}

// targetSlots is where the results lie in shared memory.
func (w *blockWriter) targetSlots(p blockPlace, l layout, s *smallDFT, span int) blockRun {
	q, k := w.divided(s, span)
	first := w.Add(w.Mul(q, w.Index(l.block*l.place+l.gap)), w.Mul(k, w.Index(l.place)))
	return blockRun{w.Add(first, w.Mul(p.column, w.Index(l.column))), span * l.place, len(s.xs)}
}

// sourceSlots is where the elements of a small transform lie in shared memory. Blocks
// of the layout divide the distance of elements.
func (w *blockWriter) sourceSlots(p blockPlace, l layout, s *smallDFT) blockRun {
	apart := w.fftBlock.radix() / len(s.xs)
	first := w.Mul(s.number, w.Index(l.place))
	if apart > l.block && l.gap > 0 {
		first = w.Add(first, w.Mul(w.Div(s.number, w.Index(l.block)), w.Index(l.gap)))
	}
	return blockRun{w.Add(first, w.Mul(p.column, w.Index(l.column))), apart*l.place + apart/l.block*l.gap, len(s.xs)}
}

func (w *blockWriter) write() {
	words, twice := w.job.words(), w.chirp.part == chirpColumn
	again := twice || w.job.gives == folded
	w.shapes = w.layouts(w.wide, w.wideLast, again, words)
	for range w.parts() {
		w.arrays = append(w.arrays, w.Shared(w.t, w.Words(w.wide, w.wideLast, again, words)))
	}
	at := w.place(w.wide)
	work := w.smalls(at, w.Stages[0])
	for i := range work {
		if s := &work[i]; twice {
			w.loadChirped(at, s)
		} else {
			w.loadSmall(at, s)
		}
	}
	work, at, span := w.transform(work, at)
	if twice {
		w.convolve(work, at, span)
		return
	}
	if w.job.gives == folded {
		w.unfold(work, at, span)
		return
	}
	w.storeAll(work, at, span)
}

// loadSmall loads a small transform of the first stage.
func (w *blockWriter) loadSmall(at blockPlace, s *smallDFT) {
	for m := range s.xs {
		s.xs[m] = nought
		if !w.filled(m, len(s.xs)) {
			s.xs[m] = w.load(at.line, w.Add(at.i, w.Mul(w.at(w.source(s), m), w.apart)))
		}
	}
	w.turned(s.xs, s, at)
}

// turned applies the twiddles of the pass to the first elements of a small transform.
func (w *blockWriter) turned(xs []cplx, s *smallDFT, at blockPlace) {
	if w.twiddles {
		w.twist(xs, s.number, w.fftBlock.radix()/len(s.xs), at.k, w.turn)
	}
}

// transform carries out the stages. It gives the small transforms of the last one and its
// span.
func (w *blockWriter) transform(work []smallDFT, at blockPlace) ([]smallDFT, blockPlace, int) {
	for i := range work {
		work[i].xs = w.dft(work[i].xs)
	}
	span := 1
	for stage, radix := range w.Stages[1:] {
		next := at
		if stage == len(w.Stages)-2 {
			next = w.place(w.wideLast)
		}
		work = w.exchange(work, at, next, stage, span)
		at = next
		span *= w.Stages[stage]
		for i := range work {
			s := &work[i]
			_, k := w.divided(s, span)
			w.twist(s.xs, w.Index(0), 1, k, w.Index(span*radix))
			s.xs = w.dft(s.xs)
		}
	}
	return work, at, span
}

// exchange hands the results of a stage of the given span to the small transforms
// of the next one, which after the last is the first.
func (w *blockWriter) exchange(work []smallDFT, from, to blockPlace, stage, span int) []smallDFT {
	l := w.shapes[stage]
	next := w.smalls(to, w.Stages[(stage+1)%len(w.Stages)])
	w.share(func(part int) { w.put(work, from, l, span, part) }, func(part int) {
		for i := range next {
			s := &next[i]
			slots := w.sourceSlots(to, l, s)
			for m := range s.xs {
				*s.xs[m].part(part) = w.LoadShared(w.array(part), w.at(slots, m))
			}
		}
	})
	return next
}

// share puts the parts of elements into shared memory and takes others from there: both at
// once, or one after the other.
func (w *blockWriter) share(put, take func(part int)) {
	if w.exchanges > 0 {
		w.Barrier()
	}
	w.exchanges++
	put(0)
	if w.Joint {
		put(1)
		w.Barrier()
		take(0)
		take(1)
		return
	}
	w.Barrier()
	take(0)
	w.Barrier()
	put(1)
	w.Barrier()
	take(1)
}

// array is the shared array of a part of elements.
func (w *blockWriter) array(part int) int { return w.arrays[part%len(w.arrays)] }

// put writes a part of the results of a stage to shared memory.
func (w *blockWriter) put(work []smallDFT, at blockPlace, l layout, span, part int) {
	for i := range work {
		s := &work[i]
		slots := w.targetSlots(at, l, s, span)
		w.only(s, func() {
			for m := range s.xs {
				w.StoreShared(w.array(part), w.at(slots, m), *s.xs[m].part(part))
			}
		})
	}
}

// only writes what an invocation does that has the transform.
func (w *blockWriter) only(s *smallDFT, f func()) {
	if s.extra < 0 {
		f()
		return
	}
	w.If(s.extra, func() []kernel.Value { f(); return nil }, nil)
}

// storeAll writes the elements of the last stage.
func (w *blockWriter) storeAll(work []smallDFT, at blockPlace, span int) {
	w.If(at.inside, func() []kernel.Value {
		for i := range work {
			s := &work[i]
			w.only(s, func() {
				for m, x := range s.xs {
					w.store(at.line, w.Add(at.first, w.Mul(w.at(w.target(s, span), m), w.span)), x)
				}
			})
		}
		return nil
	}, nil)
}

// twist turns element m by -(first + m·step)·k/of of a circle. A few twiddles are found
// by their angles; the others are products of those, each of at most five factors.
func (w *fftWriter) twist(xs []cplx, first kernel.Value, step int, k, of kernel.Value) {
	powers := map[int]cplx{} // by step·m
	twiddle := func(m int) cplx {
		if n, ok := w.IsConst(of); ok && step*m*8 <= len(xs) && w.isZero(first) {
			return w.narrowTwiddle(step*m, k, int(n))
		}
		return w.twiddle(w.Mul(w.Index(step*m), k), of, w.binary)
	}
	turns := make([]cplx, len(xs))
	from := 1
	if !w.isZero(first) {
		turns[0] = w.twiddle(w.Mul(first, k), of, w.binary)
		xs[0], from = w.times(xs[0], turns[0]), 0
	}
	for m := 1; m < len(xs); m++ {
		high := 1
		for high*2 <= m {
			high *= 2
		}
		if high == m {
			if m == 1 || m == 4 {
				powers[m] = twiddle(m)
			} else {
				powers[m] = w.times(powers[m/2], powers[m/2])
			}
		}
		turns[m] = powers[high]
		if m > high || from == 0 {
			turns[m] = w.times(turns[m-high], powers[high])
		}
		xs[m] = w.times(xs[m], turns[m])
	}
}

func (w *fftWriter) isZero(x kernel.Value) bool {
	n, ok := w.IsConst(x)
	return ok && n == 0
}
