package triangular

import (
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
)

// triangularWide is the most unknowns that one step finds.
const triangularWide = 64

// Triangle is a system of a triangular matrix, lower in the order in which its
// unknowns are found.
type Triangle struct {
	T    factor.Matrices
	N    int
	Unit bool // the diagonal is 1
}

// TriangularSolve plans the x with f(a) x = b, or x f(a) = b.
func TriangularSolve(j *factor.Job) {
	lower, left, transpose := j.In.Attrs[0][0] != 0, j.In.Attrs[1][0] != 0, j.In.Attrs[2][0] == 1
	a, b := j.Types[0].Shape, j.Types[1].Shape
	n := a[len(a)-1]
	sides := b.Size() / (j.Count * n)
	t := Triangle{T: j.Operand(0, n, n), N: n}
	if conjugate := j.In.Attrs[2][0] == 2; conjugate && j.Typ.Complex() {
		t.T = conjugated(j, t.T, n, n)
	}
	from, x := j.Operand(1, n, sides), j.Result(0, n, sides)
	if len(b) == len(a) && !left {
		from, x = j.Dense(from.Ref, sides, n).Transposed(), j.Dense(x.Ref, sides, n).Transposed()
	}
	// x a = b is the system of the transpose, and a transpose of that is a.
	if transpose == left {
		t.T, lower = t.T.Transposed(), !lower
	}
	name := factor.TheRow
	if !lower {
		name = factor.TheRowUpward
		t.T, from, x = t.T.Backward(n, n), UpsideDown(from, n), UpsideDown(x, n)
	}
	j.Solvable(t.T, n, name)
	Substitute(j, t, from, x, sides)
}

// conjugated appends a copy of m by n matrices of complex conjugates.
func conjugated(j *factor.Job, from factor.Matrices, m, n int) factor.Matrices {
	to := j.Fresh(m, n)
	j.Each(factor.Elementwise{Name: "conjugate", To: to, From: []factor.Matrices{from}, M: m, N: n,
		F: func(x factor.Arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
			return factor.Conj(x.Emitter, from[0])
		}})
	return to
}

// UpsideDown is a matrix of m rows with those in reverse.
func UpsideDown(s factor.Matrices, m int) factor.Matrices {
	s = s.From(m-1, 0)
	s.Row = -s.Row
	return s
}

// substituteWide is the most unknowns of a step whose triangle fits into shared
// memory and whose right-hand sides fit into registers.
func substituteWide(j *factor.Job) int {
	wide := j.Narrow(triangularWide)
	if j.Words() > 2 || j.Typ.Complex() {
		wide = min(wide, triangularWide/2)
	}
	return wide
}

// substitution is the search for the solution x of a system.
type substitution struct {
	*factor.Job
	t     Triangle
	x     factor.Matrices
	sides int
	wide  int     // unknowns of a step
	rows  *byRows // the kernel of a step, if its rows are dealt out
}

// OneStep reports whether one step finds n unknowns, whatever the number of right-hand sides.
func OneStep(j *factor.Job, n int) bool { return n <= substituteWide(j) }

// Substitute appends the solution x of a system with right-hand sides in the
// columns of b. Where one step does not find it b lies as x does, and it may be x.
func Substitute(j *factor.Job, t Triangle, b, x factor.Matrices, sides int) {
	s := &substitution{Job: j, t: t, x: x, sides: sides, wide: substituteWide(j)}
	if w := newByRows(j, t, sides); w != nil {
		s.rows, s.wide = w, w.local
	}
	s.solve(0, t.N, b)
}

// fullDevice is how many tiles of 64 by 64 elements keep every device busy.
const fullDevice = 200

// solve finds unknowns lo to hi. Where their products fill a device, those of the first
// half are taken off the rest at once, which reads and writes the rest once. Else every
// step is taken off all that is left, which has the most tiles.
func (s *substitution) solve(lo, hi int, b factor.Matrices) {
	half := s.wide
	for 2*half < hi-lo {
		half *= 2
	}
	mid := lo + half
	if tiles := s.Count * ((hi - mid + 63) / 64) * ((s.sides + 63) / 64); tiles >= fullDevice && half > s.wide {
		s.solve(lo, mid, b)
		s.less(lo, mid, hi, b)
		b.Ref = s.x.Ref
		s.solve(mid, hi, b)
		return
	}
	for ; lo < hi; lo += s.wide {
		mid := min(lo+s.wide, hi)
		s.block(lo, mid, b)
		s.less(lo, mid, hi, b)
		b.Ref = s.x.Ref
	}
}

// less takes unknowns lo to mid off the right-hand sides b of those up to hi.
func (s *substitution) less(lo, mid, hi int, b factor.Matrices) {
	if mid < hi && s.sides <= narrowSides {
		s.subtract(s.t.T.From(mid, lo), s.x.From(lo, 0), s.x.From(mid, 0), b.Ref, hi-mid, mid-lo)
		return
	}
	s.Multiply(factor.BlockProduct{A: s.t.T.From(mid, lo), B: s.x.From(lo, 0), C: s.x.From(mid, 0), From: &b.Ref,
		M: hi - mid, N: s.sides, K: mid - lo, Subtract: true})
}

// block finds unknowns lo to hi in one step.
func (s *substitution) block(lo, hi int, b factor.Matrices) {
	t, n := s.t.T.From(lo, lo), hi-lo
	b, x := b.From(lo, 0), s.x.From(lo, 0)
	if s.rows != nil {
		s.rows.run(s.Job, t, b, x, n, s.sides)
		return
	}
	newBySides(s.Job, n, s.sides, s.t.Unit).run(s.Job, t, b, x, n, s.sides)
}
