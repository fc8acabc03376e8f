package synth

import (
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// rotateWriter writes the kernel of rotations of small matrices: a workgroup each.
type rotateWriter struct {
	pivots
	t     scalar.Type
	side  int
	local int
}

func (w *rotateWriter) write(e *emitter) error {
	x := &rotation{arith: arith{e, w.t}, side: w.side, relative: w.pivots.bound == nil}
	count, pairs, n, sums, step, sPair, sweeps := e.num(), e.num(), e.num(), e.num(), e.num(), e.num(), e.num()
	x.rounds = e.num()
	x.cross = e.not(e.same(e.num(), e.int(0)))
	s, to := e.grid(0), e.grid(1)
	next := 2
	part := func(on bool) (buf int, off, batch kernel.Value) {
		if !on {
			return 0, 0, 0
		}
		next++
		return next - 1, e.num(), e.num()
	}
	boundBuf, boundOff, boundBatch := part(w.pivots.bound != nil)
	valueBuf, valueOff, valueBatch := part(w.values != nil)
	batch := e.group()
	matrix, pair := e.divide(batch, pairs)
	active := e.below(matrix, count)
	var slot kernel.Value
	if w.active != nil {
		first, from, all := e.num(), e.num(), e.num()
		word := e.Load(next, e.Select(active, e.Add(first, matrix), first), 1)[0]
		slot = e.Add(e.Mul(matrix, all), e.Add(from, pair))
		// Words of rounds that are left out are not read.
		active = e.both(active, e.not(e.same(word, e.int(0))))
	}
	x.s, x.w = e.Shared(w.t, w.side*(w.side+1)), e.Shared(w.t, w.side*(w.side+1))
	x.share()
	e.when(active, func() {
		x.bound = x.real(8 * x.eps())
		if w.pivots.bound != nil {
			x.bound = x.re(e.loadElement(boundBuf, e.Add(boundOff, e.Mul(matrix, boundBatch))))
		}
		from := s.of(matrix)
		from.off = e.Add(from.off, e.Mul(pair, sPair))
		w.load(x, from, n, sums, step)
		any := x.sweepAll(sweeps)
		to := to.of(batch)
		e.repeat(e.invocation(), e.int(w.side*w.side), e.int(w.local), func(u kernel.Value) {
			i, k := e.divide(u, e.int(w.side))
			e.then(e.both(e.below(i, n), e.below(k, n)), func() { to.store(i, k, e.LoadShared(x.w, x.at(i, k))) })
			if w.values != nil {
				e.then(e.both(e.same(i, k), e.below(i, n)), func() {
					at := e.Add(valueOff, e.Add(e.Mul(matrix, valueBatch), i))
					e.storeElement(valueBuf, at, x.re(e.LoadShared(x.s, x.at(i, i))))
				})
			}
		})
		if w.active != nil {
			e.then(e.same(e.invocation(), e.int(0)), func() { e.Store(next+1, slot, any) })
		}
	})
	return nil
}

// load reads the Hermitian matrix and starts with no rotation.
func (w *rotateWriter) load(x *rotation, from grid, n, sums, step kernel.Value) {
	var is, ks, zeros []kernel.Value
	for at := 0; at < x.side*x.side; at += w.local {
		i, k := x.divide(x.Add(x.invocation(), x.int(at)), x.int(x.side))
		is, ks, zeros = append(is, i), append(ks, k), append(zeros, x.number(0))
	}
	all := x.Loop(x.int(0), sums, x.int(1), zeros, func(q kernel.Value, c []kernel.Value) []kernel.Value {
		g := from
		g.off = x.Add(g.off, x.Mul(q, step))
		next := make([]kernel.Value, len(c))
		for u := range c {
			inside := x.both(x.below(is[u], n), x.below(ks[u], n))
			next[u] = x.Add(c[u], g.loadOr(inside, is[u], ks[u], x.number(0)))
		}
		return next
	})
	for u, sum := range all {
		x.StoreShared(x.s, x.at(is[u], ks[u]), sum)
		x.StoreShared(x.w, x.at(is[u], ks[u]), x.Select(x.same(is[u], ks[u]), x.number(1), x.number(0)))
	}
}
