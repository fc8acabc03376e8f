package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// choleskyWide is the most columns of a panel.
const choleskyWide = 64

// cholesky plans the lower l with l l^H = a. Large matrices take a step a panel:
// some workgroups take the panel before off this one and factor it, the others
// take it off what lies to the right, in a temporary. So the columns of a panel,
// which come one after the other, and the product, which has the operations, share
// the device, and a panel costs one barrier between dispatches.
func (j *linalg) cholesky() {
	n := j.types[0].Shape[len(j.types[0].Shape)-1]
	from, l := j.operand(0, n, n), j.result(0, n, n)
	if n <= min(j.narrow(choleskyWide), 2*choleskyWide/j.words()) {
		j.choleskyAlone(from, l, n)
		return
	}
	wide := min(j.narrow(choleskyWide), choleskyWide/j.words()) // as many registers
	work := from
	for top := 0; top < n; top += wide {
		if top == 2*wide {
			from = work
		}
		if top == wide && n > 2*wide {
			work = j.fresh(n, n)
		}
		j.choleskyStep(from, work, l, n, top, wide)
	}
}

// choleskyAlone appends the factorisation of matrices that are one panel each. An
// invocation has a row.
func (j *linalg) choleskyAlone(from, to strided, n int) {
	w := &choleskyWriter{t: j.typ, wide: panelWidth(n, choleskyWide)}
	p := &program{local: uint32(w.wide), body: w.write, flops: int64(j.count) * int64(n*n*n), groups: j.count,
		bufs: []buffer{j.buffer(from, Read), j.buffer(to, Write)}}
	p.nums = append([]int{j.count, n}, places(from, to)...)
	p.key = fmt.Sprintf("cholesky %v wide=%d", w.t, w.wide)
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

// choleskyWriter writes the kernel of small matrices: an invocation has one row,
// in registers.
type choleskyWriter struct {
	t    scalar.Type
	wide int
}

func (w *choleskyWriter) write(e *emitter) error {
	x := arith{e, w.t}
	count, n := e.num(), e.num()
	from, to := e.grid(0), e.grid(1)
	matrix := e.group()
	from, to = from.of(matrix), to.of(matrix)
	// Two columns, which take turns, each with room for what is not used.
	shared := e.Shared(w.t, 4*w.wide)
	e.when(e.below(matrix, count), func() {
		me := e.invocation()
		inside := e.below(me, n)
		a := make([]kernel.Value, w.wide)
		for c := range a {
			col := e.int(c)
			unit := e.Select(e.same(me, col), x.number(1), x.number(0))
			a[c] = from.loadOr(e.both(inside, e.below(col, n)), me, col, unit)
		}
		e.Loop(e.int(0), n, e.int(1), a, func(c kernel.Value, a []kernel.Value) []kernel.Value {
			l, rest := w.column(x, c, a, shared)
			e.then(inside, func() { to.store(me, c, e.Select(e.below(me, c), x.number(0), l)) })
			return rest
		})
	})
	return nil
}

// column finds column c, the first of what is left, and takes it off those to its
// right, which move up by one; the last is then of no use. A column of zeros under
// a zero stays one, as on the host. The shared columns take turns, so that one
// barrier a column suffices.
func (w *choleskyWriter) column(x arith, c kernel.Value, a []kernel.Value, shared int) (l kernel.Value, rest []kernel.Value) {
	me := x.invocation()
	first := x.Mul(x.And(c, 1), x.int(2*w.wide))
	x.StoreShared(shared, x.Add(first, me), a[0])
	x.Barrier()
	first = x.Add(first, c)
	root := x.pivotRoot(x.LoadShared(shared, first))
	none := x.both(x.zero(root), x.zero(a[0]))
	l = x.Select(none, a[0], x.over(a[0], root))
	f := x.Select(none, a[0], x.over(l, x.conj(root)))
	for k := 1; k < len(a); k++ {
		rest = append(rest, x.less(f, x.conj(x.LoadShared(shared, x.Add(first, x.int(k)))), a[k]))
	}
	return x.Select(x.same(me, c), root, l), append(rest, x.number(0))
}
