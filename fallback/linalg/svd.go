package linalg

import (
	"cmp"
	"math"
	"slices"

	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
)

// singular is a singular value decomposition of an m by n matrix. The rows of u are the left
// vectors: m of them, or one per value. The rows of v are the right ones: n of them, or one
// per value.
type singular[C field] struct {
	m, n   int
	u, v   []C
	values []float64
}

func svdIn[C field](p *problem[C]) error {
	a, back, ok := scaleToOne(p.args[0])
	if !ok {
		p.fillNaN()
		return nil
	}
	m, n, full := p.m, p.n, p.in.Attrs[0][0] != 0
	var s *singular[C]
	if x, ok := any(a).([]float64); ok {
		s = svdReal[C](p.in.Worker, x, m, n, full)
	}
	switch {
	case s != nil:
	case m < n:
		t := svdJacobi(p.in.Worker, adjoint(a, m, n), n, m, full)
		s = &singular[C]{m, n, t.v, t.u, t.values}
	default:
		s = svdJacobi(p.in.Worker, a, m, n, full)
	}
	s.normalizePhases()
	u, values, vh := p.outs[0], p.outs[1], p.outs[2]
	least := roundingLevel(p.in.Outs[1].Type.DType) * s.values[0]
	for i, x := range s.values {
		if x > least {
			values[i] = number[C](x * back)
		}
	}
	cols := len(u) / m
	for i := range cols {
		for k, x := range s.u[i*m : i*m+m] {
			u[k*cols+i] = x
		}
	}
	for i, x := range s.v {
		vh[i] = conj(x)
	}
	return nil
}

// normalizePhases normalizes the phases of vectors. Left and right vectors of one value are
// multiplied together; those without a value each alone.
func (s *singular[C]) normalizePhases() {
	for i := range max(len(s.u)/s.m, len(s.v)/s.n) {
		var u, v []C
		if i < len(s.u)/s.m {
			u = s.u[i*s.m : (i+1)*s.m]
		}
		if i < len(s.v)/s.n {
			v = s.v[i*s.n : (i+1)*s.n]
		}
		switch {
		case i >= len(s.values):
			normalizePhase(u)
			normalizePhase(v)
		default:
			phase := normalizePhase(v)
			for k, x := range u {
				u[k] = applyPhase(x, phase)
			}
		}
	}
}

// svdJacobi makes the columns of a matrix that is not wide orthogonal by
// rotations from the right (Hestenes, 1958): their lengths are the values.
func svdJacobi[C field](w *sched.Worker, a []C, m, n int, full bool) *singular[C] {
	g, v := transposed(a, m, n), make([]C, n*n)
	for i := range n {
		v[i*n+i] = 1
	}
	pairs, p := newTournament(n), dense.Pacer{Worker: w}
	for rotated, sweep := true, 0; rotated && sweep < sweepsMax; sweep++ {
		rotated = false
		for range pairs.rounds() {
			for i, j := range pairs.pairs {
				p.Step(8 * m)
				rotated = orthogonalize(g[i*m:i*m+m], g[j*m:j*m+m], v[i*n:i*n+n], v[j*n:j*n+n]) || rotated
			}
			pairs.advance()
		}
	}
	lengths, order := make([]float64, n), make([]int, n)
	for i := range n {
		lengths[i], order[i] = length(g[i*m:i*m+m]), i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(lengths[j], lengths[i]) })
	s := &singular[C]{m: m, n: n, v: make([]C, n*n), values: make([]float64, n)}
	for to, from := range order {
		s.values[to] = lengths[from]
		copy(s.v[to*n:], v[from*n:from*n+n])
		s.u = append(s.u, g[from*m:from*m+m]...)
	}
	s.completeBasis(w, full)
	return s
}

// negligible is the squared length of a column that is nothing but rounding errors, next to
// a matrix whose largest element is about 1. Its singular value counts as 0. Such columns are
// not rotated: their products may be so small that the phase of one is not of length 1.
const negligible = epsilon * epsilon / 64

// orthogonalize rotates two columns, and the rows of v with them, so that the columns are
// orthogonal. It reports false where they were, or where one is negligible.
func orthogonalize[C field](p, q, vp, vq []C) bool {
	alpha, beta, gamma := 0.0, 0.0, C(0)
	for i, x := range p {
		alpha += square(x)
		beta += square(q[i])
		gamma += conj(x) * q[i]
	}
	if min(alpha, beta) <= negligible || magnitude(gamma) <= epsilon*math.Sqrt(alpha)*math.Sqrt(beta) {
		return false
	}
	r, _ := jacobiRotation(alpha, beta, gamma)
	r.apply(p, q)
	r.apply(vp, vq)
	return true
}

// completeBasis scales the left vectors to length 1. Vectors whose value is 0 but for rounding
// are replaced by vectors orthogonal to all others, and missing ones are added.
func (s *singular[C]) completeBasis(w *sched.Worker, full bool) {
	m, rank, want := s.m, 0, s.n
	if full {
		want = m
	}
	for rank < s.n && s.values[rank] > float64(m)*epsilon*s.values[0] {
		u := s.u[rank*m : rank*m+m]
		for i := range u {
			u[i] /= number[C](s.values[rank])
		}
		rank++
	}
	if rank == want {
		return
	}
	basis, q := transposed(s.u[:rank*m], rank, m), make([]C, m*m)
	orthonormal(w, q, m, triangulate(w, basis, m, rank))
	rest := transposed(q, m, m)
	s.u = append(s.u[:rank*m:rank*m], rest[rank*m:want*m]...)
}

func length[C field](v []C) float64 {
	sum := 0.0
	for _, x := range v {
		sum += square(x)
	}
	return math.Sqrt(sum)
}

// transposed returns the transpose of an m by n matrix.
func transposed[C field](a []C, m, n int) []C {
	t := make([]C, m*n)
	for i := range m {
		for j := range n {
			t[j*m+i] = a[i*n+j]
		}
	}
	return t
}

func adjoint[C field](a []C, m, n int) []C {
	t := transposed(a, m, n)
	for i, x := range t {
		t[i] = conj(x)
	}
	return t
}
