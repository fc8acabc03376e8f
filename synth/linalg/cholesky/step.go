package cholesky

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// choleskyStep appends the factorisation of the panel from column top on, from
// what all panels but the last have been taken off, and takes the last one off
// the columns to its right.
func choleskyStep(j *factor.Job, from, work, l factor.Matrices, n, top, wide int) {
	w := &choleskyStepWriter{t: j.Typ, wide: wide}
	parts := (n + wide - 1) / wide
	blocks, deep := 0, 0 // to the right, which the first panel leaves alone
	if top > 0 {
		blocks, deep = max(0, parts-1-top/wide), wide
	}
	pairs := (blocks + 1) / 2
	groups := parts + pairs*blocks
	p := &codegen.Program{Local: uint32(w.local()), Groups: j.Count * groups, Body: w.write,
		Flops:   int64(j.Count) * int64(n*wide*wide+pairs*blocks*wide*wide*deep*2),
		Buffers: []codegen.Buffer{j.Buffer(from, lowering.Read), j.Buffer(l, lowering.Read|lowering.Write), j.Buffer(work, lowering.Write)}}
	p.Numbers = append([]int{j.Count, groups, parts, max(1, blocks), n, top, deep}, factor.Places(from, l, work)...)
	p.Key = fmt.Sprintf("cholesky step %v wide=%d", w.t, wide)
	j.Run(p)
}

// choleskyStepWriter writes the kernel of a step. A workgroup has two blocks of
// rows of a block of columns, in registers: an invocation has every so many-th
// row and column.
//
// The first workgroups have the panel: the square on the diagonal, which each of
// them factors, so that the rows beneath need not wait for another one, and rows
// of their own. Where those are above the square there are only zeros to write;
// where they are the square, it is.
type choleskyStepWriter struct {
	t    scalar.Type
	wide int
}

// The invocations of a workgroup by columns, and its slices of the panel before.
const (
	choleskyAcross = 8
	choleskyDeep   = 16
	choleskyPer    = 8 // rows of an invocation
)

func (w *choleskyStepWriter) down() int  { return 2 * w.wide / choleskyPer }
func (w *choleskyStepWriter) local() int { return w.down() * choleskyAcross }
func (w *choleskyStepWriter) cols() int  { return w.wide / choleskyAcross } // of an invocation

// choleskyTile has the indices and sizes of the tile of a workgroup.
type choleskyTile struct {
	factor.Arith
	*choleskyStepWriter
	n, top      kernel.Value
	l           factor.Grid
	as, bs      int             // shared slices of rows and of columns
	row, column kernel.Value    // of the invocation
	first       [2]kernel.Value // rows of the two blocks
	left        kernel.Value    // first column
}

func (w *choleskyStepWriter) write(e *codegen.Emitter) error {
	x := &choleskyTile{Arith: factor.Arith{Emitter: e, T: w.t}, choleskyStepWriter: w}
	count, groups, parts, blocks := e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	x.n, x.top = e.NextNumber(), e.NextNumber()
	deep := e.NextNumber()
	from, to, work := factor.GridOf(e, 0), factor.GridOf(e, 1), factor.GridOf(e, 2)
	matrix, part := e.DivMod(e.Group(), groups)
	from, x.l, work = from.Of(matrix), to.Of(matrix), work.Of(matrix)
	x.as, x.bs = e.Shared(w.t, choleskyDeep*(2*w.wide+1)), e.Shared(w.t, choleskyDeep*(w.wide+1))
	x.row, x.column = e.DivMod(e.Invocation(), e.Index(choleskyAcross))
	wide := e.Index(w.wide)
	panel := e.IsLess(part, parts)
	pair, block := e.DivMod(e.Sub(part, parts), blocks)
	right := e.Add(x.top, wide)
	own := e.Mul(part, wide)
	x.left = e.Select(panel, x.top, e.Add(right, e.Mul(block, wide)))
	x.first[0] = e.Select(panel, x.top, e.Add(right, e.Mul(pair, e.Index(2*w.wide))))
	x.first[1] = e.Select(panel, own, e.Add(x.first[0], wide))
	above := e.And2(panel, e.IsLess(own, x.top))
	// Blocks above the diagonal are of no use.
	useful := e.Or2(e.And2(panel, e.Compare(scalar.Le, x.top, own)),
		e.And2(e.Not(panel), e.Compare(scalar.Le, block, e.Add(e.Shl(pair, 1), e.Index(1)))))
	in := e.IsLess(matrix, count)
	e.IfThen(e.And2(in, above), func() { x.clear() })
	e.When(e.And2(in, useful), func() {
		a := x.less(x.load(from), deep)
		e.IfThen(e.Not(panel), func() { x.store(work, a) })
		e.When(panel, func() { x.factor(a, own) })
	})
	return nil
}

// place is the r-th row or the c-th column of the invocation.
func (x *choleskyTile) place(r int) kernel.Value {
	half := choleskyPer / 2
	return x.Add(x.first[r/half], x.Add(x.row, x.Index(r%half*x.down())))
}

func (x *choleskyTile) col(c int) kernel.Value {
	return x.Add(x.left, x.Add(x.column, x.Index(c*choleskyAcross)))
}

