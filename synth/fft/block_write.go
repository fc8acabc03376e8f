package fft

import (
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// blockWriter writes the kernel of a pass whose radix is a block.
type blockWriter struct {
	*fftWriter
	fftBlock
	apart kernel.Value
	array int // shared: one part of the elements
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
func (w *blockWriter) place(wide bool, units, inner kernel.Value) blockPlace {
	var p blockPlace
	if wide {
		p.thread, p.column = w.DivMod(w.Invocation(), w.Index(w.fftBlock.Columns))
	} else {
		p.column, p.thread = w.DivMod(w.Invocation(), w.Index(w.Threads))
	}
	u := w.Add(w.Mul(w.Group(), w.Index(w.fftBlock.Columns)), p.column)
	p.inside = w.Compare(scalar.Lt, u, units)
	u = w.Select(p.inside, u, w.Sub(units, w.Index(1)))
	p.line, p.i = w.DivMod(u, inner)
	if w.fftWriter.columns {
		p.line, p.i = p.i, p.line
	}
	_, p.k = w.DivMod(p.i, w.span)
	p.first = w.Add(w.Mul(w.Sub(p.i, p.k), w.Index(w.fftBlock.radix())), p.k)
	return p
}

// smallDFT is a transform of a stage.
type smallDFT struct {
	number kernel.Value // in its column
	thread kernel.Value // the first number of the invocation
	cycle  int          // the number is thread + cycle; 1 where it is something else
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
			out[i].cycle = 1
		}
	}
	return out
}

// within is the number of a small transform modulo a span: the same value for all
// of an invocation where it is the same, so that their turns are found once.
func (w *blockWriter) within(s *smallDFT, span int) kernel.Value {
	number := s.number
	if s.cycle%span == 0 {
		number = s.thread
	}
	if span&(span-1) == 0 {
		return w.And(number, uint64(span-1))
	}
	_, k := w.DivMod(number, w.Index(span))
	return k
}

// blockRun are places in a column, so many steps apart.
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
	k := w.within(s, span)
	return blockRun{w.Add(w.Mul(w.Sub(s.number, k), w.Index(len(s.xs))), k), span, len(s.xs)}
}

// banks are the words of shared memory that can be reached at once.
const banks = 32

// moved is where a word lies in shared memory. Within every 32 words it is moved by
// the number of those, and by half of them in every second 256, so that what is
// written a radix apart and what is read side by side are in banks of their own,
// and no word is lost.
func (w *blockWriter) moved(flat kernel.Value) kernel.Value {
	by := w.And(w.Shr(flat, 5), banks-1)
	half := w.And(w.Shr(flat, 4), banks/2)
	return w.Prim(scalar.Xor, scalar.U32, flat, w.Prim(scalar.Xor, scalar.U32, by, half))
}

// slots are where the places of a run lie in shared memory. Where all is powers of
// two, first and steps have no bits in common, so that each is moved by itself.
func (w *blockWriter) slots(p blockPlace, r blockRun) []kernel.Value {
	c := w.fftBlock.Columns
	flat := func(at kernel.Value) kernel.Value { return w.Add(w.Mul(at, w.Index(c)), p.column) }
	out := make([]kernel.Value, r.n)
	size := c * w.fftBlock.radix()
	first := w.moved(flat(r.first))
	for m := range out {
		if size&(size-1) != 0 {
			out[m] = w.moved(flat(w.at(r, m)))
			continue
		}
		by := m * r.step * c
		by ^= by>>5&(banks-1) ^ by>>4&(banks/2)
		out[m] = w.Prim(scalar.Xor, scalar.U32, first, w.Index(by))
	}
	return out
}

// Words is how many words of shared memory there are.
func (b *fftBlock) Words() int {
	return (b.radix()*b.Columns + banks - 1) / banks * banks
}

func (w *blockWriter) write(units, inner kernel.Value) {
	w.array = w.Shared(w.t, w.Words())
	at := w.place(w.wide, units, inner)
	work := w.smalls(at, w.Stages[0])
	for i := range work {
		s := &work[i]
		for m := range s.xs {
			s.xs[m] = w.load(at.line, w.Add(at.i, w.Mul(w.at(w.source(s), m), w.apart)))
		}
		if w.twiddles {
			w.twist(s.xs, s.number, w.fftBlock.radix()/len(s.xs), at.k, w.turn)
		}
		s.xs = w.dft(s.xs)
	}
	span := w.Stages[0]
	for stage, radix := range w.Stages[1:] {
		next := at
		if stage == len(w.Stages)-2 {
			next = w.place(w.wideLast, units, inner)
		}
		work = w.exchange(work, at, next, span/w.Stages[stage], radix)
		at = next
		for i := range work {
			s := &work[i]
			w.twist(s.xs, w.Index(0), 1, w.within(s, span), w.Index(span*radix))
			s.xs = w.dft(s.xs)
		}
		span *= radix
	}
	w.results(work, at, span/w.Stages[len(w.Stages)-1])
}

// exchange hands the results of a stage of the given span to the small transforms
// of the next one.
func (w *blockWriter) exchange(work []smallDFT, from, to blockPlace, span, radix int) []smallDFT {
	next := w.smalls(to, radix)
	for part := range 2 {
		for i := range work {
			s := &work[i]
			slots := w.slots(from, w.target(s, span))
			w.only(s, func() {
				for m, x := range s.xs {
					w.StoreShared(w.array, slots[m], []kernel.Value{x.re, x.im}[part])
				}
			})
		}
		w.Barrier()
		for i := range next {
			s := &next[i]
			for m, slot := range w.slots(to, w.source(s)) {
				x := w.LoadShared(w.array, slot)
				if part == 0 {
					s.xs[m].re = x
				} else {
					s.xs[m].im = x
				}
			}
		}
		w.Barrier()
	}
	return next
}

// only writes what an invocation does that has the transform.
func (w *blockWriter) only(s *smallDFT, f func()) {
	if s.extra < 0 {
		f()
		return
	}
	w.If(s.extra, func() []kernel.Value { f(); return nil }, nil)
}

// results writes the elements of the last stage.
func (w *blockWriter) results(work []smallDFT, at blockPlace, span int) {
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

// twist turns element m by -(first + m·step)·k/of of a circle. A few turns are
// found by their angles; the others are products of at most five of those.
func (w *fftWriter) twist(xs []cplx, first kernel.Value, step int, k, of kernel.Value) {
	turns := make([]cplx, len(xs))
	from := 1
	if n, ok := w.IsConst(first); !ok || n != 0 {
		turns[0] = w.twiddle(w.Mul(first, k), of, w.binary)
		xs[0], from = w.times(xs[0], turns[0]), 0
	}
	var single cplx
	for m := 1; m < len(xs); m++ {
		high := 1
		for high*2 <= m {
			high *= 2
		}
		if high == m {
			single = w.twiddle(w.Mul(w.Index(step*m), k), of, w.binary)
		}
		turns[m] = single
		if m > high || from == 0 {
			turns[m] = w.times(turns[m-high], single)
		}
		xs[m] = w.times(xs[m], turns[m])
	}
}
