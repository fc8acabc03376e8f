package linalg

import (
	"cmp"
	"math"
	"slices"

	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
)

const (
	// jacobiMax is the most rows of a matrix that rotations diagonalize. Up to there they are
	// no slower than reflections, and eigenvectors of equal eigenvalues are those of Nx, which
	// rotates in the same order.
	jacobiMax = 32

	// sweepsMax bounds the sweeps of rotations. Convergence is quadratic: about ten sweeps.
	sweepsMax = 64
)

// eigen is a Hermitian matrix that is being diagonalized. Row i of v is the i-th eigenvector.
type eigen[C field] struct {
	w      *sched.Worker
	n      int
	a, v   []C
	values []float64
}

func eighIn[C field](p *problem[C]) error {
	a, back, ok := scaleToOne(p.args[0])
	if !ok {
		p.fillNaN()
		return nil
	}
	e := &eigen[C]{w: p.in.Worker, n: p.n, a: a, values: make([]float64, p.n)}
	e.symmetrize()
	if p.n <= jacobiMax || !e.diagonalizeTridiagonal() {
		e.rotateToDiagonal()
	}
	for i := range p.n {
		normalizePhase(e.v[i*p.n : i*p.n+p.n])
	}
	order := make([]int, p.n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(math.Abs(e.values[j]), math.Abs(e.values[i]))
	})
	values, vectors := p.outs[0], p.outs[1]
	least := roundingLevel(p.in.Outs[0].Type.DType) * math.Abs(e.values[order[0]])
	for to, from := range order {
		if x := e.values[from]; math.Abs(x) > least {
			values[to] = number[C](x * back)
		}
		for k, x := range e.v[from*p.n : from*p.n+p.n] {
			vectors[k*p.n+to] = x
		}
	}
	return nil
}

// symmetrize copies the lower triangle to the upper one.
func (e *eigen[C]) symmetrize() {
	for i := range e.n {
		e.a[i*e.n+i] = number[C](realOf(e.a[i*e.n+i]))
		for j := range i {
			e.a[j*e.n+i] = conj(e.a[i*e.n+j])
		}
	}
}

// diagonalizeTridiagonal makes the matrix tridiagonal by reflectors and real by phases, and
// solves that by tridiagonal. It reports whether that converged; e.a keeps its contents.
func (e *eigen[C]) diagonalizeTridiagonal() bool {
	n := e.n
	a, sub := slices.Clone(e.a), make([]float64, n-1)
	hs := make([]reflector[C], 0, n-1)
	work := make([]C, n)
	// reflect clears a column beneath its diagonal: that of the matrix without its first row.
	lower := a[n:]
	p := dense.Pacer{Worker: e.w}
	for k := range n - 1 {
		p.Step((n - k) * (n - k) * 4)
		h, next := reflect(lower, n, k)
		h.apply(e.w, lower, n, k+1, work)
		h.applyRight(e.w, lower, n, k)
		lower[k*n+k] = next
		hs = append(hs, h)
	}
	q := make([]C, (n-1)*(n-1))
	orthonormal(e.w, q, n-1, hs)
	phases := make([]C, n)
	phases[0] = 1
	for k := range n {
		e.values[k] = realOf(a[k*n+k])
		if k > 0 {
			x := lower[(k-1)*n+k-1]
			sub[k-1], phases[k] = magnitude(x), phases[k-1]
			if x != 0 {
				phases[k] *= x / number[C](sub[k-1])
			}
		}
	}
	t := tridiagonal{w: e.w, n: n, d: e.values, e: sub, z: make([]float64, n*n)}
	if !t.solve() {
		return false
	}
	e.combine(q, phases, t.z)
	return true
}

// combine computes the eigenvectors of the matrix from those of the tridiagonal one, the
// columns of z.
func (e *eigen[C]) combine(q, phases []C, z []float64) {
	n := e.n
	e.v = make([]C, n*n)
	dense.Parallel(e.w, n, n*n, func(lo, hi int) {
		w := make([]C, n)
		for i := lo; i < hi; i++ {
			for k, phase := range phases {
				w[k] = phase * number[C](z[k*n+i])
			}
			row := e.v[i*n : i*n+n]
			row[0] = w[0]
			for k := 1; k < n; k++ {
				row[k] = dotu(q[(k-1)*(n-1):k*(n-1)], w[1:])
			}
		}
	})
}

// rotateToDiagonal rotates pairs of rows and columns until the matrix is diagonal. Each
// round of a sweep meets disjoint pairs, in the order of a round-robin
// tournament (Brent and Luk, 1985).
func (e *eigen[C]) rotateToDiagonal() {
	n := e.n
	e.v = make([]C, n*n)
	norm := 0.0
	for i := range n {
		e.v[i*n+i] = 1
	}
	for _, x := range e.a {
		norm += square(x)
	}
	pairs, p := newTournament(n), dense.Pacer{Worker: e.w}
	for range sweepsMax {
		if e.offDiagonal() <= epsilon*epsilon/16*norm {
			break
		}
		for range pairs.rounds() {
			for i, j := range pairs.pairs {
				p.Step(8 * n)
				e.rotate(i, j, norm)
			}
			pairs.advance()
		}
	}
	for i := range n {
		e.values[i] = realOf(e.a[i*n+i])
	}
}

// offDiagonal is the sum of the squares off the diagonal, which rotations bring to 0.
func (e *eigen[C]) offDiagonal() float64 {
	sum := 0.0
	for i := range e.n {
		for j := range i {
			sum += 2 * square(e.a[i*e.n+j])
		}
	}
	return sum
}

// rotate makes element (i, j) of the matrix 0, unless it is negligible.
func (e *eigen[C]) rotate(i, j int, norm float64) {
	n := e.n
	g := e.a[i*n+j]
	if square(g) <= 1e-40*norm {
		return
	}
	x, y := realOf(e.a[i*n+i]), realOf(e.a[j*n+j])
	r, shift := jacobiRotation(x, y, g)
	r.apply(e.v[i*n:i*n+n], e.v[j*n:j*n+n])
	rotation[C]{r.c, conj(r.s)}.apply(e.a[i*n:i*n+n], e.a[j*n:j*n+n])
	for k := range n { // the matrix stays Hermitian
		e.a[k*n+i], e.a[k*n+j] = conj(e.a[i*n+k]), conj(e.a[j*n+k])
	}
	e.a[i*n+i], e.a[j*n+j] = number[C](x-shift), number[C](y+shift)
	e.a[i*n+j], e.a[j*n+i] = 0, 0
}

// tournament pairs the numbers below n in rounds, so that all meet all others. Where n is odd,
// one number has no partner in each round.
type tournament struct {
	n           int
	top, bottom []int
}

func newTournament(n int) *tournament {
	half := (n + 1) / 2
	t := &tournament{n, make([]int, half), make([]int, half)}
	for i := range half {
		t.top[i], t.bottom[i] = i, half+i
	}
	return t
}

// rounds is the number of rounds.
func (t *tournament) rounds() int { return 2*len(t.top) - 1 }

// pairs yields the pairs of a round.
func (t *tournament) pairs(yield func(i, j int) bool) {
	for k, i := range t.top {
		if j := t.bottom[k]; i < t.n && j < t.n && !yield(i, j) {
			return
		}
	}
}

// advance moves all but the first by one place, around the table.
func (t *tournament) advance() {
	k := len(t.top)
	if k < 2 {
		return
	}
	first, last := t.bottom[0], t.top[k-1]
	copy(t.top[2:], t.top[1:k-1])
	t.top[1] = first
	copy(t.bottom, t.bottom[1:])
	t.bottom[k-1] = last
}
