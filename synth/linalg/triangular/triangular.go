package triangular

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// triangularWide is the most unknowns that one step finds.
const triangularWide = 64

// substituteLocal is how many right-hand sides a workgroup has: few, so that there are
// many workgroups.
const substituteLocal = 32

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
	wide  int // unknowns of a step
}

// OneStep reports whether one step finds n unknowns.
func OneStep(j *factor.Job, n int) bool { return n <= substituteWide(j) }

// Substitute appends the solution x of a system with right-hand sides in the
// columns of b. Where one step does not find it b lies as x does, and it may be x.
func Substitute(j *factor.Job, t Triangle, b, x factor.Matrices, sides int) {
	s := &substitution{j, t, x, sides, substituteWide(j)}
	if !s.chain(b) {
		s.solve(0, t.N, b)
	}
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
	s.Multiply(factor.BlockProduct{A: s.t.T.From(mid, lo), B: s.x.From(lo, 0), C: s.x.From(mid, 0), From: &b.Ref,
		M: hi - mid, N: s.sides, K: mid - lo, Subtract: true})
}

// block finds unknowns lo to hi, whose triangle one workgroup can hold. An invocation has one
// row of it or, where right-hand sides are many, solves for one of these in registers.
func (s *substitution) block(lo, hi int, b factor.Matrices) {
	t, n := s.t.T.From(lo, lo), hi-lo
	b, x := b.From(lo, 0), s.x.From(lo, 0)
	if s.rowBlock(t, b, x, n) {
		return
	}
	w := &triangularWriter{t: s.Typ, wide: factor.PanelWidth(n, triangularWide), unit: s.t.Unit}
	groups := (s.sides + substituteLocal - 1) / substituteLocal
	p := &codegen.Program{Local: substituteLocal, Groups: s.Count * groups, Body: w.write,
		Flops:   int64(s.Count) * int64(s.sides*n*n),
		Buffers: []codegen.Buffer{s.Buffer(t, lowering.Read), s.Buffer(b, lowering.Read), s.Buffer(x, lowering.Write)}}
	p.Numbers = append([]int{s.Count, groups, n, s.sides}, factor.Places(t, b, x)...)
	p.Key = fmt.Sprintf("substitute %v wide=%d unit=%v", w.t, w.wide, w.unit)
	s.Run(p)
}

// triangularWriter writes the kernel of a block.
type triangularWriter struct {
	t    scalar.Type
	wide int
	unit bool
}

func (w *triangularWriter) write(e *codegen.Emitter) error {
	x := factor.Arith{Emitter: e, T: w.t}
	count, groups, n, sides := e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	t, from, to := factor.GridOf(e, 0), factor.GridOf(e, 1), factor.GridOf(e, 2)
	matrix, part := e.DivMod(e.Group(), groups)
	t, from, to = t.Of(matrix), from.Of(matrix), to.Of(matrix)
	shared := e.Shared(w.t, w.wide*(w.wide+1))
	e.When(e.IsLess(matrix, count), func() {
		w.fill(x, t, shared, n)
		side := e.Add(e.Mul(part, e.Index(e.Local)), e.Invocation())
		e.IfThen(e.IsLess(side, sides), func() {
			b := make([]kernel.Value, w.wide)
			for i := range b {
				b[i] = from.LoadOr(e.IsLess(e.Index(i), n), e.Index(i), side, x.Number(0))
			}
			// The first of what is left is found and taken off the others, which
			// move up; what comes in at the end is of no use.
			e.Loop(e.Index(0), n, e.Index(1), b, func(i kernel.Value, b []kernel.Value) []kernel.Value {
				first := e.Mul(i, e.Index(w.wide+1))
				v := b[0]
				if !w.unit {
					v = x.Over(v, e.LoadShared(shared, first))
				}
				to.Store(i, side, v)
				var rest []kernel.Value
				for k := 1; k < w.wide; k++ {
					rest = append(rest, x.Less(e.LoadShared(shared, e.Add(first, e.Index(k))), v, b[k]))
				}
				return append(rest, x.Number(0))
			})
		})
	})
	return nil
}

// fillAhead is how many elements of the triangle an invocation reads before it writes
// them.
const fillAhead = 16

// fill copies the triangle to shared memory, column by column.
func (w *triangularWriter) fill(x factor.Arith, t factor.Grid, shared int, n kernel.Value) {
	all := w.wide * w.wide
	part := min(all, fillAhead*substituteLocal)
	x.For(x.Index(0), x.Index(all), x.Index(part), func(at kernel.Value) {
		x.DealOut(part, func(u kernel.Value) kernel.Value {
			i, k := x.DivMod(x.Add(at, u), x.Index(w.wide))
			return t.LoadOr(x.And2(x.IsLess(i, n), x.Compare(scalar.Le, k, i)), i, k, x.Number(0))
		}, func(u, v kernel.Value) {
			i, k := x.DivMod(x.Add(at, u), x.Index(w.wide))
			x.StoreShared(shared, x.Add(x.Mul(k, x.Index(w.wide)), i), v)
		})
	})
	x.Barrier()
}