// clear writes the zeros above the diagonal.
func (x *choleskyTile) clear() {
	half := choleskyPer / 2
	for r := range half {
		for c := range x.cols() {
			x.IfThen(x.IsLess(x.col(c), x.n), func() { x.l.Store(x.place(half+r), x.col(c), x.Number(0)) })
		}
	}
}

// load reads the elements of the invocation, by row; what is beyond the matrix is
// that of the identity.
func (x *choleskyTile) load(from factor.Grid) []kernel.Value {
	var a []kernel.Value
	last := x.Sub(x.n, x.Index(1))
	for r := range choleskyPer {
		for c := range x.cols() {
			row, col := x.place(r), x.col(c)
			v := from.Load(x.Min(row, last), x.Min(col, last))
			unit := x.Select(x.IsEqual(row, col), x.Number(1), x.Number(0))
			a = append(a, x.Select(x.And2(x.IsLess(row, x.n), x.IsLess(col, x.n)), v, unit))
		}
	}
	return a
}

// store writes the elements of the invocation.
func (x *choleskyTile) store(to factor.Grid, a []kernel.Value) {
	for u, v := range a {
		row, col := x.place(u/x.cols()), x.col(u%x.cols())
		x.IfThen(x.And2(x.IsLess(row, x.n), x.IsLess(col, x.n)), func() { to.Store(row, col, v) })
	}
}

// less takes off the last panel, of so many columns: a slice is fetched while the
// one before is used.
func (x *choleskyTile) less(a []kernel.Value, deep kernel.Value) []kernel.Value {
	fetched := x.If(x.IsEqual(deep, x.Index(0)), func() []kernel.Value { return x.none() },
		func() []kernel.Value { return x.fetch(x.Sub(x.top, deep)) })
	end := x.Sub(x.top, x.Index(choleskyDeep))
	out := x.Loop(x.Sub(x.top, deep), x.top, x.Index(choleskyDeep), append(fetched, a...), func(k kernel.Value, v []kernel.Value) []kernel.Value {
		x.put(v[:len(fetched)])
		x.Barrier()
		next := x.fetch(x.Min(x.Add(k, x.Index(choleskyDeep)), end))
		a := x.Loop(x.Index(0), x.Index(choleskyDeep), x.Index(1), v[len(fetched):], func(d kernel.Value, a []kernel.Value) []kernel.Value {
			rows, cols := make([]kernel.Value, choleskyPer), make([]kernel.Value, x.cols())
			for r := range rows {
				rows[r] = x.LoadShared(x.as, x.Add(x.Mul(d, x.Index(2*x.wide+1)), x.Add(x.row, x.Index(r*x.down()))))
			}
			for c := range cols {
				v := x.LoadShared(x.bs, x.Add(x.Mul(d, x.Index(x.wide+1)), x.Add(x.column, x.Index(c*choleskyAcross))))
				cols[c] = factor.Conj(x.Arith.Emitter, v)
			}
			return x.outer(rows, cols, a)
		})
		x.Barrier()
		return append(next, a...)
	})
	return out[len(fetched):]
}

// outer takes products of rows and columns off elements.
func (x *choleskyTile) outer(rows, cols, a []kernel.Value) []kernel.Value {
	next := make([]kernel.Value, len(a))
	for u, v := range a {
		next[u] = x.Arith.Less(rows[u/len(cols)], cols[u%len(cols)], v)
	}
	return next
}

// slices gives the places of a slice that the invocation fetches: the row of l,
// the column from the first of the slice on, and where in shared memory.
func (x *choleskyTile) slices(f func(row, d kernel.Value, array int, at kernel.Value)) {
	each := x.local() / choleskyDeep
	i, d := x.DivMod(x.Invocation(), x.Index(choleskyDeep))
	for at := 0; at < 2*x.wide; at += each {
		u := x.Add(i, x.Index(at))
		first := x.Sub(x.first[at/x.wide], x.Index(at/x.wide*x.wide))
		f(x.Add(first, u), d, x.as, x.Add(x.Mul(d, x.Index(2*x.wide+1)), u))
	}
	for at := 0; at < x.wide; at += each {
		u := x.Add(i, x.Index(at))
		f(x.Add(x.left, u), d, x.bs, x.Add(x.Mul(d, x.Index(x.wide+1)), u))
	}
}

// fetch reads a slice of l; rows beyond the matrix repeat the last.
func (x *choleskyTile) fetch(k kernel.Value) (vs []kernel.Value) {
	last := x.Sub(x.n, x.Index(1))
	x.slices(func(row, d kernel.Value, _ int, _ kernel.Value) {
		vs = append(vs, x.l.Load(x.Min(row, last), x.Add(k, d)))
	})
	return vs
}

// none is a slice of zeros.
func (x *choleskyTile) none() (vs []kernel.Value) {
	x.slices(func(_, _ kernel.Value, _ int, _ kernel.Value) { vs = append(vs, x.Number(0)) })
	return vs
}

// put writes a slice to shared memory.
func (x *choleskyTile) put(vs []kernel.Value) {
	x.slices(func(_, _ kernel.Value, array int, at kernel.Value) {
		x.StoreShared(array, at, vs[0])
		vs = vs[1:]
	})
}
