package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// pairing is a round of a tournament of blocks of rows: the two that meet lie one
// after the other, and where a product writes them anew they take the seats of
// the next round,
//
//	top      0 → 0,  1 → 2 → … → last ┐
//	bottom   0 ↑     1 ← 2 ← …  last  ┘
//
// so that all meet all others once in a round less than there are blocks, after
// which each is where it was (Brent and Luk, 1985).
type pairing struct {
	pairs   int
	a, b, c int     // elements from pair to pair, by operand
	side    int     // rows of a pair that take new seats; 0 where none do
	active  *buffer // words, by sweep and matrix: products of others are left out
	sweep   int
}

func (p *pairing) describe() string {
	if p == nil {
		return "none"
	}
	return fmt.Sprint(p.side, p.active != nil)
}

// pair finds the matrix and the pair of a workgroup, and whether there is work.
func (x *updateTile) pair(batch, active kernel.Value) (matrix, work kernel.Value) {
	x.players = x.num()
	a, b, c := x.num(), x.num(), x.num()
	matrix, x.table = x.divide(batch, x.players)
	x.a.off = x.Add(x.a.off, x.Mul(x.table, a))
	x.b.off = x.Add(x.b.off, x.Mul(x.table, b))
	x.c.off = x.Add(x.c.off, x.Mul(x.table, c))
	if x.pairs.active == nil {
		return matrix, active
	}
	first := x.num()
	word := x.Load(3, x.Select(active, x.Add(first, matrix), first), 1)[0]
	return matrix, x.both(active, x.not(x.same(word, x.int(0))))
}

// seats are those of the rows of a pair in the next round.
type seats struct {
	*emitter
	table, players kernel.Value
	side           int
}

// of is the row, from the first of its pair, to which row r moves.
func (x seats) of(r kernel.Value) kernel.Value {
	half, side := x.int(x.side/2), x.int(x.side)
	one := x.int(1)
	bottom := x.Compare(scalar.Le, half, r)
	first, last := x.same(x.table, x.int(0)), x.same(x.Add(x.table, one), x.players)
	alone := x.same(x.players, one)
	// From the seat of a top row, in rows: the next table, or the bottom here.
	top := x.Select(first, x.int(0), x.Select(last, half, side))
	// From that of a bottom row: the table before, or the top of the next.
	under := x.Select(first, half, x.Sub(x.int(0), side))
	move := x.Select(bottom, under, top)
	return x.Add(r, x.Select(alone, x.int(0), move))
}

// pivots rotates every pair of rows of small Hermitian matrices, of which there
// is one for each pair of blocks, until what is off the diagonal is nothing, or
// for some sweeps.
type pivots struct {
	s, w   strided // the matrices, and the rotations: w s w^H is diagonal
	sums   int     // matrices whose sum s is
	step   int     // elements from one of those to the next
	n      int     // of a matrix; the kernel has as many or more
	pairs  int     // of blocks
	sPair  int     // elements from pair to pair
	sweeps int
	bound  *strided // what counts as nothing, by matrix; else relative to the diagonal
	values *strided // where the diagonal goes
	cross  bool     // rows of one half meet those of the other alone

	active  *buffer // as in a pairing
	sweep   int
	rotated *buffer // words, by matrix, round and pair: whether anything was rotated
	round   int
	rounds  int
}

// rotate appends the rotations.
func (j *linalg) rotate(v pivots) {
	side := 4
	for side < v.n {
		side *= 2
	}
	w := &rotateWriter{pivots: v, t: j.typ, side: side, local: 4} // a power of two, as side is
	for 2*w.local <= min(256, side*side/4, j.t.MaxInvocations) {
		w.local *= 2
	}
	p := &program{local: uint32(w.local), groups: j.count * v.pairs, body: w.write,
		flops: int64(j.count*v.pairs) * int64(12*side*side*side),
		bufs:  []buffer{j.buffer(v.s, Read), j.buffer(v.w, Write)}}
	rounds, cross := side-1, 0
	if v.cross {
		rounds, cross = side/2, 1
	}
	p.nums = append([]int{j.count, v.pairs, v.n, v.sums, v.step, v.sPair, v.sweeps, rounds, cross}, places(v.s, v.w)...)
	for _, more := range []*strided{v.bound, v.values} {
		if more != nil {
			access := Read
			if more == v.values {
				access = Write
			}
			p.bufs = append(p.bufs, j.buffer(*more, access))
			p.nums = append(p.nums, more.off, more.batch)
		}
	}
	if v.active != nil {
		p.bufs = append(p.bufs, *v.active, *v.rotated)
		p.nums = append(p.nums, v.sweep*j.count, v.round*v.pairs, v.rounds*v.pairs)
	}
	p.key = fmt.Sprintf("rotate %v side=%d bound=%v values=%v active=%v", w.t, side, v.bound != nil, v.values != nil, v.active != nil)
	j.run(p)
}
