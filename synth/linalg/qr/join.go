package qr

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
)

// JoinReflectors appends T of all reflectors of a block, whose scales stand on the
// diagonal of t: a column of T is made of the products of its reflector with those
// before it (Puglisi, 1992). They are summed by so many workgroups, and one joins
// blocks of T on the diagonal, two by two: those of I - V T V^T and I - V' T' V'^T
// leave - T V^T V' T' in the corner.
func (f *QR) JoinReflectors(v, t factor.Matrices, rows, wide int) factor.Matrices {
	shares, to := max(1, min(16, rows/128)), f.Fresh(wide, wide)
	sums := f.Fresh(shares*wide, wide)
	f.Multiply(factor.BlockProduct{A: v.Transposed(), B: v, C: sums, M: wide, N: wide, K: rows, Shares: shares, Step: wide * wide})
	w := &joinWriter{side: factor.PanelWidth(wide, blockWide(f.Job))}
	local := 64
	for 2*local <= min(w.side*w.side/16, f.Job.Target.MaxInvocations) {
		local *= 2
	}
	p := &codegen.Program{Local: uint32(local), Groups: f.Count, Flops: int64(f.Count) * int64(wide*wide*wide/3),
		Buffers: []codegen.Buffer{f.Buffer(sums, lowering.Read), f.Buffer(t, lowering.Read), f.Buffer(to, lowering.Write)}}
	p.Numbers = append([]int{f.Count, wide, shares}, factor.Places(sums, t, to)...)
	p.Key = fmt.Sprintf("join %v side=%d", f.Typ, w.side)
	typ := f.Typ
	p.Body = func(e *codegen.Emitter) error { return w.write(factor.Arith{Emitter: e, T: typ}) }
	f.Run(p)
	return to
}

// joinWriter writes the kernel for a T of up to side columns, a power of two. The
// triangle is in shared memory, packed by rows.
type joinWriter struct{ side int }

// at is where element (i, k) of the triangle lies.
func (w *joinWriter) at(x factor.Arith, i, k kernel.Value) kernel.Value {
	return x.Add(x.Shr(x.Mul(i, x.Sub(x.Index(2*w.side-1), i)), 1), k)
}

func (w *joinWriter) write(x factor.Arith) error {
	count, wide, shares := x.NextNumber(), x.NextNumber(), x.NextNumber()
	sums, scales, to := factor.GridOf(x.Emitter, 0), factor.GridOf(x.Emitter, 1), factor.GridOf(x.Emitter, 2)
	t := x.Shared(x.T, w.side*(w.side+1)/2)
	matrix := x.Group()
	x.When(x.IsLess(matrix, count), func() {
		w.load(x, t, sums.Of(matrix), scales.Of(matrix), wide, shares)
		for s := 1; s < w.side; s *= 2 {
			w.corners(x, t, s, false)
			w.corners(x, t, s, true)
		}
		to := to.Of(matrix)
		w.elements(x, func(i, k kernel.Value) {
			x.IfThen(x.And2(x.IsLess(i, wide), x.IsLess(k, wide)), func() {
				v := x.If(x.IsLess(k, i), func() []kernel.Value { return []kernel.Value{x.Number(0)} },
					func() []kernel.Value { return []kernel.Value{x.LoadShared(t, w.at(x, i, k))} })
				to.Store(i, k, v[0])
			})
		})
	})
	return nil
}

// elements calls f for those of the square that are the invocation's.
func (w *joinWriter) elements(x factor.Arith, f func(i, k kernel.Value)) {
	for u := 0; u < w.side*w.side; u += x.Local {
		f(x.DivMod(x.Add(x.Invocation(), x.Index(u)), x.Index(w.side)))
	}
}

// load adds up the products of reflectors, puts scales on the diagonal, and has
// zeros beyond the last column.
func (w *joinWriter) load(x factor.Arith, t int, sums, scales factor.Grid, wide, shares kernel.Value) {
	zero, one := x.Number(0), x.Index(1)
	last := x.Sub(wide, one)
	var is, ks, init []kernel.Value
	w.elements(x, func(i, k kernel.Value) { is, ks, init = append(is, i), append(ks, k), append(init, zero) })
	all := x.Loop(x.Index(0), shares, one, init, func(s kernel.Value, c []kernel.Value) (next []kernel.Value) {
		first := x.Mul(s, wide)
		for u := range c {
			next = append(next, x.Add(c[u], sums.Load(x.Add(first, x.Min(is[u], last)), x.Min(ks[u], last))))
		}
		return next
	})
	for u, v := range all {
		i, k := is[u], ks[u]
		v = x.Select(x.IsEqual(i, k), scales.Load(x.Min(i, last), x.Min(i, last)), v)
		v = x.Select(x.IsLess(k, wide), v, zero)
		x.IfThen(x.Not(x.IsLess(k, i)), func() { x.StoreShared(t, w.at(x, i, k), v) })
	}
	x.Barrier()
}

// corners multiplies the corner of every pair of blocks of s columns by T' from
// the right, or by - T from the left.
func (w *joinWriter) corners(x factor.Arith, t, s int, left bool) {
	all := w.side / 2 * s
	var at, vs []kernel.Value
	for u := 0; u < all; u += x.Local {
		pair, in := x.DivMod(x.Min(x.Add(x.Invocation(), x.Index(u)), x.Index(all-1)), x.Index(s*s))
		i, k := x.DivMod(in, x.Index(s))
		first := x.Mul(pair, x.Index(2*s))
		beyond := x.Add(first, x.Index(s))
		row, column := x.Add(first, i), x.Add(beyond, k)
		from, end := x.Index(0), x.Add(k, x.Index(1))
		if left {
			from, end = i, x.Index(s)
		}
		sum := x.Loop(from, end, x.Index(1), []kernel.Value{x.Number(0)}, func(d kernel.Value, c []kernel.Value) []kernel.Value {
			a, b := w.at(x, row, x.Add(beyond, d)), w.at(x, x.Add(beyond, d), column)
			if left {
				a, b = w.at(x, row, x.Add(first, d)), w.at(x, x.Add(first, d), column)
			}
			return []kernel.Value{x.Fma(x.LoadShared(t, a), x.LoadShared(t, b), c[0])}
		})[0]
		if left {
			sum = x.Neg(sum)
		}
		at, vs = append(at, w.at(x, row, column)), append(vs, sum)
	}
	x.Barrier()
	for u, v := range vs {
		x.IfThen(x.IsLess(x.Add(x.Invocation(), x.Index(u*x.Local)), x.Index(all)), func() { x.StoreShared(t, at[u], v) })
	}
	x.Barrier()
}
