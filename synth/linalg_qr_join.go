package synth

import (
	"fmt"

	"nxvk/synth/kernel"
)

// joined appends T of all reflectors of a block, whose scales stand on the
// diagonal of t: a column of T is made of the products of its reflector with those
// before it (Puglisi, 1992). They are summed by so many workgroups, and one joins
// blocks of T on the diagonal, two by two: those of I - V T V^T and I - V' T' V'^T
// leave - T V^T V' T' in the corner.
func (f *reflections) joined(v, t strided, rows, wide int) strided {
	shares, to := max(1, min(16, rows/128)), f.fresh(wide, wide)
	sums := f.fresh(shares*wide, wide)
	f.multiply(blockProduct{a: v.transposed(), b: v, c: sums, m: wide, n: wide, k: rows, shares: shares, step: wide * wide})
	w := &joinWriter{side: panelWidth(wide, f.blockWide())}
	local := 64
	for 2*local <= min(w.side*w.side/16, f.linalg.t.MaxInvocations) {
		local *= 2
	}
	p := &program{local: uint32(local), groups: f.count, flops: int64(f.count) * int64(wide*wide*wide/3),
		bufs: []buffer{f.buffer(sums, Read), f.buffer(t, Read), f.buffer(to, Write)}}
	p.nums = append([]int{f.count, wide, shares}, places(sums, t, to)...)
	p.key = fmt.Sprintf("join %v side=%d", f.typ, w.side)
	typ := f.typ
	p.body = func(e *emitter) error { return w.write(arith{e, typ}) }
	f.run(p)
	return to
}

// joinWriter writes the kernel for a T of up to side columns, a power of two. The
// triangle is in shared memory, packed by rows.
type joinWriter struct{ side int }

// at is where element (i, k) of the triangle lies.
func (w *joinWriter) at(x arith, i, k kernel.Value) kernel.Value {
	return x.Add(x.Shr(x.Mul(i, x.Sub(x.int(2*w.side-1), i)), 1), k)
}

func (w *joinWriter) write(x arith) error {
	count, wide, shares := x.num(), x.num(), x.num()
	sums, scales, to := x.grid(0), x.grid(1), x.grid(2)
	t := x.Shared(x.t, w.side*(w.side+1)/2)
	matrix := x.group()
	x.when(x.below(matrix, count), func() {
		w.load(x, t, sums.of(matrix), scales.of(matrix), wide, shares)
		for s := 1; s < w.side; s *= 2 {
			w.corners(x, t, s, false)
			w.corners(x, t, s, true)
		}
		to := to.of(matrix)
		w.elements(x, func(i, k kernel.Value) {
			x.then(x.both(x.below(i, wide), x.below(k, wide)), func() {
				v := x.If(x.below(k, i), func() []kernel.Value { return []kernel.Value{x.number(0)} },
					func() []kernel.Value { return []kernel.Value{x.LoadShared(t, w.at(x, i, k))} })
				to.store(i, k, v[0])
			})
		})
	})
	return nil
}

// elements calls f for those of the square that are the invocation's.
func (w *joinWriter) elements(x arith, f func(i, k kernel.Value)) {
	for u := 0; u < w.side*w.side; u += x.local {
		f(x.divide(x.Add(x.invocation(), x.int(u)), x.int(w.side)))
	}
}

// load adds up the products of reflectors, puts scales on the diagonal, and has
// zeros beyond the last column.
func (w *joinWriter) load(x arith, t int, sums, scales grid, wide, shares kernel.Value) {
	zero, one := x.number(0), x.int(1)
	last := x.Sub(wide, one)
	var is, ks, init []kernel.Value
	w.elements(x, func(i, k kernel.Value) { is, ks, init = append(is, i), append(ks, k), append(init, zero) })
	all := x.Loop(x.int(0), shares, one, init, func(s kernel.Value, c []kernel.Value) (next []kernel.Value) {
		first := x.Mul(s, wide)
		for u := range c {
			next = append(next, x.Add(c[u], sums.load(x.Add(first, x.least(is[u], last)), x.least(ks[u], last))))
		}
		return next
	})
	for u, v := range all {
		i, k := is[u], ks[u]
		v = x.Select(x.same(i, k), scales.load(x.least(i, last), x.least(i, last)), v)
		v = x.Select(x.below(k, wide), v, zero)
		x.then(x.not(x.below(k, i)), func() { x.StoreShared(t, w.at(x, i, k), v) })
	}
	x.Barrier()
}

// corners multiplies the corner of every pair of blocks of s columns by T' from
// the right, or by - T from the left.
func (w *joinWriter) corners(x arith, t, s int, left bool) {
	all := w.side / 2 * s
	var at, vs []kernel.Value
	for u := 0; u < all; u += x.local {
		pair, in := x.divide(x.least(x.Add(x.invocation(), x.int(u)), x.int(all-1)), x.int(s*s))
		i, k := x.divide(in, x.int(s))
		first := x.Mul(pair, x.int(2*s))
		beyond := x.Add(first, x.int(s))
		row, column := x.Add(first, i), x.Add(beyond, k)
		from, end := x.int(0), x.Add(k, x.int(1))
		if left {
			from, end = i, x.int(s)
		}
		sum := x.Loop(from, end, x.int(1), []kernel.Value{x.number(0)}, func(d kernel.Value, c []kernel.Value) []kernel.Value {
			a, b := w.at(x, row, x.Add(beyond, d)), w.at(x, x.Add(beyond, d), column)
			if left {
				a, b = w.at(x, row, x.Add(first, d)), w.at(x, x.Add(first, d), column)
			}
			return []kernel.Value{x.fma(x.LoadShared(t, a), x.LoadShared(t, b), c[0])}
		})[0]
		if left {
			sum = x.neg(sum)
		}
		at, vs = append(at, w.at(x, row, column)), append(vs, sum)
	}
	x.Barrier()
	for u, v := range vs {
		x.then(x.below(x.Add(x.invocation(), x.int(u*x.local)), x.int(all)), func() { x.StoreShared(t, at[u], v) })
	}
	x.Barrier()
}
