package synth

// oneSided makes the rows of matrices orthogonal. A round has three steps: the
// products of the rows of each pair of blocks, the rotations that make those
// diagonal, and what these make of the rows.
type oneSided struct {
	*jacobi
	w strided // the rotations, by matrix and pair
}

// orthogonal appends the rotations of the rows of r, n by n. The result has the
// rotated rows and, in a second half, the rotations.
func (j *linalg) orthogonal(r strided, n int) (x, lengths strided) {
	f := &oneSided{jacobi: j.jacobi(n, func(pairs int) int { return roundsOf(pairs) * pairs })}
	size := f.padded
	f.w = j.fresh(size, f.rows)
	xs := f.twice(2 * size)
	j.zeros(xs[0], size, size)
	j.each(elementwise{"upper", xs[0], []strided{r}, n, n, upper})
	j.unit(xs[0].from(0, size), size, size)
	shares := max(1, min(8, size/128))
	sums := j.fresh(shares*size, f.rows)
	product := sums
	square := f.rows * f.rows
	last, sweeps := 0, 1
	if f.pairs == 1 {
		sweeps = 4
	}
	for sweep := range mostSweeps {
		for round := range f.rounds() {
			pair := f.rows * 2 * size
			f.multiply(blockProduct{a: xs[last], b: f.adjoint(xs[last]), c: product, m: f.rows, n: f.rows, k: size,
				shares: shares, step: square, pairs: &pairing{pairs: f.pairs, a: pair, b: pair, c: shares * square}})
			f.turn(pivots{s: sums, sums: shares, step: square, sPair: shares * square, sweeps: sweeps}, sweep, round)
			f.apply(xs[last], xs[1-last], 2*size, pair, sweep)
			last = 1 - last
		}
		f.judge(sweep + 1)
	}
	x = j.fresh(size, 2*size)
	f.settle(x, xs, 2*size)
	return x, j.lengths(x, size, size)
}

// turn appends the rotations of a round.
func (f *oneSided) turn(v pivots, sweep, round int) {
	rotated := words(f.found, f.count*f.words, Write)
	v.w, v.n, v.pairs = f.w, f.rows, f.pairs
	v.cross = round > 0
	v.w.batch = f.rows * f.rows
	v.active, v.sweep, v.rotated, v.round, v.rounds = f.flags(Read), sweep, &rotated, round, f.rounds()
	f.rotate(v)
}

// apply appends the product of the rotations and rows, which take the seats of
// the next round: cols elements each, pair elements from pair to pair.
func (f *oneSided) apply(from, to strided, cols, pair, sweep int) {
	w := f.w
	w.batch = f.pairs * f.rows * f.rows
	f.multiply(blockProduct{a: w, b: from, c: to, m: f.rows, n: cols, k: f.rows,
		pairs: &pairing{pairs: f.pairs, a: f.rows * f.rows, b: pair, c: pair, side: f.rows, active: f.flags(Read), sweep: sweep}})
}
