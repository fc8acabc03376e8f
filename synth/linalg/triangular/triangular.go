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

// Substitute appends the solution x of a system with right-hand sides in the
// columns of b, which lies as x does, and may be x.
func Substitute(j *factor.Job, t Triangle, b, x factor.Matrices, sides int) {
	wide := substituteWide(j)
	for top := 0; top < t.N; top += wide {
		next := min(top+wide, t.N)
		block := Triangle{t.T.From(top, top), next - top, t.Unit}
		substituteBlock(j, block, b.From(top, 0), x.From(top, 0), sides)
		j.Multiply(factor.BlockProduct{A: t.T.From(next, top), B: x.From(top, 0), C: x.From(next, 0), From: &b.Ref,
			M: t.N - next, N: sides, K: next - top, Subtract: true})
		b.Ref = x.Ref
	}
}

// substituteBlock appends the solution of a system that one workgroup can hold.
// An invocation solves for one right-hand side, in registers.
func substituteBlock(j *factor.Job, t Triangle, b, x factor.Matrices, sides int) {
	w := &triangularWriter{t: j.Typ, wide: factor.PanelWidth(t.N, triangularWide), unit: t.Unit}
	groups := (sides + factor.UpdateLocal - 1) / factor.UpdateLocal
	p := &codegen.Program{Local: factor.UpdateLocal, Groups: j.Count * groups, Body: w.write,
		Flops:   int64(j.Count) * int64(sides*t.N*t.N),
		Buffers: []codegen.Buffer{j.Buffer(t.T, lowering.Read), j.Buffer(b, lowering.Read), j.Buffer(x, lowering.Write)}}
	p.Numbers = append([]int{j.Count, groups, t.N, sides}, factor.Places(t.T, b, x)...)
	p.Key = fmt.Sprintf("substitute %v wide=%d unit=%v", w.t, w.wide, w.unit)
	j.Run(p)
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

// fill copies the triangle to shared memory, column by column.
func (w *triangularWriter) fill(x factor.Arith, t factor.Grid, shared int, n kernel.Value) {
	x.DealOut(w.wide*w.wide, func(u kernel.Value) kernel.Value {
		i, k := x.DivMod(u, x.Index(w.wide))
		return t.LoadOr(x.And2(x.IsLess(i, n), x.Compare(scalar.Le, k, i)), i, k, x.Number(0))
	}, func(u, v kernel.Value) {
		i, k := x.DivMod(u, x.Index(w.wide))
		x.StoreShared(shared, x.Add(x.Mul(k, x.Index(w.wide)), i), v)
	})
	x.Barrier()
}
