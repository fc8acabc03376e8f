package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// choleskyWide is the most columns of a panel.
const choleskyWide = 64

// cholesky plans the lower l with l l^T = a. A panel is factored and then taken
// off what lies to the right of it, in a temporary; l has the panels alone.
func (j *linalg) cholesky() {
	n := j.types[0].Shape[len(j.types[0].Shape)-1]
	from, l := j.operand(0, n, n), j.result(0, n, n)
	work, wide := from, j.narrow(choleskyWide)
	for top := 0; top < n; top += wide {
		next := min(top+wide, n)
		j.choleskyPanel(work, l, n, top, next-top)
		if next == n {
			break
		}
		if top == 0 {
			work = j.fresh(n, n)
		}
		panel := l.from(next, top)
		j.multiply(blockProduct{a: panel, b: panel.transposed(), c: work.from(next, next), from: &from.ref,
			m: n - next, n: n - next, k: next - top, subtract: true, lower: true})
		from = work
	}
}

// choleskyPanel appends the factorisation of columns from top on. Every workgroup
// factors the square on the diagonal, so that the rows beneath it, of which it
// has some, need not wait for another one; above it stand zeros.
func (j *linalg) choleskyPanel(from, to strided, n, top, cols int) {
	w := &choleskyWriter{t: j.typ, wide: panelWidth(cols, choleskyWide), alone: n <= j.narrow(choleskyWide)}
	p := &program{local: uint32(2 * w.wide), body: w.write, flops: int64(j.count) * int64(n*cols*cols),
		bufs: []buffer{j.buffer(from, Read), j.buffer(to, Write)}}
	groups := (n + w.wide - 1) / w.wide
	if w.alone {
		p.local, groups = uint32(w.wide), 1
	}
	p.groups = j.count * groups
	p.nums = append([]int{j.count, groups, n, top, cols}, places(from, to)...)
	p.key = fmt.Sprintf("cholesky %v wide=%d alone=%v", w.t, w.wide, w.alone)
	j.run(p)
}

// panelWidth is how many columns a kernel has for a panel of n: there are few
// kernels.
func panelWidth(n, most int) int {
	wide := 4
	for wide < n && wide < most {
		wide *= 2
	}
	return min(wide, most)
}

// choleskyWriter writes the kernel of a panel. An invocation has one row, in
// registers: the first ones those of the square, the others rows beneath.
type choleskyWriter struct {
	t     scalar.Type
	wide  int
	alone bool // the square is the whole matrix
}

func (w *choleskyWriter) write(e *emitter) error {
	x := reals{e, w.t}
	count, groups, n, top, cols := e.num(), e.num(), e.num(), e.num(), e.num()
	from, to := e.grid(0), e.grid(1)
	matrix, part := e.divide(e.group(), groups)
	from, to = from.of(matrix), to.of(matrix)
	// Two columns, which take turns, each with room for what is not used.
	shared := e.Shared(w.t, 4*w.wide)
	e.when(e.below(matrix, count), func() {
		me, wide := e.invocation(), e.int(w.wide)
		square := e.below(me, wide)
		row := e.Select(square, e.Add(top, me), e.Add(e.Mul(part, wide), e.Sub(me, wide)))
		inside := e.both(square, e.below(me, cols))
		beneath := e.both(e.not(square), e.both(e.below(row, n), e.Compare(scalar.Le, e.Add(top, cols), row)))
		real := e.either(inside, beneath)
		a := make([]kernel.Value, w.wide)
		for c := range a {
			col := e.int(c)
			unit := e.Select(e.same(me, col), x.number(1), x.number(0))
			a[c] = from.loadOr(e.both(real, e.below(col, cols)), row, e.Add(top, col), unit)
		}
		mine := e.both(inside, e.same(part, e.int(0)))
		above := e.both(e.not(square), e.below(row, top))
		writes := e.either(above, e.either(mine, beneath))
		e.Loop(e.int(0), cols, e.int(1), a, func(c kernel.Value, a []kernel.Value) []kernel.Value {
			l, rest := w.column(x, c, a, shared, square)
			clear := e.either(above, e.both(square, e.below(me, c)))
			e.then(writes, func() { to.store(row, e.Add(top, c), e.Select(clear, x.number(0), l)) })
			return rest
		})
	})
	return nil
}

// column finds column c, the first of what is left, and takes it off those to its
// right, which move up by one; the last is then of no use. A column of zeros under
// a zero stays one, as on the host. The shared columns take turns, so that one
// barrier a column suffices.
func (w *choleskyWriter) column(x reals, c kernel.Value, a []kernel.Value, shared int, square kernel.Value) (l kernel.Value, rest []kernel.Value) {
	me := x.invocation()
	first := x.Mul(x.And(c, 1), x.int(2*w.wide))
	x.then(square, func() { x.StoreShared(shared, x.Add(first, me), a[0]) })
	x.Barrier()
	first = x.Add(first, c)
	root := x.sqrt(x.LoadShared(shared, first))
	none := x.both(x.zero(root), x.zero(a[0]))
	l = x.Select(none, a[0], x.over(a[0], root))
	f := x.Select(none, a[0], x.over(l, root))
	for k := 1; k < len(a); k++ {
		rest = append(rest, x.less(f, x.LoadShared(shared, x.Add(first, x.int(k))), a[k]))
	}
	return x.Select(x.same(me, c), root, l), append(rest, x.number(0))
}
