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

// chirp is the part of a transform in one of another length, by Bluestein's
// algorithm: with the chirp c(k) that is the unit turned by -k²/2n of a circle,
// coefficient k of n is c(k) times the convolution at k of the line times c with
// the conjugate of c. The convolution is a product of transforms of a power of
// two that holds all of it.
type chirp struct {
	part    chirpPart
	length  int            // n
	inverse bool           // of the whole
	factor  codegen.Buffer // the transform of the chirp
}

type chirpPart uint8

const (
	noChirp   chirpPart = iota
	chirpIn             // transforms the line times the chirp
	chirpSelf           // transforms the conjugate of the chirp; reads nothing
	chirpOut            // transforms the product back, and gives the result
)

// chirps plans a transform whose length has a prime factor that is too large for
// a pass.
func (j *fftJob) chirps(t *lowering.Target, temps *[]int64) ([]*codegen.Program, error) {
	n, lines := j.length, strided.Product(j.rows)
	size := 1 << codegen.Log2(2*n-1)
	if n >= 1<<16 && !t.Int64 {
		return nil, lowering.Unsupported("transform of length %d without 64-bit integers", n)
	}
	if lines*size >= 1<<30 {
		return nil, lowering.Unsupported("transform of 2^30 elements by another length")
	}
	d := ops.C64
	if j.compute == scalar.F64 {
		d = ops.C128
	}
	temp := func(lines int) codegen.Buffer {
		b := codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: len(*temps)}, Elem: parts[d], Bytes: int64(lines * size * d.Size())}
		*temps = append(*temps, b.Bytes)
		return b
	}
	line, self := temp(lines), temp(1)
	in, out := *j, *j
	in.length, in.keep, in.inverse, in.eps = size, size, false, 0
	in.to, in.toType, in.next = line, d, 1
	in.chirp = chirp{part: chirpIn, length: n, inverse: j.inverse}
	in.put.Strides = ops.Shape(append(slices.Clone(j.rows), size)).Strides()[:len(j.rows)]
	own := in
	own.rows, own.at, own.put = []int{1}, strided.View{Strides: []int{0}}, strided.View{Strides: []int{0}}
	own.to, own.chirp.part = self, chirpSelf
	out.length, out.have, out.inverse, out.halved = size, size, true, false
	out.from, out.fromType, out.step, out.at = line, d, 1, in.put
	out.chirp = chirp{part: chirpOut, length: n, inverse: j.inverse, factor: self}
	var programs []*codegen.Program
	for _, k := range []*fftJob{&in, &own, &out} {
		ps, err := k.programs(t, temps)
		if err != nil {
			return nil, err
		}
		programs = append(programs, ps...)
	}
	return programs, nil
}

// chirp gives the chirp at i.
func (w *fftWriter) chirp(i kernel.Value) cplx {
	turn := w.Shl(w.short, 1)
	var n kernel.Value
	if w.job.chirp.length < 1<<16 {
		_, n = w.DivMod(w.Mul(i, i), turn)
	} else {
		long := w.Convert(i, scalar.U64)
		_, n = w.DivMod(w.Mul(long, long), w.Convert(turn, scalar.U64))
		n = w.Convert(n, scalar.U32)
	}
	return w.twiddle(n, turn, false)
}

// chirped gives element i of the line of a chirp's first pass.
func (w *fftWriter) chirped(line, i kernel.Value) cplx {
	zero := w.Float(w.t, 0)
	switch w.job.chirp.part {
	case chirpOut:
		v := w.Load(2, i, 2)
		return w.times(w.operand(line, i), cplx{v[0], v[1]})
	case chirpIn:
		v := w.If(w.Compare(scalar.Lt, i, w.short), func() []kernel.Value {
			x := w.times(w.signal(line, i, w.short), w.chirp(i))
			return []kernel.Value{x.re, x.im}
		}, func() []kernel.Value { return []kernel.Value{zero, zero} })
		return cplx{v[0], v[1]}
	}
	// The chirp runs both ways from 0, around the end of the line.
	back := w.Sub(w.length, i)
	k := w.Select(w.Compare(scalar.Lt, back, i), back, i)
	v := w.If(w.Compare(scalar.Lt, k, w.short), func() []kernel.Value {
		c := w.chirp(k)
		return []kernel.Value{c.re, w.neg(c.im)}
	}, func() []kernel.Value { return []kernel.Value{zero, zero} })
	return cplx{v[0], v[1]}
}
