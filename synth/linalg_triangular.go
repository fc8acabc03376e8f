package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// triangularWide is the most unknowns that one step finds.
const triangularWide = 64

// triangle is a system of a triangular matrix, lower in the order in which its
// unknowns are found.
type triangle struct {
	t    strided
	n    int
	unit bool // the diagonal is 1
}

// triangularSolve plans the x with f(a) x = b, or x f(a) = b.
func (j *linalg) triangularSolve() {
	lower, left, transpose := j.in.Attrs[0][0] != 0, j.in.Attrs[1][0] != 0, j.in.Attrs[2][0] == 1
	a, b := j.types[0].Shape, j.types[1].Shape
	n := a[len(a)-1]
	sides := b.Size() / (j.count * n)
	t := triangle{t: j.operand(0, n, n), n: n}
	if conjugate := j.in.Attrs[2][0] == 2; conjugate && j.typ.Complex() {
		t.t = j.conjugated(t.t, n, n)
	}
	from, x := j.operand(1, n, sides), j.result(0, n, sides)
	if len(b) == len(a) && !left {
		from, x = j.dense(from.ref, sides, n).transposed(), j.dense(x.ref, sides, n).transposed()
	}
	// x a = b is the system of the transpose, and a transpose of that is a.
	if transpose == left {
		t.t, lower = t.t.transposed(), !lower
	}
	name := theRow
	if !lower {
		name = theRowUpward
		t.t, from, x = t.t.backward(n, n), from.upsideDown(n), x.upsideDown(n)
	}
	j.solvable(t.t, n, name)
	j.substitute(t, from, x, sides)
}

// conjugated appends a copy of m by n matrices of complex conjugates.
func (j *linalg) conjugated(from strided, m, n int) strided {
	to := j.fresh(m, n)
	j.each(elementwise{"conjugate", to, []strided{from}, m, n,
		func(x arith, _, _ kernel.Value, from []kernel.Value) kernel.Value { return x.conj(from[0]) }})
	return to
}

// upsideDown is a matrix of m rows with those in reverse.
func (s strided) upsideDown(m int) strided {
	s = s.from(m-1, 0)
	s.row = -s.row
	return s
}

// substituteWide is the most unknowns of a step whose triangle fits into shared
// memory and whose right-hand sides fit into registers.
func (j *linalg) substituteWide() int {
	wide := j.narrow(triangularWide)
	if j.words() > 2 {
		wide = min(wide, triangularWide/2)
	}
	return wide
}

// substitute appends the solution x of a system with right-hand sides in the
// columns of b, which lies as x does, and may be x.
func (j *linalg) substitute(t triangle, b, x strided, sides int) {
	wide := j.substituteWide()
	for top := 0; top < t.n; top += wide {
		next := min(top+wide, t.n)
		block := triangle{t.t.from(top, top), next - top, t.unit}
		j.substituteBlock(block, b.from(top, 0), x.from(top, 0), sides)
		j.multiply(blockProduct{a: t.t.from(next, top), b: x.from(top, 0), c: x.from(next, 0), from: &b.ref,
			m: t.n - next, n: sides, k: next - top, subtract: true})
		b.ref = x.ref
	}
}

// substituteBlock appends the solution of a system that one workgroup can hold.
// An invocation solves for one right-hand side, in registers.
func (j *linalg) substituteBlock(t triangle, b, x strided, sides int) {
	w := &triangularWriter{t: j.typ, wide: panelWidth(t.n, triangularWide), unit: t.unit}
	groups := (sides + updateLocal - 1) / updateLocal
	p := &program{local: updateLocal, groups: j.count * groups, body: w.write,
		flops: int64(j.count) * int64(sides*t.n*t.n),
		bufs:  []buffer{j.buffer(t.t, Read), j.buffer(b, Read), j.buffer(x, Write)}}
	p.nums = append([]int{j.count, groups, t.n, sides}, places(t.t, b, x)...)
	p.key = fmt.Sprintf("substitute %v wide=%d unit=%v", w.t, w.wide, w.unit)
	j.run(p)
}

// triangularWriter writes the kernel of a block.
type triangularWriter struct {
	t    scalar.Type
	wide int
	unit bool
}

func (w *triangularWriter) write(e *emitter) error {
	x := arith{e, w.t}
	count, groups, n, sides := e.num(), e.num(), e.num(), e.num()
	t, from, to := e.grid(0), e.grid(1), e.grid(2)
	matrix, part := e.divide(e.group(), groups)
	t, from, to = t.of(matrix), from.of(matrix), to.of(matrix)
	shared := e.Shared(w.t, w.wide*(w.wide+1))
	e.when(e.below(matrix, count), func() {
		w.fill(x, t, shared, n)
		side := e.Add(e.Mul(part, e.int(e.local)), e.invocation())
		e.then(e.below(side, sides), func() {
			b := make([]kernel.Value, w.wide)
			for i := range b {
				b[i] = from.loadOr(e.below(e.int(i), n), e.int(i), side, x.number(0))
			}
			// The first of what is left is found and taken off the others, which
			// move up; what comes in at the end is of no use.
			e.Loop(e.int(0), n, e.int(1), b, func(i kernel.Value, b []kernel.Value) []kernel.Value {
				first := e.Mul(i, e.int(w.wide+1))
				v := b[0]
				if !w.unit {
					v = x.over(v, e.LoadShared(shared, first))
				}
				to.store(i, side, v)
				var rest []kernel.Value
				for k := 1; k < w.wide; k++ {
					rest = append(rest, x.less(e.LoadShared(shared, e.Add(first, e.int(k))), v, b[k]))
				}
				return append(rest, x.number(0))
			})
		})
	})
	return nil
}

// fill copies the triangle to shared memory, column by column.
func (w *triangularWriter) fill(x arith, t grid, shared int, n kernel.Value) {
	x.spread(w.wide*w.wide, func(u kernel.Value) kernel.Value {
		i, k := x.divide(u, x.int(w.wide))
		return t.loadOr(x.both(x.below(i, n), x.Compare(scalar.Le, k, i)), i, k, x.number(0))
	}, func(u, v kernel.Value) {
		i, k := x.divide(u, x.int(w.wide))
		x.StoreShared(shared, x.Add(x.Mul(k, x.int(w.wide)), i), v)
	})
	x.Barrier()
}
