package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// jacobi makes rows of matrices orthogonal, or symmetric matrices diagonal, by
// rotations of pairs of blocks of rows. There are as many steps as the slowest
// matrix may need; those of a matrix in which a whole sweep found nothing to
// rotate do nothing.
type jacobi struct {
	*linalg
	n, padded int // rows, and those of whole pairs
	pairs     int
	w         strided
	active    Ref // words by sweep and matrix
	rotated   Ref // words by matrix, round and pair
}

const (
	pairSide   = 32 // rows of a pair of blocks
	mostSweeps = 16 // convergence is quadratic and takes about eight
)

func (j *linalg) jacobi(n int) *jacobi {
	f := &jacobi{linalg: j, n: n, pairs: (n + pairSide - 1) / pairSide}
	f.padded = f.pairs * pairSide
	f.w = j.fresh(f.padded, pairSide)
	f.active = j.temp(4 * j.count * (mostSweeps + 1))
	f.rotated = j.temp(4 * j.count * f.rounds() * f.pairs)
	f.judge(0)
	return f
}

// rounds is how many a sweep has. It is odd.
func (f *jacobi) rounds() int { return 2*f.pairs - 1 }

func (f *jacobi) flags(access Access) *buffer {
	b := words(f.active, f.count*(mostSweeps+1), access)
	return &b
}

// turn appends the rotations of a round.
func (f *jacobi) turn(v pivots, sweep, round int) {
	rotated := words(f.rotated, f.count*f.rounds()*f.pairs, Write)
	v.w, v.n, v.pairs = f.w, pairSide, f.pairs
	v.cross = round > 0
	v.w.batch = pairSide * pairSide
	v.active, v.sweep, v.rotated, v.round, v.rounds = f.flags(Read), sweep, &rotated, round, f.rounds()
	f.rotate(v)
}

// apply appends the product of the rotations and rows, which take the seats of
// the next round: cols elements each, pair elements from pair to pair.
func (f *jacobi) apply(from, to strided, cols, pair, sweep int) {
	w := f.w
	w.batch = f.pairs * pairSide * pairSide
	f.multiply(blockProduct{a: w, b: from, c: to, m: pairSide, n: cols, k: pairSide,
		pairs: &pairing{pairs: f.pairs, a: pairSide * pairSide, b: pair, c: pair, side: pairSide, active: f.flags(Read), sweep: sweep}})
}

// judge appends the verdict on a sweep: the next one works on a matrix where the
// last one found something to rotate. The first works on all.
func (f *jacobi) judge(sweep int) {
	p := &program{local: updateLocal, groups: f.count,
		bufs: []buffer{*f.flags(Read | Write), words(f.rotated, f.count*f.rounds()*f.pairs, Read)}}
	p.nums = []int{f.count, f.rounds() * f.pairs, sweep * f.count}
	p.key = fmt.Sprintf("judge first=%v", sweep == 0)
	p.body = func(e *emitter) error {
		count, all, next := e.num(), e.num(), e.num()
		matrix := e.group()
		found := e.Shared(scalar.U32, 1)
		lead := e.same(e.invocation(), e.int(0))
		e.when(e.below(matrix, count), func() {
			on := e.int(1)
			if sweep > 0 {
				e.then(lead, func() { e.StoreShared(found, e.int(0), e.int(0)) })
				e.Barrier()
				was := e.Load(0, e.Add(e.Sub(next, count), matrix), 1)[0]
				// Words of a sweep that was left out are not those of this matrix.
				end := e.Select(e.same(was, e.int(0)), e.int(0), all)
				first := e.Mul(matrix, all)
				any := e.Loop(e.invocation(), end, e.int(e.local), []kernel.Value{e.int(0)},
					func(i kernel.Value, c []kernel.Value) []kernel.Value {
						return []kernel.Value{e.Or(c[0], e.Load(1, e.Add(first, i), 1)[0])}
					})[0]
				e.then(e.not(e.same(any, e.int(0))), func() { e.AddShared(found, e.int(0), e.int(1)) })
				e.Barrier()
				on = e.least(e.LoadShared(found, e.int(0)), e.int(1))
			}
			e.then(lead, func() { e.Store(0, e.Add(next, matrix), on) })
		})
		return nil
	}
	f.run(p)
}

// twice is a pair of temporaries of as many rows, which rounds write in turn.
func (f *jacobi) twice(cols int) [2]strided {
	half := f.count * f.padded * cols
	a := f.dense(f.temp(2*half*f.wide.Size()), f.padded, cols)
	a.elems *= 2
	b := a
	b.off += half
	return [2]strided{a, b}
}

// settle appends a copy of the one that was written last: every sweep has an odd
// number of rounds.
func (f *jacobi) settle(to strided, of [2]strided, cols int) {
	size := f.padded * cols
	p := &program{local: gpuLocal, groups: (f.count*size + gpuLocal - 1) / gpuLocal,
		bufs: []buffer{f.buffer(to, Write), f.buffer(of[0], Read), *f.flags(Read)}}
	p.nums = append([]int{f.count * size, size, cols, f.count, of[1].off}, places(to, of[0])...)
	p.key = fmt.Sprintf("settle %v", f.typ)
	p.body = func(e *emitter) error {
		all, size, cols, count, half := e.num(), e.num(), e.num(), e.num(), e.num()
		to, from := e.grid(0), e.grid(1)
		u := e.Add(e.Mul(e.group(), e.int(e.local)), e.invocation())
		e.then(e.below(u, all), func() {
			matrix, at := e.divide(u, size)
			sweeps := e.int(0)
			for s := range mostSweeps {
				sweeps = e.Add(sweeps, e.Load(2, e.Add(e.Mul(e.int(s), count), matrix), 1)[0])
			}
			from := from.of(matrix)
			from.off = e.Add(from.off, e.Mul(e.And(sweeps, 1), half))
			i, k := e.divide(at, cols)
			to.of(matrix).store(i, k, from.load(i, k))
		})
		return nil
	}
	f.run(p)
}
