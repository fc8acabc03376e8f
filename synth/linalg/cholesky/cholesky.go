package cholesky

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// choleskyWide is the most columns of a panel.
const choleskyWide = 64

// Lower plans the lower l with l l^H = a. Large matrices take a step a panel:
// some workgroups take the panel before off this one and factor it, the others
// take it off what lies to the right, in a temporary. So the columns of a panel,
// which come one after the other, and the product, which has the operations, share
// the device, and a panel costs one barrier between dispatches.
func Lower(j *factor.Job) {
	n := j.Types[0].Shape[len(j.Types[0].Shape)-1]
	from, l := j.Operand(0, n, n), j.Result(0, n, n)
	if n <= min(j.Narrow(choleskyWide), 2*choleskyWide/j.Words()) {
		choleskyAlone(j, from, l, n)
		return
	}
	wide := min(j.Narrow(choleskyWide), choleskyWide/j.Words()) // as many registers
	work := from
	for top := 0; top < n; top += wide {
		if top == 2*wide {
			from = work
		}
		if top == wide && n > 2*wide {
			work = j.Fresh(n, n)
		}
		choleskyStep(j, from, work, l, n, top, wide)
	}
}

// choleskyAlone appends the factorisation of matrices that are one panel each. An
// invocation has a row.
func choleskyAlone(j *factor.Job, from, to factor.Matrices, n int) {
	w := &choleskyWriter{t: j.Typ, wide: factor.PanelWidth(n, choleskyWide)}
	p := &codegen.Program{Local: uint32(w.wide), Body: w.write, Flops: int64(j.Count) * int64(n*n*n), Groups: j.Count,
		Buffers: []codegen.Buffer{j.Buffer(from, lowering.Read), j.Buffer(to, lowering.Write)}}
	p.Numbers = append([]int{j.Count, n}, factor.Places(from, to)...)
	p.Key = fmt.Sprintf("cholesky %v wide=%d", w.t, w.wide)
	j.Run(p)
}

// choleskyWriter writes the kernel of small matrices: an invocation has one row,
// in registers.
type choleskyWriter struct {
	t    scalar.Type
	wide int
}

func (w *choleskyWriter) write(e *codegen.Emitter) error {
	x := factor.Arith{Emitter: e, T: w.t}
	count, n := e.NextNumber(), e.NextNumber()
	from, to := factor.GridOf(e, 0), factor.GridOf(e, 1)
	matrix := e.Group()
	from, to = from.Of(matrix), to.Of(matrix)
	// Two columns, which take turns, each with room for what is not used.
	shared := e.Shared(w.t, 4*w.wide)
	e.When(e.IsLess(matrix, count), func() {
		me := e.Invocation()
		inside := e.IsLess(me, n)
		a := make([]kernel.Value, w.wide)
		for c := range a {
			col := e.Index(c)
			unit := e.Select(e.IsEqual(me, col), x.Number(1), x.Number(0))
			a[c] = from.LoadOr(e.And2(inside, e.IsLess(col, n)), me, col, unit)
		}
		e.Loop(e.Index(0), n, e.Index(1), a, func(c kernel.Value, a []kernel.Value) []kernel.Value {
			l, rest := w.column(x, c, a, shared)
			e.IfThen(inside, func() { to.Store(me, c, e.Select(e.IsLess(me, c), x.Number(0), l)) })
			return rest
		})
	})
	return nil
}

// column finds column c, the first of what is left, and takes it off those to its
// right, which move up by one; the last is then of no use. A column of zeros under
// a zero stays one, as on the host. The shared columns take turns, so that one
// barrier a column suffices.
func (w *choleskyWriter) column(x factor.Arith, c kernel.Value, a []kernel.Value, shared int) (l kernel.Value, rest []kernel.Value) {
	me := x.Invocation()
	first := x.Mul(x.And(c, 1), x.Index(2*w.wide))
	x.StoreShared(shared, x.Add(first, me), a[0])
	x.Barrier()
	first = x.Add(first, c)
	root := x.PivotRoot(x.LoadShared(shared, first))
	none := x.And2(x.Zero(root), x.Zero(a[0]))
	l = x.Select(none, a[0], x.Over(a[0], root))
	f := x.Select(none, a[0], x.Over(l, factor.Conj(x.Emitter, root)))
	for k := 1; k < len(a); k++ {
		rest = append(rest, x.Less(f, factor.Conj(x.Emitter, x.LoadShared(shared, x.Add(first, x.Index(k)))), a[k]))
	}
	return x.Select(x.IsEqual(me, c), root, l), append(rest, x.Number(0))
}
