package factor

import (
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// Arith writes arithmetic of one type of numbers, real or complex.
type Arith struct {
	*codegen.Emitter
	T scalar.Type
}

// Number is a constant of the type, real one of its parts.
func (w Arith) Number(x float64) kernel.Value { return w.Float(w.T, x) }
func (w Arith) Real(x float64) kernel.Value   { return w.Float(w.T.Part(), x) }

func (w Arith) Neg(x kernel.Value) kernel.Value {
	return w.Prim(scalar.Neg, w.Type(x), x)
}
func (w Arith) Over(x, y kernel.Value) kernel.Value { return w.Prim(scalar.Div, w.Type(x), x, y) }
func (w Arith) Sqrt(x kernel.Value) kernel.Value    { return w.Prim(scalar.Sqrt, w.Type(x), x) }

// Fma is x y + z.
func (w Arith) Fma(x, y, z kernel.Value) kernel.Value { return w.Prim(scalar.Fma, w.Type(z), x, y, z) }

// Eps is the distance from 1 to the next number.
func (w Arith) Eps() float64 {
	if w.T.Part() == scalar.F64 {
		return 0x1p-52
	}
	return 0x1p-23
}

// Less is z - x y.
func (w Arith) Less(x, y, z kernel.Value) kernel.Value { return w.Fma(w.Neg(x), y, z) }

// Conj is the complex conjugate.
func Conj(e *codegen.Emitter, x kernel.Value) kernel.Value {
	if !kernel.IsPair(x) {
		return x
	}
	re, im := e.Parts(x)
	return e.Pair(re, e.Prim(scalar.Neg, e.Type(im), im))
}

// PartsOf are those of a complex number, or a real one.
func (w Arith) PartsOf(x kernel.Value) []kernel.Value {
	if !kernel.IsPair(x) {
		return []kernel.Value{x}
	}
	re, im := w.Parts(x)
	return []kernel.Value{re, im}
}

// Re is the real part.
func (w Arith) Re(x kernel.Value) kernel.Value { return w.PartsOf(x)[0] }

// Phase is that of a number, 1 of 0: among real numbers its sign.
func (w Arith) Phase(x kernel.Value) kernel.Value {
	one := w.Number(1)
	if !kernel.IsPair(x) {
		return w.Select(w.Compare(scalar.Lt, x, w.Number(0)), w.Neg(one), one)
	}
	size := w.Abs(x)
	return w.Select(w.Zero(size), one, w.Over(x, size))
}

// Abs is the magnitude, a real number. That of a complex one is no further out of
// range than its parts.
func (w Arith) Abs(x kernel.Value) kernel.Value {
	if !kernel.IsPair(x) {
		return w.Select(w.Compare(scalar.Lt, x, w.Real(0)), w.Neg(x), x)
	}
	re, im := w.Parts(x)
	re, im = w.Abs(re), w.Abs(im)
	lower := w.Compare(scalar.Lt, re, im)
	long, short := w.Select(lower, im, re), w.Select(lower, re, im)
	one := w.Real(1)
	ratio := w.Select(w.Compare(scalar.Eq, long, short), one, w.Over(short, long)) // of zeros too
	return w.Mul(long, w.Sqrt(w.Fma(ratio, ratio, one)))
}

// Zero reports whether x is 0.
func (w Arith) Zero(x kernel.Value) kernel.Value {
	return w.Compare(scalar.Eq, x, w.Float(w.Type(x), 0))
}

// Grid is where a batch of matrices lies, in a kernel.
type Grid struct {
	e                    *codegen.Emitter
	buf                  int
	Off, row, col, batch kernel.Value
	Conj                 bool // elements are read as their conjugates
}

// GridOf takes the next numbers for the matrices of a buffer.
func GridOf(e *codegen.Emitter, buf int) Grid {
	return Grid{e: e, buf: buf, Off: e.NextNumber(), row: e.NextNumber(), col: e.NextNumber(), batch: e.NextNumber()}
}

// Of is matrix b of the batch alone.
func (g Grid) Of(b kernel.Value) Grid {
	g.Off = g.e.Add(g.Off, g.e.Mul(b, g.batch))
	return g
}

// At is where element (i, k) is. The elements of a row share the sum of its own place.
func (g Grid) At(i, k kernel.Value) kernel.Value {
	return g.e.Add(g.e.Add(g.Off, g.e.Mul(i, g.row)), g.e.Mul(k, g.col))
}

func (g Grid) Load(i, k kernel.Value) kernel.Value {
	v := LoadElement(g.e, g.buf, g.At(i, k))
	if g.Conj {
		return Conj(g.e, v)
	}
	return v
}

func (g Grid) Store(i, k, x kernel.Value) { StoreElement(g.e, g.buf, g.At(i, k), x) }

// LoadElement reads an element of a buffer, a complex one where it has pairs.
func LoadElement(e *codegen.Emitter, buf int, at kernel.Value) kernel.Value {
	if !e.Buffers[buf].Pair {
		return e.Load(buf, at, 1)[0]
	}
	parts := e.Load(buf, at, 2)
	return e.Pair(parts[0], parts[1])
}

// StoreElement writes an element of a buffer.
func StoreElement(e *codegen.Emitter, buf int, at, x kernel.Value) {
	if !e.Buffers[buf].Pair {
		e.Store(buf, at, x)
		return
	}
	re, im := e.Parts(x)
	e.Store(buf, at, re, im)
}

// LoadOr is element (i, k) where a condition holds, else another value. The
// element is not read otherwise: another workgroup may be writing beside it.
func (g Grid) LoadOr(c, i, k, other kernel.Value) kernel.Value {
	return g.e.If(c, func() []kernel.Value { return []kernel.Value{g.Load(i, k)} },
		func() []kernel.Value { return []kernel.Value{other} })[0]
}
