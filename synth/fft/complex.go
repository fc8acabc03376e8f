package fft

import (
	"math"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// cplx is a complex number in a kernel.
type cplx struct{ re, im kernel.Value }

// nought is zero, with which there is no arithmetic.
var nought = cplx{-1, -1}

// part is the real or the imaginary part.
func (x *cplx) part(i int) *kernel.Value {
	if i == 0 {
		return &x.re
	}
	return &x.im
}

// cplxWriter writes arithmetic of complex numbers whose parts are of type t.
type cplxWriter struct {
	*codegen.Emitter
	t     scalar.Type
	fused bool // the device multiplies and adds at once for the price of one
}

// mulAdd is x·y + z.
func (w *cplxWriter) mulAdd(x, y, z kernel.Value) kernel.Value {
	if w.fused {
		return w.Prim(scalar.Fma, w.t, x, y, z)
	}
	return w.Add(z, w.Mul(x, y))
}

func (w *cplxWriter) add(x, y cplx) cplx {
	switch nought {
	case x:
		return y
	case y:
		return x
	}
	return cplx{w.Add(x.re, y.re), w.Add(x.im, y.im)}
}

func (w *cplxWriter) sub(x, y cplx) cplx {
	switch {
	case y == nought:
		return x
	case x == nought:
		return cplx{w.neg(y.re), w.neg(y.im)}
	}
	return cplx{w.Sub(x.re, y.re), w.Sub(x.im, y.im)}
}

func (w *cplxWriter) neg(x kernel.Value) kernel.Value { return w.Prim(scalar.Neg, w.t, x) }

func (w *cplxWriter) times(x, y cplx) cplx {
	return cplx{w.mulAdd(x.re, y.re, w.neg(w.Mul(x.im, y.im))), w.mulAdd(x.re, y.im, w.Mul(x.im, y.re))}
}

// rotate gives x times the root of unity of angle -n/of of a circle.
func (w *cplxWriter) rotate(x cplx, n, of int) cplx {
	switch n %= of; {
	case n == 0, x == nought:
		return x
	case 4*n == of:
		return cplx{x.im, w.neg(x.re)}
	case 2*n == of:
		return cplx{w.neg(x.re), w.neg(x.im)}
	case 4*n == 3*of:
		return cplx{w.neg(x.im), x.re}
	}
	sin, cos := math.Sincos(2 * math.Pi * float64(n) / float64(of))
	return w.times(x, cplx{w.Float(w.t, cos), w.Float(w.t, -sin)})
}

// dft transforms a few numbers: by parts where there are factors, else by
// definition, where elements from both ends share their sines and cosines.
func (w *cplxWriter) dft(xs []cplx) []cplx {
	n := len(xs)
	switch {
	case n == 1:
		return xs
	case n == 2:
		return []cplx{w.add(xs[0], xs[1]), w.sub(xs[0], xs[1])}
	case n%2 != 0:
		for _, p := range []int{3, 5} {
			if n > p && n%p == 0 && n/p%p != 0 {
				return w.coprimeDFT(xs, p, n/p)
			}
		}
		return w.oddDFT(xs)
	}
	a := 2
	if n%4 == 0 && n > 4 {
		a = 4
	}
	b := n / a
	if b%2 != 0 {
		return w.coprimeDFT(xs, a, b)
	}
	columns := make([][]cplx, a)
	for q := range columns {
		part := make([]cplx, b)
		for i := range part {
			part[i] = xs[q+a*i]
		}
		columns[q] = w.dft(part)
	}
	out := make([]cplx, n)
	for k := range b {
		row := make([]cplx, a)
		for q := range row {
			row[q] = w.rotate(columns[q][k], q*k, n)
		}
		for m, y := range w.dft(row) {
			out[k+b*m] = y
		}
	}
	return out
}

// coprimeDFT transforms a·b numbers, where a and b have no common factor: rows and
// columns without twiddles between them (Good, The Interaction Algorithm and Practical
// Fourier Analysis, 1958). Element i is in row i mod a and in column i mod b of the
// results, and b·row + a·column mod a·b of the operand.
func (w *cplxWriter) coprimeDFT(xs []cplx, a, b int) []cplx {
	n := a * b
	rows := make([][]cplx, a)
	for p := range rows {
		row := make([]cplx, b)
		for q := range row {
			row[q] = xs[(b*p+a*q)%n]
		}
		rows[p] = w.dft(row)
	}
	out := make([]cplx, n)
	for q := range b {
		column := make([]cplx, a)
		for p := range column {
			column[p] = rows[p][q]
		}
		for p, y := range w.dft(column) {
			for k := q; k < n; k += b {
				if k%a == p {
					out[k] = y
				}
			}
		}
	}
	return out
}

// oddDFT transforms an odd number of numbers by definition.
func (w *cplxWriter) oddDFT(xs []cplx) []cplx {
	n := len(xs)
	half := (n + 1) / 2
	out := make([]cplx, n)
	sums, differences := make([]cplx, half), make([]cplx, half)
	out[0] = xs[0]
	for k := 1; k < half; k++ {
		sums[k], differences[k] = w.add(xs[k], xs[n-k]), w.sub(xs[k], xs[n-k])
		out[0] = w.add(out[0], sums[k])
	}
	for m := 1; m < half; m++ {
		even, odd := xs[0], nought
		for k := 1; k < half; k++ {
			sin, cos := math.Sincos(2 * math.Pi * float64(m*k%n) / float64(n))
			even = w.scaledPlus(sums[k], cos, even)
			odd = w.scaledPlus(differences[k], sin, odd)
		}
		rotated := w.rotate(odd, 1, 4)
		out[m], out[n-m] = w.add(even, rotated), w.sub(even, rotated)
	}
	return out
}

// scaledPlus is x·by + y.
func (w *cplxWriter) scaledPlus(x cplx, by float64, y cplx) cplx {
	f := w.Float(w.t, by)
	switch {
	case x == nought:
		return y
	case y == nought:
		return cplx{w.Mul(x.re, f), w.Mul(x.im, f)}
	}
	return cplx{w.mulAdd(x.re, f, y.re), w.mulAdd(x.im, f, y.im)}
}

// narrowTwiddle is the root of unity of angle -n·k/of of a circle, which is less than an
// eighth of it.
func (w *cplxWriter) narrowTwiddle(n int, k kernel.Value, of int) cplx {
	sin, cos := w.sine(w.Mul(w.Convert(k, w.t), w.Float(w.t, 2*math.Pi*float64(n)/float64(of))))
	return cplx{cos, w.neg(sin)}
}

// twiddle is the root of unity of angle -n/of of a circle, for n < of < 2^28. The
// angle is brought into an eighth of a circle in integers, which loses nothing.
// binary says that of is a power of two.
func (w *cplxWriter) twiddle(n, of kernel.Value, binary bool) cplx {
	u := scalar.U32
	octant, rest, x := w.octant(n, of, binary)
	isSet := func(x kernel.Value, bit uint64) kernel.Value {
		return w.Compare(scalar.Ne, w.And(x, bit), w.Const(u, 0))
	}
	sin, cos := w.sine(x(w.Select(isSet(octant, 1), w.Sub(of, rest), rest)))
	swap := isSet(w.Add(octant, w.Const(u, 1)), 2)
	sin, cos = w.Select(swap, cos, sin), w.Select(swap, sin, cos)
	cos = w.Select(isSet(w.Add(octant, w.Const(u, 2)), 4), w.neg(cos), cos)
	sin = w.Select(isSet(octant, 4), w.neg(sin), sin)
	return cplx{cos, w.neg(sin)}
}

// octant returns the eighth of a circle in which the angle n/of ends, the rest as a
// multiple of 1/of of an eighth, and a function that converts such a rest to an angle.
func (w *cplxWriter) octant(n, of kernel.Value, binary bool) (octant, rest kernel.Value, angle func(kernel.Value) kernel.Value) {
	eighth, of8 := w.Float(w.t, math.Pi/4), w.Convert(of, w.t)
	if !binary {
		octant, rest = w.DivMod(w.Shl(n, 3), of)
		return octant, rest, func(x kernel.Value) kernel.Value {
			return w.Mul(w.Prim(scalar.Div, w.t, w.Convert(x, w.t), of8), eighth)
		}
	}
	n8 := w.Shl(n, 3)
	octant = w.Prim(scalar.Shr, scalar.U32, n8, w.Prim(scalar.FindMSB, scalar.U32, of))
	rest = w.Prim(scalar.And, scalar.U32, n8, w.Sub(of, w.Const(scalar.U32, 1)))
	unit := w.Prim(scalar.Div, w.t, eighth, of8)
	return octant, rest, func(x kernel.Value) kernel.Value { return w.Mul(w.Convert(x, w.t), unit) }
}

// sine gives sine and cosine of an angle from 0 to an eighth of a circle, by
// their series, whose next terms are below half a unit in the last place.
func (w *cplxWriter) sine(x kernel.Value) (sin, cos kernel.Value) {
	last := 10
	if w.t == scalar.F64 {
		last = 18
	}
	square := w.Mul(x, x)
	coefficient := func(n int) kernel.Value {
		return w.Float(w.t, math.Pow(-1, float64(n/2))/math.Gamma(float64(n+1)))
	}
	series := func(first int) kernel.Value {
		n := last - (last-first)%2
		sum := coefficient(n)
		for n -= 2; n >= first; n -= 2 {
			sum = w.mulAdd(square, sum, coefficient(n))
		}
		return sum
	}
	// The leading terms 1 and x come last and round once.
	cos = w.mulAdd(square, series(2), w.Float(w.t, 1))
	sin = w.mulAdd(w.Mul(x, square), series(3), x)
	return sin, cos
}
