package jacobi

import (
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/scalar"
)

// rotation is a Hermitian matrix in shared memory that a workgroup makes diagonal,
// and the rotations that do. A round of a sweep meets disjoint pairs of rows: some
// invocations find the angles, and then each has blocks of two by two, which no
// other touches.
type rotation struct {
	factor.Arith
	side     int          // a power of two
	s, w     int          // shared: the matrix and the rotations, with rows of one more
	sin, tan int          // shared, of a pair: the sine, and the tangent of half the angle, times a phase
	rotated  int          // shared: how many invocations found something to rotate
	bound    kernel.Value // what counts as nothing off the diagonal
	relative bool         // bound is a multiple of the geometric mean of the two on it
	rounds   kernel.Value // of a sweep
	cross    kernel.Value // whether rows of one half meet those of the other alone
}

// share takes the shared arrays that only rotations use. Invocation 0 zeroes the
// count, before a barrier.
func (x *rotation) share() {
	half := x.side / 2
	x.tan, x.sin, x.rotated = x.Shared(x.T, half), x.Shared(x.T, half), x.Shared(scalar.U32, 1)
	x.IfThen(x.IsEqual(x.Invocation(), x.Index(0)), func() { x.StoreShared(x.rotated, x.Index(0), x.Index(0)) })
}

// at is where element (i, k) of a shared matrix lies.
func (x *rotation) at(i, k kernel.Value) kernel.Value {
	return x.Add(x.Mul(i, x.Index(x.side+1)), k)
}

// sweepAll sweeps until nothing was rotated. It gives how many invocations found
// something to rotate in the first sweep.
func (x *rotation) sweepAll(sweeps kernel.Value) kernel.Value {
	zero, one := x.Index(0), x.Index(1)
	x.Barrier()
	// Carried: what the last sweep found, all there was before, and what the first found.
	return x.Loop(zero, sweeps, one, []kernel.Value{one, zero, zero}, func(sweep kernel.Value, c []kernel.Value) []kernel.Value {
		rounds := x.Select(x.IsEqual(c[0], zero), zero, x.rounds)
		mine := x.Loop(zero, rounds, one, []kernel.Value{zero}, func(round kernel.Value, c []kernel.Value) []kernel.Value {
			return []kernel.Value{x.Or(c[0], x.round(round))}
		})[0]
		x.IfThen(x.Not(x.IsEqual(mine, zero)), func() { x.AddShared(x.rotated, zero, one) })
		x.Barrier()
		all := x.LoadShared(x.rotated, zero)
		found := x.Sub(all, c[1])
		return []kernel.Value{found, all, x.Select(x.IsEqual(sweep, zero), found, c[2])}
	})[2]
}

// meet are the rows of pair p in a round: one stays, the others go around; or
// those of one half do.
func (x *rotation) meet(p, round kernel.Value) (i, k kernel.Value) {
	all := x.Index(x.side - 1)
	wrap := func(v kernel.Value) kernel.Value {
		return x.Select(x.IsLess(v, all), v, x.Sub(v, all))
	}
	first := x.IsEqual(p, x.Index(0))
	i = wrap(x.Add(round, p))
	k = x.Select(first, all, wrap(x.Add(x.Sub(all, p), round)))
	half := x.side / 2
	beyond := x.Add(x.Index(half), x.And(x.Add(p, round), uint64(half-1)))
	i, k = x.Select(x.cross, p, i), x.Select(x.cross, beyond, k)
	return i, k
}

// round rotates all pairs of a round. It gives 1 where the invocation found
// something to rotate.
func (x *rotation) round(round kernel.Value) kernel.Value {
	half, zero := x.side/2, x.Index(0)
	rotated := x.If(x.IsLess(x.Invocation(), x.Index(half)),
		func() []kernel.Value { return []kernel.Value{x.angle(x.Invocation(), round)} },
		func() []kernel.Value { return []kernel.Value{zero} })[0]
	x.Barrier()
	first, q := x.DivMod(x.Invocation(), x.Index(half))
	if x.T.Complex() {
		// A copy of the code for every block would be long.
		x.For(first, x.Index(half), x.Index(x.Local/half), func(p kernel.Value) { x.rotateBlock(x.block(p, q, round)) })
		x.Barrier()
		return rotated
	}
	// All blocks are read before any is written, so that reads do not wait.
	var blocks []*rotationBlock
	for p := 0; p < half; p += x.Local / half {
		blocks = append(blocks, x.block(x.Add(first, x.Index(p)), q, round))
	}
	for _, b := range blocks {
		x.rotateBlock(b)
	}
	x.Barrier()
	return rotated
}

// rotationBlock is what rows i and k of pair p have in the columns of pair q, of
// the matrix and then of the rotations.
type rotationBlock struct {
	onDiagonal kernel.Value
	tan, sin   [2]kernel.Value // of the rows and of the columns
	at, v      [8]kernel.Value
}

func (x *rotation) block(p, q, round kernel.Value) *rotationBlock {
	b := &rotationBlock{onDiagonal: x.IsEqual(p, q)}
	for e, pair := range []kernel.Value{p, q} {
		b.tan[e], b.sin[e] = x.LoadShared(x.tan, pair), x.LoadShared(x.sin, pair)
	}
	i, k := x.meet(p, round)
	m, n := x.meet(q, round)
	left, right := x.Shl(q, 1), x.Add(x.Shl(q, 1), x.Index(1)) // columns of the rotations stay
	b.at = [8]kernel.Value{x.at(i, m), x.at(i, n), x.at(k, m), x.at(k, n),
		x.at(i, left), x.at(i, right), x.at(k, left), x.at(k, right)}
	for e, at := range b.at {
		b.v[e] = x.LoadShared(x.array(e), at)
	}
	return b
}

