package jacobi

import (
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/scalar"
)

// rotateWriter writes the kernel of rotations of small matrices: a workgroup each.
type rotateWriter struct {
	pivots
	t     scalar.Type
	side  int
	local int
}

func (w *rotateWriter) write(e *codegen.Emitter) error {
	x := &rotation{Arith: factor.Arith{Emitter: e, T: w.t}, side: w.side, relative: w.pivots.bound == nil}
	count, pairs, n, sums, step, sPair, sweeps := e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	x.rounds = e.NextNumber()
	x.cross = e.Not(e.IsEqual(e.NextNumber(), e.Index(0)))
	s, to := factor.GridOf(e, 0), factor.GridOf(e, 1)
	next := 2
	part := func(on bool) (buf int, off, batch kernel.Value) {
		if !on {
			return 0, 0, 0
		}
		next++
		return next - 1, e.NextNumber(), e.NextNumber()
	}
	boundBuf, boundOff, boundBatch := part(w.pivots.bound != nil)
	valueBuf, valueOff, valueBatch := part(w.values != nil)
	batch := e.Group()
	matrix, pair := e.DivMod(batch, pairs)
	active := e.IsLess(matrix, count)
	var slot kernel.Value
	if w.active != nil {
		first, from, all := e.NextNumber(), e.NextNumber(), e.NextNumber()
		word := e.Load(next, e.Select(active, e.Add(first, matrix), first), 1)[0]
		slot = e.Add(e.Mul(matrix, all), e.Add(from, pair))
		// Words of rounds that are left out are not read.
		active = e.And2(active, e.Not(e.IsEqual(word, e.Index(0))))
	}
	x.s, x.w = e.Shared(w.t, w.side*(w.side+1)), e.Shared(w.t, w.side*(w.side+1))
	x.share()
	e.When(active, func() {
		x.bound = x.Real(8 * x.Eps())
		if w.pivots.bound != nil {
			x.bound = x.Re(factor.LoadElement(e, boundBuf, e.Add(boundOff, e.Mul(matrix, boundBatch))))
		}
		from := s.Of(matrix)
		from.Off = e.Add(from.Off, e.Mul(pair, sPair))
		w.load(x, from, n, sums, step)
		any := x.sweepAll(sweeps)
		to := to.Of(batch)
		e.For(e.Invocation(), e.Index(w.side*w.side), e.Index(w.local), func(u kernel.Value) {
			i, k := e.DivMod(u, e.Index(w.side))
			e.IfThen(e.And2(e.IsLess(i, n), e.IsLess(k, n)), func() { to.Store(i, k, e.LoadShared(x.w, x.at(i, k))) })
			if w.values != nil {
				e.IfThen(e.And2(e.IsEqual(i, k), e.IsLess(i, n)), func() {
					at := e.Add(valueOff, e.Add(e.Mul(matrix, valueBatch), i))
					factor.StoreElement(e, valueBuf, at, x.Re(e.LoadShared(x.s, x.at(i, i))))
				})
			}
		})
		if w.active != nil {
			e.IfThen(e.IsEqual(e.Invocation(), e.Index(0)), func() { e.Store(next+1, slot, any) })
		}
	})
	return nil
}

// load reads the Hermitian matrix and starts with no rotation.
func (w *rotateWriter) load(x *rotation, from factor.Grid, n, sums, step kernel.Value) {
	var is, ks, zeros []kernel.Value
	for at := 0; at < x.side*x.side; at += w.local {
		i, k := x.DivMod(x.Add(x.Invocation(), x.Index(at)), x.Index(x.side))
		is, ks, zeros = append(is, i), append(ks, k), append(zeros, x.Number(0))
	}
	all := x.Loop(x.Index(0), sums, x.Index(1), zeros, func(q kernel.Value, c []kernel.Value) []kernel.Value {
		g := from
		g.Off = x.Add(g.Off, x.Mul(q, step))
		next := make([]kernel.Value, len(c))
		for u := range c {
			inside := x.And2(x.IsLess(is[u], n), x.IsLess(ks[u], n))
			next[u] = x.Add(c[u], g.LoadOr(inside, is[u], ks[u], x.Number(0)))
		}
		return next
	})
	for u, sum := range all {
		x.StoreShared(x.s, x.at(is[u], ks[u]), sum)
		x.StoreShared(x.w, x.at(is[u], ks[u]), x.Select(x.IsEqual(is[u], ks[u]), x.Number(1), x.Number(0)))
	}
}
