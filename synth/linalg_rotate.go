package synth

import (
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// rotateWriter writes the kernel of rotations. A round of a sweep meets disjoint
// pairs of rows: some invocations find the angles, and then each has blocks of two
// by two, which no other touches.
type rotateWriter struct {
	pivots
	t     scalar.Type
	side  int
	local int
	tol   float64
}

// rotation is what the kernel works on.
type rotation struct {
	arith
	*rotateWriter
	s, w     int // shared matrices
	sin, tan int // of a pair: the sine, and the tangent of half the angle, times a phase
	turned   int // whether a pair was rotated in this sweep
	bound    kernel.Value
	rounds   kernel.Value // of a sweep
	cross    kernel.Value // whether halves meet
}

func (w *rotateWriter) write(e *emitter) error {
	x := &rotation{arith: arith{e, w.t}, rotateWriter: w}
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
	half := w.side / 2
	x.s, x.w = e.Shared(w.t, w.side*(w.side+1)), e.Shared(w.t, w.side*(w.side+1))
	x.tan, x.sin, x.turned = e.Shared(w.t, half), e.Shared(w.t, half), e.Shared(scalar.U32, half)
	e.when(active, func() {
		if w.pivots.bound != nil {
			x.bound = x.re(e.loadElement(boundBuf, e.Add(boundOff, e.Mul(matrix, boundBatch))))
		}
		from := s.of(matrix)
		from.off = e.Add(from.off, e.Mul(pair, sPair))
		x.load(from, n, sums, step)
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

// at is where element (i, k) of a shared matrix lies.
func (x *rotation) at(i, k kernel.Value) kernel.Value {
	return x.Add(x.Mul(i, x.int(x.side+1)), k)
}

// load reads the Hermitian matrix and starts with no rotation.
func (x *rotation) load(from grid, n, sums, step kernel.Value) {
	var is, ks, zeros []kernel.Value
	for at := 0; at < x.side*x.side; at += x.local {
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

// sweepAll sweeps until nothing was rotated. It gives the number of pairs that
// the first sweep rotated at least once.
func (x *rotation) sweepAll(sweeps kernel.Value) kernel.Value {
	zero, one, half := x.int(0), x.int(1), x.int(x.side/2)
	return x.Loop(zero, sweeps, one, []kernel.Value{one, zero}, func(sweep kernel.Value, c []kernel.Value) []kernel.Value {
		more := x.not(x.same(c[0], zero))
		x.then(x.below(x.invocation(), half), func() { x.StoreShared(x.turned, x.invocation(), zero) })
		x.Barrier()
		x.repeat(zero, x.Select(more, x.rounds, zero), one, x.round)
		any := x.Loop(zero, half, one, []kernel.Value{zero}, func(p kernel.Value, c []kernel.Value) []kernel.Value {
			return []kernel.Value{x.Add(c[0], x.LoadShared(x.turned, p))}
		})[0]
		x.Barrier()
		return []kernel.Value{any, x.Select(x.same(sweep, zero), any, c[1])}
	})[1]
}

// meet are the rows of pair p in a round: one stays, the others go around; or
// those of one half do.
func (x *rotation) meet(p, round kernel.Value) (i, k kernel.Value) {
	all := x.int(x.side - 1)
	wrap := func(v kernel.Value) kernel.Value {
		return x.Select(x.below(v, all), v, x.Sub(v, all))
	}
	first := x.same(p, x.int(0))
	i = wrap(x.Add(round, p))
	k = x.Select(first, all, wrap(x.Add(x.Sub(all, p), round)))
	half := x.side / 2
	beyond := x.Add(x.int(half), x.And(x.Add(p, round), uint64(half-1)))
	i, k = x.Select(x.cross, p, i), x.Select(x.cross, beyond, k)
	return i, k
}

// round rotates all pairs of a round.
func (x *rotation) round(round kernel.Value) {
	half := x.int(x.side / 2)
	x.then(x.below(x.invocation(), half), func() { x.angle(x.invocation(), round) })
	x.Barrier()
	x.repeat(x.invocation(), x.int(x.side*x.side/4), x.int(x.local), func(u kernel.Value) {
		p, q := x.divide(u, half)
		i, k := x.meet(p, round)
		m, n := x.meet(q, round)
		tp, sp := x.LoadShared(x.tan, p), x.LoadShared(x.sin, p)
		tq, sq := x.LoadShared(x.tan, q), x.LoadShared(x.sin, q)
		at := [4]kernel.Value{x.at(i, m), x.at(i, n), x.at(k, m), x.at(k, n)}
		var v [4]kernel.Value
		for e := range v {
			v[e] = x.LoadShared(x.s, at[e])
		}
		v[0], v[2] = x.turn(tp, sp, v[0], v[2])
		v[1], v[3] = x.turn(tp, sp, v[1], v[3])
		v[0], v[1] = x.turn(x.conj(tq), x.conj(sq), v[0], v[1])
		v[2], v[3] = x.turn(x.conj(tq), x.conj(sq), v[2], v[3])
		cleared := x.both(x.same(p, q), x.not(x.zero(sp)))
		v[1], v[2] = x.Select(cleared, x.number(0), v[1]), x.Select(cleared, x.number(0), v[2])
		for e := range v {
			x.StoreShared(x.s, at[e], v[e])
		}
		// The same block of the rotations, whose rows alone are turned.
		for _, col := range []kernel.Value{x.Shl(q, 1), x.Add(x.Shl(q, 1), x.int(1))} {
			a, b := x.turn(tp, sp, x.LoadShared(x.w, x.at(i, col)), x.LoadShared(x.w, x.at(k, col)))
			x.StoreShared(x.w, x.at(i, col), a)
			x.StoreShared(x.w, x.at(k, col), b)
		}
	})
	x.Barrier()
}

// turn rotates a pair of numbers, by what is added to each (Rutishauser, 1966): a
// cosine that is rounded would stretch them a little every time.
func (x *rotation) turn(t, s, a, b kernel.Value) (kernel.Value, kernel.Value) {
	return x.less(s, x.fma(x.conj(t), a, b), a), x.fma(x.conj(s), x.less(t, b, a), b)
}

// angle finds the rotation that makes the element of a pair 0, by the smaller of
// the two angles; none where it is nothing already. That of a complex element is a
// rotation of one row and of the other times the phase of the element.
func (x *rotation) angle(p, round kernel.Value) {
	i, k := x.meet(p, round)
	a, b, g := x.LoadShared(x.s, x.at(i, i)), x.LoadShared(x.s, x.at(k, k)), x.LoadShared(x.s, x.at(i, k))
	a, b = x.re(a), x.re(b)
	size := g
	if kernel.IsPair(g) {
		size = x.abs(g)
	}
	bound := x.bound
	if x.pivots.bound == nil {
		bound = x.Mul(x.real(x.tol), x.Mul(x.sqrt(x.abs(a)), x.sqrt(x.abs(b))))
	}
	turn := x.Compare(scalar.Lt, bound, x.abs(size))
	one, zero := x.real(1), x.real(0)
	tau := x.over(x.Sub(b, a), x.Add(size, size))
	t := x.over(one, x.Add(x.abs(tau), x.sqrt(x.fma(tau, tau, one))))
	t = x.Select(x.Compare(scalar.Lt, tau, zero), x.neg(t), t)
	c := x.over(one, x.sqrt(x.fma(t, t, one)))
	s := x.Select(turn, x.Mul(c, t), zero)
	half := x.Select(turn, x.over(s, x.Add(one, c)), zero)
	if kernel.IsPair(g) {
		phase := x.phase(g)
		s, half = x.Mul(s, phase), x.Mul(half, phase)
	}
	x.StoreShared(x.sin, p, s)
	x.StoreShared(x.tan, p, half)
	x.then(turn, func() { x.StoreShared(x.turned, p, x.int(1)) })
}
