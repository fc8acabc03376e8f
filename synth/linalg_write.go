package synth

import (
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// arith writes arithmetic of one type of numbers, real or complex.
type arith struct {
	*emitter
	t scalar.Type
}

// number is a constant of the type, real one of its parts.
func (w arith) number(x float64) kernel.Value { return w.Float(w.t, x) }
func (w arith) real(x float64) kernel.Value   { return w.Float(w.t.Part(), x) }

func (w arith) neg(x kernel.Value) kernel.Value {
	return w.Prim(scalar.Neg, w.Type(x), x)
}
func (w arith) over(x, y kernel.Value) kernel.Value { return w.Prim(scalar.Div, w.Type(x), x, y) }
func (w arith) sqrt(x kernel.Value) kernel.Value    { return w.Prim(scalar.Sqrt, w.Type(x), x) }

// fma is x y + z.
func (w arith) fma(x, y, z kernel.Value) kernel.Value { return w.Prim(scalar.Fma, w.Type(z), x, y, z) }

// eps is the distance from 1 to the next number.
func (w arith) eps() float64 {
	if w.t.Part() == scalar.F64 {
		return 0x1p-52
	}
	return 0x1p-23
}

// less is z - x y.
func (w arith) less(x, y, z kernel.Value) kernel.Value { return w.fma(w.neg(x), y, z) }

// conj is the complex conjugate.
func (e *emitter) conj(x kernel.Value) kernel.Value {
	if !kernel.IsPair(x) {
		return x
	}
	re, im := e.Parts(x)
	return e.Pair(re, e.Prim(scalar.Neg, e.Type(im), im))
}

// parts are those of a complex number, or a real one.
func (w arith) parts(x kernel.Value) []kernel.Value {
	if !kernel.IsPair(x) {
		return []kernel.Value{x}
	}
	re, im := w.Parts(x)
	return []kernel.Value{re, im}
}

// re is the real part.
func (w arith) re(x kernel.Value) kernel.Value { return w.parts(x)[0] }

// phase is that of a number, 1 of 0: among real numbers its sign.
func (w arith) phase(x kernel.Value) kernel.Value {
	one := w.number(1)
	if !kernel.IsPair(x) {
		return w.Select(w.Compare(scalar.Lt, x, w.number(0)), w.neg(one), one)
	}
	size := w.abs(x)
	return w.Select(w.zero(size), one, w.over(x, size))
}

// abs is the magnitude, a real number. That of a complex one is no further out of
// range than its parts.
func (w arith) abs(x kernel.Value) kernel.Value {
	if !kernel.IsPair(x) {
		return w.Select(w.Compare(scalar.Lt, x, w.real(0)), w.neg(x), x)
	}
	re, im := w.Parts(x)
	re, im = w.abs(re), w.abs(im)
	lower := w.Compare(scalar.Lt, re, im)
	long, short := w.Select(lower, im, re), w.Select(lower, re, im)
	one := w.real(1)
	ratio := w.Select(w.Compare(scalar.Eq, long, short), one, w.over(short, long)) // of zeros too
	return w.Mul(long, w.sqrt(w.fma(ratio, ratio, one)))
}

// zero reports whether x is 0.
func (w arith) zero(x kernel.Value) kernel.Value {
	return w.Compare(scalar.Eq, x, w.Float(w.Type(x), 0))
}

// below is x < y for whole numbers; same is x = y.
func (e *emitter) below(x, y kernel.Value) kernel.Value { return e.Compare(scalar.Lt, x, y) }
func (e *emitter) same(x, y kernel.Value) kernel.Value  { return e.Compare(scalar.Eq, x, y) }

// least is the smaller of two whole numbers.
func (e *emitter) least(x, y kernel.Value) kernel.Value { return e.Select(e.below(x, y), x, y) }

// both, either and not combine conditions.
func (e *emitter) both(x, y kernel.Value) kernel.Value {
	return e.Prim(scalar.AndB, scalar.Bool, x, y)
}
func (e *emitter) either(x, y kernel.Value) kernel.Value {
	return e.Prim(scalar.OrB, scalar.Bool, x, y)
}
func (e *emitter) not(x kernel.Value) kernel.Value { return e.Prim(scalar.NotB, scalar.Bool, x) }

// when runs body where a condition holds that all invocations of the workgroup
// find the same: unlike a branch, it may hold barriers.
func (e *emitter) when(c kernel.Value, body func()) {
	e.Loop(e.int(0), e.Select(c, e.int(1), e.int(0)), e.int(1), nil, func(kernel.Value, []kernel.Value) []kernel.Value {
		body()
		return nil
	})
}

// repeat runs body for i from first below limit, in steps.
func (e *emitter) repeat(first, limit, step kernel.Value, body func(i kernel.Value)) {
	e.Loop(first, limit, step, nil, func(i kernel.Value, _ []kernel.Value) []kernel.Value {
		body(i)
		return nil
	})
}

// then runs body where a condition holds.
func (e *emitter) then(c kernel.Value, body func()) {
	e.If(c, func() []kernel.Value { body(); return nil }, nil)
}

// spread hands the numbers below n out to the invocations and gives those of this
// one to load and then, with what that gave, to store. All is loaded before
// anything is stored, sixteen at a time, so that loads do not wait for each other.
func (e *emitter) spread(n int, load func(u kernel.Value) kernel.Value, store func(u, v kernel.Value)) {
	const ahead = 16
	for first := 0; first < n; first += ahead * e.local {
		var us, vs []kernel.Value
		for at := first; at < min(n, first+ahead*e.local); at += e.local {
			u := e.Add(e.invocation(), e.int(at))
			if at+e.local > n {
				u = e.least(u, e.int(n-1))
			}
			us, vs = append(us, u), append(vs, load(u))
		}
		for i, u := range us {
			at := first + i*e.local
			if at+e.local <= n {
				store(u, vs[i])
				continue
			}
			e.then(e.below(e.Add(e.invocation(), e.int(at)), e.int(n)), func() { store(u, vs[i]) })
		}
	}
}

// grid is where a batch of matrices lies, in a kernel.
type grid struct {
	e                    *emitter
	buf                  int
	off, row, col, batch kernel.Value
	conj                 bool // elements are read as their conjugates
}

// grid takes the next numbers for the matrices of a buffer.
func (e *emitter) grid(buf int) grid {
	return grid{e: e, buf: buf, off: e.num(), row: e.num(), col: e.num(), batch: e.num()}
}

// of is matrix b of the batch alone.
func (g grid) of(b kernel.Value) grid {
	g.off = g.e.Add(g.off, g.e.Mul(b, g.batch))
	return g
}

func (g grid) at(i, k kernel.Value) kernel.Value {
	return g.e.Add(g.off, g.e.Add(g.e.Mul(i, g.row), g.e.Mul(k, g.col)))
}

func (g grid) load(i, k kernel.Value) kernel.Value {
	v := g.e.loadElement(g.buf, g.at(i, k))
	if g.conj {
		return g.e.conj(v)
	}
	return v
}

func (g grid) store(i, k, x kernel.Value) { g.e.storeElement(g.buf, g.at(i, k), x) }

// loadElement reads an element of a buffer, a complex one where it has pairs.
func (e *emitter) loadElement(buf int, at kernel.Value) kernel.Value {
	if !e.bufs[buf].pair {
		return e.Load(buf, at, 1)[0]
	}
	parts := e.Load(buf, at, 2)
	return e.Pair(parts[0], parts[1])
}

// storeElement writes an element of a buffer.
func (e *emitter) storeElement(buf int, at, x kernel.Value) {
	if !e.bufs[buf].pair {
		e.Store(buf, at, x)
		return
	}
	re, im := e.Parts(x)
	e.Store(buf, at, re, im)
}

// loadOr is element (i, k) where a condition holds, else another value. What is
// not there is not read: another workgroup may be writing beside it.
func (g grid) loadOr(c, i, k, other kernel.Value) kernel.Value {
	return g.e.If(c, func() []kernel.Value { return []kernel.Value{g.load(i, k)} },
		func() []kernel.Value { return []kernel.Value{other} })[0]
}
