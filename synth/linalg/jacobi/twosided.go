package jacobi

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
)

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
	x, v, turns factor.Matrices // X, V, and of every pair W and W X W^H, of both parities
	bound       factor.Matrices // what counts as nothing off the diagonal, by matrix
	values      factor.Matrices // the diagonal of W X W^H
}

// diagonalise appends the rotations of large matrices, two-sided, and gives the
// adjoints of eigenvectors and the eigenvalues.
func diagonalise(j *factor.Job, a, bound factor.Matrices, n int) (vectors, values factor.Matrices) {
	// A word for each pair and each square above the diagonal.
	f := &twoSided{jacobi: eigenvalues(j, n, eighSweeps(j), func(pairs int) int { return pairs + squaresAbove(pairs) }), bound: bound}
	size, square := f.padded, f.rows*f.rows
	x, v := f.twice(size), f.twice(size)
	f.x, f.v, f.values = x[0], v[0], j.Fresh(size, 1)
	f.turns = factor.Matrices{Ref: j.NewTemp(4 * j.Count * f.pairs * square * j.Wide.Size()), Elems: 4 * j.Count * f.pairs * square}
	j.Zeros(f.x, size, size)
	hermitian(j, f.x, a, n)
	boundOf(j, bound, f.x, size)
	j.Unit(f.v, size, size)
	f.begin()
	for sweep := range f.most {
		for round := range f.rounds() {
			f.round(sweep, round)
		}
		f.judge(sweep + 1)
	}
	vectors = j.Fresh(size, size)
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
func (f *twoSided) program(groups int, write func(e *codegen.Emitter) error) *codegen.Program {
	return &codegen.Program{Local: factor.UpdateLocal, Groups: f.Count * groups, Body: write,
		Buffers: []codegen.Buffer{oldTurns: f.Buffer(f.turns, lowering.Read), newTurns: f.Buffer(f.turns, lowering.Write),
			oldX: f.Buffer(f.x, lowering.Read), newX: f.Buffer(f.x, lowering.Write), oldV: f.Buffer(f.v, lowering.Read), newV: f.Buffer(f.v, lowering.Write),
			nothing: f.Buffer(f.bound, lowering.Read), diagonal: f.Buffer(f.values, lowering.Write), verdicts: *f.flags(lowering.Read),
			remains: factor.Words(f.found, f.Count*f.words, lowering.Write)}}
}

// begin appends the rotations of the first round.
func (f *twoSided) begin() {
	w := &twoSidedWriter{f.Typ, f.rows}
	p := f.program(f.pairs, w.begin)
	p.Numbers = []int{f.Count, f.pairs}
	p.Key = fmt.Sprintf("two-sided begin %v side=%d", f.Typ, f.rows)
	f.Run(p)
}

// round appends the products of a round and the rotations of the next. After the
// last round of a sweep words tell whether anything is left to rotate; after the
// last of all nothing is rotated.
func (f *twoSided) round(sweep, round int) {
	w := &twoSidedWriter{f.Typ, f.rows}
	p := f.program(f.words+f.pairs*f.pairs, w.round)
	p.Flops = 4 * int64(f.Count) * int64(f.padded*f.padded*f.rows)
	at, ends, goes := sweep*f.rounds()+round, 0, 1
	if round+1 == f.rounds() {
		ends = 1
	}
	if at+1 == f.most*f.rounds() {
		goes = 0
	}
	p.Numbers = []int{f.Count, f.pairs, sweep * f.Count, at % 2, ends, goes}
	p.Key = fmt.Sprintf("two-sided round %v side=%d", f.Typ, f.rows)
	f.Run(p)
}
