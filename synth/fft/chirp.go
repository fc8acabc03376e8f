package fft

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// chirp computes a transform by one of another length (Bluestein 1970). The chirp
// c(k) is exp(-2πi k²/2n). Coefficient k of n is c(k) times the convolution, at k, of
// the line times c with the conjugate of c. The convolution is a product of
// transforms of a length with small factors that holds all of it.
type chirp struct {
	part    chirpPart
	length  int            // n
	inverse bool           // of the whole
	factor  codegen.Buffer // the transform of the chirp
	table   codegen.Buffer // the chirp
}

type chirpPart uint8

const (
	noChirp     chirpPart = iota
	chirpSelf             // transforms the conjugate of the chirp; reads nothing, writes the chirp too
	chirpIn               // transforms the line times the chirp
	chirpOut              // transforms the product back, and gives the result
	chirpColumn           // does what the two before do with the columns of a pass, in shared memory
)

// chirps plans a transform whose length has a prime factor that is too large for
// a pass.
func (j *fftJob) chirps(t *lowering.Target, temps *[]int64) ([]*codegen.Program, error) {
	n, lines := j.length, strided.Product(j.rows)
	size := convolutionLength(t, 2*n-1, j.words(), j.aside())
	if chirpSize(n) == longChirp && !t.Int64 {
		return nil, lowering.Unsupported("transform of length %d without 64-bit integers", n)
	}
	if lines*size >= 1<<30 {
		return nil, lowering.Unsupported("transform of 2^30 elements by another length")
	}
	convolution, own := j.chirpOf(n, size, temps)
	convolution.part, convolution.inverse = chirpIn, j.inverse
	d := own.toType
	in := *j
	in.length, in.keep, in.inverse, in.eps = size, size, false, 0
	in.toType, in.gives = d, plain
	in.chirp = convolution
	// Lines that lie side by side do so between the transforms, too.
	shape := ops.Shape(append(slices.Clone(j.rows), size))
	if j.aside() {
		shape = append(ops.Shape{size}, j.rows...)
		in.next, in.put.Strides = lines, shape.Strides()[1:]
	} else {
		in.next, in.put.Strides = 1, shape.Strides()[:len(j.rows)]
	}
	line, out := temporary(temps, d, lines*size), *j
	in.to = line
	out.length, out.have, out.inverse, out.reads = size, size, true, plain
	out.from, out.fromType, out.step, out.at = line, d, in.next, in.put
	out.chirp = convolution
	out.chirp.part = chirpOut
	return programsOf([]*fftJob{own, &in, &out}, t, temps)
}

// chirpOf gives the chirp of length n and its transform of the given size, and the job that
// computes them.
func (j *fftJob) chirpOf(n, size int, temps *[]int64) (chirp, *fftJob) {
	d := ops.C64
	if j.compute == scalar.F64 {
		d = ops.C128
	}
	c := chirp{part: chirpSelf, length: n, factor: temporary(temps, d, size), table: temporary(temps, d, n)}
	none := strided.View{Strides: []int{0}}
	return c, &fftJob{compute: j.compute, length: size, have: 1, keep: size, chirp: c, from: j.from, fromType: j.fromType,
		to: c.factor, toType: d, rows: []int{1}, at: none, put: none, step: 1, next: 1}
}

// temporary is a new buffer of complex elements.
func temporary(temps *[]int64, d ops.DType, elements int) codegen.Buffer {
	b := codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: len(*temps)}, Elem: parts[d], Bytes: int64(elements * d.Size())}
	*temps = append(*temps, b.Bytes)
	return b
}

// columnChirps gives the chirps of passes that are convolutions, by radix, and the programs
// that compute them.
func (j *fftJob) columnChirps(passes []fftBlock, t *lowering.Target, temps *[]int64) (map[int]chirp, []*codegen.Program, error) {
	chirps := make(map[int]chirp)
	var jobs []*fftJob
	for i := range passes {
		b := &passes[i]
		if _, ok := chirps[b.Chirp]; ok || b.Chirp == 0 {
			continue
		}
		c, own := j.chirpOf(b.Chirp, b.radix(), temps)
		c.part = chirpColumn
		chirps[b.Chirp], jobs = c, append(jobs, own)
	}
	programs, err := programsOf(jobs, t, temps)
	return chirps, programs, err
}

// programsOf makes the programs of transforms, one after the other.
func programsOf(jobs []*fftJob, t *lowering.Target, temps *[]int64) (programs []*codegen.Program, err error) {
	for _, k := range jobs {
		ps, err := k.programs(t, temps)
		if err != nil {
			return nil, err
		}
		programs = append(programs, ps...)
	}
	return programs, nil
}

