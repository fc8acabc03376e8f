package synth

import "fmt"

// twoSided makes Hermitian matrices diagonal by rotations of pairs of blocks of
// rows. What a round needs of the one before are its rotations W, one square for
// each pair, and the squares W X W^H that the pairs have become:
//
//	X' = P W X W^H P^H    V' = P W V    P the new seats
//	W' of the squares on the diagonal of X'
//
// One dispatch does all of that, since what X' has on its diagonal are products of
// W and squares of X, which are at hand: rotations are found beside the products
// of the round before. Of X there are the squares above the diagonal.
type twoSided struct {
	*jacobi
	x, v, turns strided // X, V, and of every pair W and W X W^H, of both parities
	bound       strided // what counts as nothing off the diagonal, by matrix
	values      strided // the diagonal of W X W^H
}

// diagonalise appends the rotations of large matrices, two-sided, and gives the
// adjoints of eigenvectors and the eigenvalues.
func (j *linalg) diagonalise(a, bound strided, n int) (vectors, values strided) {
	// A word for each pair and each square above the diagonal.
	f := &twoSided{jacobi: j.jacobi(n, func(pairs int) int { return pairs + squaresAbove(pairs) }), bound: bound}
	size, square := f.padded, f.rows*f.rows
	x, v := f.twice(size), f.twice(size)
	f.x, f.v, f.values = x[0], v[0], j.fresh(size, 1)
	f.turns = strided{ref: j.temp(4 * j.count * f.pairs * square * j.wide.Size()), elems: 4 * j.count * f.pairs * square}
	j.zeros(f.x, size, size)
	j.hermitian(f.x, a, n)
	j.bound(bound, f.x, size)
	j.unit(f.v, size, size)
	f.begin()
	for sweep := range mostSweeps {
		for round := range f.rounds() {
			f.round(sweep, round)
		}
		f.judge(sweep + 1)
	}
	vectors = j.fresh(size, size)
	f.settle(vectors, v, size)
	return vectors, f.values
}

// squaresAbove is how many squares of pairs there are above the diagonal.
func squaresAbove(pairs int) int { return pairs * (pairs - 1) / 2 }

// The buffers of a kernel.
const (
	oldTurns = iota
	newTurns
	oldX
	newX
	oldV
	newV
	nothing
	diagonal
	verdicts
	remains
)

// program is a step, without numbers; groups is of a matrix.
func (f *twoSided) program(groups int, write func(e *emitter) error) *program {
	return &program{local: updateLocal, groups: f.count * groups, body: write,
		bufs: []buffer{oldTurns: f.buffer(f.turns, Read), newTurns: f.buffer(f.turns, Write),
			oldX: f.buffer(f.x, Read), newX: f.buffer(f.x, Write), oldV: f.buffer(f.v, Read), newV: f.buffer(f.v, Write),
			nothing: f.buffer(f.bound, Read), diagonal: f.buffer(f.values, Write), verdicts: *f.flags(Read),
			remains: words(f.found, f.count*f.words, Write)}}
}

// begin appends the rotations of the first round.
func (f *twoSided) begin() {
	w := &twoSidedWriter{f.typ, f.rows}
	p := f.program(f.pairs, w.begin)
	p.nums = []int{f.count, f.pairs}
	p.key = fmt.Sprintf("two-sided begin %v side=%d", f.typ, f.rows)
	f.run(p)
}

// round appends the products of a round and the rotations of the next. After the
// last round of a sweep words tell whether anything is left to rotate; after the
// last of all nothing is rotated.
func (f *twoSided) round(sweep, round int) {
	w := &twoSidedWriter{f.typ, f.rows}
	p := f.program(f.words+f.pairs*f.pairs, w.round)
	p.flops = 4 * int64(f.count) * int64(f.padded*f.padded*f.rows)
	at, ends, goes := sweep*f.rounds()+round, 0, 1
	if round+1 == f.rounds() {
		ends = 1
	}
	if at+1 == mostSweeps*f.rounds() {
		goes = 0
	}
	p.nums = []int{f.count, f.pairs, sweep * f.count, at % 2, ends, goes}
	p.key = fmt.Sprintf("two-sided round %v side=%d", f.typ, f.rows)
	f.run(p)
}