// array has the e-th element of a block.
func (x *rotation) array(e int) int {
	if e < 4 {
		return x.s
	}
	return x.w
}

// rotateBlock rotates rows, and the columns of the matrix.
func (x *rotation) rotateBlock(b *rotationBlock) {
	v := &b.v
	for _, e := range []int{0, 1, 4, 5} {
		v[e], v[e+2] = x.rotatePair(b.tan[0], b.sin[0], v[e], v[e+2])
	}
	for _, e := range []int{0, 2} {
		v[e], v[e+1] = x.rotatePair(factor.Conj(x.Arith.Emitter, b.tan[1]), factor.Conj(x.Arith.Emitter, b.sin[1]), v[e], v[e+1])
	}
	cleared := x.And2(b.onDiagonal, x.Not(x.Zero(b.sin[0])))
	v[1], v[2] = x.Select(cleared, x.Number(0), v[1]), x.Select(cleared, x.Number(0), v[2])
	for e, at := range b.at {
		x.StoreShared(x.array(e), at, v[e])
	}
}

// rotatePair rotates a pair of numbers, by what is added to each (Rutishauser, 1966): a
// cosine that is rounded would stretch them a little every time.
func (x *rotation) rotatePair(t, s, a, b kernel.Value) (kernel.Value, kernel.Value) {
	return x.Less(s, x.Fma(factor.Conj(x.Arith.Emitter, t), a, b), a), x.Fma(factor.Conj(x.Arith.Emitter, s), x.Less(t, b, a), b)
}

// angle finds the rotation that makes the element of a pair 0, by the smaller of
// the two angles; there is none where the element is negligible. If the tangent of the
// angle is t, the tangent of its half is h = t / (1 + sqrt(1 + t^2)), and its sine is
// 2 h / (1 + h^2): rows keep their lengths however h is rounded. For a complex element
// the second row is first multiplied by the phase of the element. angle gives 1 where
// there is a rotation, else 0.
func (x *rotation) angle(p, round kernel.Value) kernel.Value {
	i, k := x.meet(p, round)
	a, b, g := x.Re(x.LoadShared(x.s, x.at(i, i))), x.Re(x.LoadShared(x.s, x.at(k, k))), x.LoadShared(x.s, x.at(i, k))
	size := g
	if kernel.IsPair(g) {
		size = x.Abs(g)
	}
	bound := x.bound
	if x.relative {
		bound = x.Mul(bound, x.Mul(x.Sqrt(x.Abs(a)), x.Sqrt(x.Abs(b))))
	}
	turn := x.Compare(scalar.Lt, bound, x.Abs(size))
	if x.relative {
		least := x.Real(negligible(x.Eps()))
		turn = x.And2(turn, x.And2(x.Compare(scalar.Lt, least, a), x.Compare(scalar.Lt, least, b)))
	}
	one, t := x.Real(1), x.tangent(x.Sub(b, a), x.Add(size, size))
	h := x.Mul(t, x.inverse(x.Add(one, x.root(x.Fma(t, t, one)))))
	s := x.Mul(x.Add(h, h), x.inverse(x.Fma(h, h, one)))
	h, s = x.Select(turn, h, x.Real(0)), x.Select(turn, s, x.Real(0))
	if kernel.IsPair(g) {
		phase := x.Phase(g)
		h, s = x.Mul(h, phase), x.Mul(s, phase)
	}
	x.StoreShared(x.sin, p, s)
	x.StoreShared(x.tan, p, h)
	return x.Select(turn, x.Index(1), x.Index(0))
}

// negligible is the square of the length below which a row of a matrix, whose largest
// element is about 1, is nothing but rounding errors. Such rows need not be orthogonal,
// since their singular values are given as 0; nor could they be, where their products vanish.
func negligible(eps float64) float64 { return eps * eps / 16 }

// tangent is that of the angle, from the difference on the diagonal and twice what
// is off it. Where bounds are relative both may be so small that squares vanish.
func (x *rotation) tangent(d, twice kernel.Value) kernel.Value {
	one, zero := x.Real(1), x.Real(0)
	if x.relative {
		tau := x.Over(d, twice)
		t := x.Over(one, x.Add(x.Abs(tau), x.Sqrt(x.Fma(tau, tau, one))))
		return x.Select(x.Compare(scalar.Lt, tau, zero), x.Neg(t), t)
	}
	twice = x.Select(x.Compare(scalar.Lt, d, zero), x.Neg(twice), twice)
	return x.Mul(twice, x.inverse(x.Add(x.Abs(d), x.root(x.Fma(d, d, x.Mul(twice, twice))))))
}

// root is the root of a normal number above zero, inverse the inverse. In f32 they
// are guesses that are refined, right but for some last bits: every round waits for
// a chain of them, and those of devices branch.
func (x *rotation) root(v kernel.Value) kernel.Value {
	if x.T.Part() != scalar.F32 {
		return x.Sqrt(v)
	}
	return x.Mul(v, x.GuessedRoot(v))
}

func (x *rotation) inverse(v kernel.Value) kernel.Value {
	one := x.Real(1)
	if x.T.Part() != scalar.F32 {
		return x.Over(one, v)
	}
	y := x.Bitcast(x.Sub(x.Int(scalar.U32, 0x7ef311c7), x.Bitcast(v, scalar.U32)), scalar.F32) // off by an eighth
	for range 2 {
		// Of the third order: errors that Newton's steps leave are all below.
		e := x.Less(v, y, one)
		y = x.Fma(y, x.Fma(e, e, e), y)
	}
	return y
}