// buffers are those that a pass of a transform by a chirp has besides its operand and
// result.
func (w *fftWriter) buffers() (more []codegen.Buffer) {
	c := &w.chirp
	add := func(b codegen.Buffer, a lowering.Access) int {
		b.Access = a
		more = append(more, b)
		return 1 + len(more)
	}
	if c.part == chirpOut && w.first || c.part == chirpColumn {
		w.factor = add(c.factor, lowering.Read)
	}
	switch {
	case c.part == chirpSelf && w.first:
		w.table = add(c.table, lowering.Write)
	case c.part == chirpIn && w.first, c.part == chirpOut && w.last, c.part == chirpColumn:
		w.table = add(c.table, lowering.Read)
	}
	return more
}

// The sizes of chirps, by how squares of numbers below their lengths are reduced.
const (
	shortChirp  = iota // squares have 32 bits
	mediumChirp        // quotients of squares and lengths have less than 22 bits
	longChirp
)

func chirpSize(length int) int {
	switch {
	case length < 1<<16:
		return shortChirp
	case length < 1<<22:
		return mediumChirp
	}
	return longChirp
}

// squareModulo gives i² modulo n, which is even and more than i. A quotient from
// floating-point numbers is off by one at most where it is less than 2^21.
func (w *fftWriter) squareModulo(i, n kernel.Value) kernel.Value {
	switch chirpSize(w.chirp.length) {
	case shortChirp:
		_, rest := w.DivMod(w.Mul(i, i), n)
		return rest
	case longChirp:
		long := w.Convert(i, scalar.U64)
		_, rest := w.DivMod(w.Mul(long, long), w.Convert(n, scalar.U64))
		return w.Convert(rest, scalar.U32)
	}
	x := w.Convert(i, scalar.F32)
	inverse := w.Prim(scalar.Div, scalar.F32, w.Float(scalar.F32, 1), w.Convert(n, scalar.F32))
	quotient := w.Convert(w.Mul(w.Mul(x, inverse), x), scalar.U32)
	rest := w.Sub(w.Mul(i, i), w.Mul(quotient, n)) // modulo 2^32: of -n to 2n
	rest = w.Select(w.Compare(scalar.Lt, rest, w.Index(1<<31)), rest, w.Add(rest, n))
	return w.Select(w.Compare(scalar.Lt, rest, n), rest, w.Sub(rest, n))
}

// convolutionLength is the length of the transforms of a convolution of at least n
// elements: the one that costs least of those with few small factors.
func convolutionLength(t *lowering.Target, n, words int, aside bool) int {
	best, least := 0, 0.0
	for _, odd := range []int{1, 3, 5, 9, 15} {
		size := odd << max(0, codegen.Log2((n+odd-1)/odd))
		if odd > 1 && size%16 != 0 {
			continue
		}
		cost := float64(size) * costOf(Passes(t, size, words, aside), size, words, aside)
		if odd > 1 {
			cost *= 1.1 // angles that are no fractions of powers of two
		}
		if best == 0 || cost < least {
			best, least = size, cost
		}
	}
	return best
}

// chirpAt gives the chirp at i.
func (w *fftWriter) chirpAt(i kernel.Value) cplx {
	turn := w.Shl(w.short, 1)
	return w.twiddle(w.squareModulo(i, turn), turn, false)
}

// filled reports whether element m of a transform of n elements in the first stage is one of
// the zeros that fill a convolution, of which they are one half at least.
func (w *fftWriter) filled(m, n int) bool {
	return w.first && w.chirp.part == chirpIn && m >= wanted(n)
}

// tabled gives the chirp at i from its table.
func (w *fftWriter) tabled(i kernel.Value) cplx {
	v := w.Load(w.table, i, 2)
	return cplx{v[0], v[1]}
}

// multiplied is the product of a coefficient of a line and that of the chirp.
func (w *fftWriter) multiplied(x cplx, i kernel.Value) cplx {
	v := w.Load(w.factor, i, 2)
	return w.times(x, cplx{v[0], v[1]})
}

// chirped gives element i of the line of a chirp's first pass.
func (w *fftWriter) chirped(line, i kernel.Value) cplx {
	switch w.chirp.part {
	case chirpOut:
		return w.multiplied(w.operand(line, i), i)
	case chirpIn:
		return w.withinChirp(i, func(i kernel.Value) cplx { return w.times(w.signal(line, i, w.short), w.tabled(i)) })
	}
	// The chirp runs both ways from 0, around the end of the line.
	back := w.Sub(w.length, i)
	return w.withinChirp(w.Select(w.Compare(scalar.Lt, back, i), back, i), func(k kernel.Value) cplx {
		c := w.chirpAt(k)
		w.IfThen(w.Compare(scalar.Lt, i, w.short), func() { w.Store(w.table, i, c.re, c.im) })
		return cplx{c.re, w.neg(c.im)}
	})
}

// withinChirp gives a value for a number below the length of the chirp, and zero for any
// other one.
func (w *fftWriter) withinChirp(k kernel.Value, value func(k kernel.Value) cplx) cplx {
	inside, zero := w.Compare(scalar.Lt, k, w.short), w.Float(w.t, 0)
	x := value(w.Select(inside, k, w.Index(0)))
	return cplx{w.Select(inside, x.re, zero), w.Select(inside, x.im, zero)}
}
