package jacobi

import (
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
)

// oneSided makes the rows of matrices orthogonal. A round has three steps: the
// products of the rows of each pair of blocks, the rotations that make those
// diagonal, and what these make of the rows.
type oneSided struct {
	*jacobi
	w factor.Matrices // the rotations, by matrix and pair
}

// orthogonal appends the rotations of the rows of r, n by n. The result has the
// rotated rows and, in a second half, the rotations.
func orthogonal(j *factor.Job, r factor.Matrices, n int) (x, lengths factor.Matrices) {
	f := &oneSided{jacobi: eigenvalues(j, n, MostSweeps, func(pairs int) int { return roundsOf(pairs) * pairs })}
	size := f.padded
	f.w = j.Fresh(size, f.rows)
	xs := f.twice(2 * size)
	j.Zeros(xs[0], size, size)
	j.Each(factor.Elementwise{Name: "upper", To: xs[0], From: []factor.Matrices{r}, M: n, N: n, F: factor.Upper})
	j.Unit(xs[0].From(0, size), size, size)
	shares := max(1, min(8, size/128))
	sums := j.Fresh(shares*size, f.rows)
	product := sums
	square := f.rows * f.rows
	last := 0
	for sweep := range f.most {
		for round := range f.rounds() {
			pair := f.rows * 2 * size
			f.Multiply(factor.BlockProduct{A: xs[last], B: f.Adjoint(xs[last]), C: product, M: f.rows, N: f.rows, K: size,
				Shares: shares, Step: square, Pairs: &factor.Pairing{Pairs: f.pairs, A: pair, B: pair, C: shares * square, Active: f.flags(lowering.Read), Sweep: sweep}})
			f.rotate(pivots{s: sums, sums: shares, step: square, sPair: shares * square, sweeps: f.inner}, sweep, round)
			f.apply(xs[last], xs[1-last], 2*size, pair, sweep)
			last = 1 - last
		}
		f.judge(sweep + 1)
	}
	x = j.Fresh(size, 2*size)
	f.settle(x, xs, 2*size)
	return x, columnLengths(j, x, size, size)
}

// rotate appends the rotations of a round.
func (f *oneSided) rotate(v pivots, sweep, round int) {
	rotated := factor.Words(f.found, f.Count*f.words, lowering.Write)
	v.w, v.n, v.pairs = f.w, f.rows, f.pairs
	v.cross = round > 0
	v.w.Batch = f.rows * f.rows
	v.active, v.sweep, v.rotated, v.round, v.rounds = f.flags(lowering.Read), sweep, &rotated, round, f.rounds()
	rotate(f.jacobi.Job, v)
}

// apply appends the product of the rotations and rows, which take the seats of
// the next round: cols elements each, pair elements from pair to pair.
func (f *oneSided) apply(from, to factor.Matrices, cols, pair, sweep int) {
	w := f.w
	w.Batch = f.pairs * f.rows * f.rows
	f.Multiply(factor.BlockProduct{A: w, B: from, C: to, M: f.rows, N: cols, K: f.rows,
		Pairs: &factor.Pairing{Pairs: f.pairs, A: f.rows * f.rows, B: pair, C: pair, Side: f.rows, Active: f.flags(lowering.Read), Sweep: sweep}})
}
