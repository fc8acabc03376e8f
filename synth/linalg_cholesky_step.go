package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// choleskyStep appends the factorisation of the panel from column top on, from
// what all panels but the last have been taken off, and takes the last one off
// the columns to its right.
func (j *linalg) choleskyStep(from, work, l strided, n, top, wide int) {
	w := &choleskyStepWriter{t: j.typ, wide: wide}
	parts := (n + wide - 1) / wide
	blocks, deep := 0, 0 // to the right, which the first panel leaves alone
	if top > 0 {
		blocks, deep = max(0, parts-1-top/wide), wide
	}
	pairs := (blocks + 1) / 2
	groups := parts + pairs*blocks
	p := &program{local: uint32(w.local()), groups: j.count * groups, body: w.write,
		flops: int64(j.count) * int64(n*wide*wide+pairs*blocks*wide*wide*deep*2),
		bufs:  []buffer{j.buffer(from, Read), j.buffer(l, Read|Write), j.buffer(work, Write)}}
	p.nums = append([]int{j.count, groups, parts, max(1, blocks), n, top, deep}, places(from, l, work)...)
	p.key = fmt.Sprintf("cholesky step %v wide=%d", w.t, wide)
	j.run(p)
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

// choleskyTile is what is known of the work of a workgroup.
type choleskyTile struct {
	arith
	*choleskyStepWriter
	n, top      kernel.Value
	l           grid
	as, bs      int             // shared slices of rows and of columns
	row, column kernel.Value    // of the invocation
	first       [2]kernel.Value // rows of the two blocks
	left        kernel.Value    // first column
}

func (w *choleskyStepWriter) write(e *emitter) error {
	x := &choleskyTile{arith: arith{e, w.t}, choleskyStepWriter: w}
	count, groups, parts, blocks := e.num(), e.num(), e.num(), e.num()
	x.n, x.top = e.num(), e.num()
	deep := e.num()
	from, to, work := e.grid(0), e.grid(1), e.grid(2)
	matrix, part := e.divide(e.group(), groups)
	from, x.l, work = from.of(matrix), to.of(matrix), work.of(matrix)
	x.as, x.bs = e.Shared(w.t, choleskyDeep*(2*w.wide+1)), e.Shared(w.t, choleskyDeep*(w.wide+1))
	x.row, x.column = e.divide(e.invocation(), e.int(choleskyAcross))
	wide := e.int(w.wide)
	panel := e.below(part, parts)
	pair, block := e.divide(e.Sub(part, parts), blocks)
	right := e.Add(x.top, wide)
	own := e.Mul(part, wide)
	x.left = e.Select(panel, x.top, e.Add(right, e.Mul(block, wide)))
	x.first[0] = e.Select(panel, x.top, e.Add(right, e.Mul(pair, e.int(2*w.wide))))
	x.first[1] = e.Select(panel, own, e.Add(x.first[0], wide))
	above := e.both(panel, e.below(own, x.top))
	// Blocks above the diagonal are of no use.
	useful := e.either(e.both(panel, e.Compare(scalar.Le, x.top, own)),
		e.both(e.not(panel), e.Compare(scalar.Le, block, e.Add(e.Shl(pair, 1), e.int(1)))))
	in := e.below(matrix, count)
	e.then(e.both(in, above), func() { x.clear() })
	e.when(e.both(in, useful), func() {
		a := x.less(x.load(from), deep)
		e.then(e.not(panel), func() { x.store(work, a) })
		e.when(panel, func() { x.factor(a, own) })
	})
	return nil
}

// place is the r-th row or the c-th column of the invocation.
func (x *choleskyTile) place(r int) kernel.Value {
	half := choleskyPer / 2
	return x.Add(x.first[r/half], x.Add(x.row, x.int(r%half*x.down())))
}

func (x *choleskyTile) col(c int) kernel.Value {
	return x.Add(x.left, x.Add(x.column, x.int(c*choleskyAcross)))
}

// clear writes the zeros above the diagonal.
func (x *choleskyTile) clear() {
	half := choleskyPer / 2
	for r := range half {
		for c := range x.cols() {
			x.then(x.below(x.col(c), x.n), func() { x.l.store(x.place(half+r), x.col(c), x.number(0)) })
		}
	}
}

// load reads the elements of the invocation, by row; what is beyond the matrix is
// that of the identity.
func (x *choleskyTile) load(from grid) []kernel.Value {
	var a []kernel.Value
	last := x.Sub(x.n, x.int(1))
	for r := range choleskyPer {
		for c := range x.cols() {
			row, col := x.place(r), x.col(c)
			v := from.load(x.least(row, last), x.least(col, last))
			unit := x.Select(x.same(row, col), x.number(1), x.number(0))
			a = append(a, x.Select(x.both(x.below(row, x.n), x.below(col, x.n)), v, unit))
		}
	}
	return a
}

// store writes the elements of the invocation.
func (x *choleskyTile) store(to grid, a []kernel.Value) {
	for u, v := range a {
		row, col := x.place(u/x.cols()), x.col(u%x.cols())
		x.then(x.both(x.below(row, x.n), x.below(col, x.n)), func() { to.store(row, col, v) })
	}
}

// less takes off the last panel, of so many columns: a slice is fetched while the
// one before is used.
func (x *choleskyTile) less(a []kernel.Value, deep kernel.Value) []kernel.Value {
	fetched := x.If(x.same(deep, x.int(0)), func() []kernel.Value { return x.none() },
		func() []kernel.Value { return x.fetch(x.Sub(x.top, deep)) })
	end := x.Sub(x.top, x.int(choleskyDeep))
	out := x.Loop(x.Sub(x.top, deep), x.top, x.int(choleskyDeep), append(fetched, a...), func(k kernel.Value, v []kernel.Value) []kernel.Value {
		x.put(v[:len(fetched)])
		x.Barrier()
		next := x.fetch(x.least(x.Add(k, x.int(choleskyDeep)), end))
		a := x.Loop(x.int(0), x.int(choleskyDeep), x.int(1), v[len(fetched):], func(d kernel.Value, a []kernel.Value) []kernel.Value {
			rows, cols := make([]kernel.Value, choleskyPer), make([]kernel.Value, x.cols())
			for r := range rows {
				rows[r] = x.LoadShared(x.as, x.Add(x.Mul(d, x.int(2*x.wide+1)), x.Add(x.row, x.int(r*x.down()))))
			}
			for c := range cols {
				v := x.LoadShared(x.bs, x.Add(x.Mul(d, x.int(x.wide+1)), x.Add(x.column, x.int(c*choleskyAcross))))
				cols[c] = x.conj(v)
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
		next[u] = x.arith.less(rows[u/len(cols)], cols[u%len(cols)], v)
	}
	return next
}

// slices gives the places of a slice that the invocation fetches: the row of l,
// the column from the first of the slice on, and where in shared memory.
func (x *choleskyTile) slices(f func(row, d kernel.Value, array int, at kernel.Value)) {
	each := x.local() / choleskyDeep
	i, d := x.divide(x.invocation(), x.int(choleskyDeep))
	for at := 0; at < 2*x.wide; at += each {
		u := x.Add(i, x.int(at))
		first := x.Sub(x.first[at/x.wide], x.int(at/x.wide*x.wide))
		f(x.Add(first, u), d, x.as, x.Add(x.Mul(d, x.int(2*x.wide+1)), u))
	}
	for at := 0; at < x.wide; at += each {
		u := x.Add(i, x.int(at))
		f(x.Add(x.left, u), d, x.bs, x.Add(x.Mul(d, x.int(x.wide+1)), u))
	}
}

// fetch reads a slice of l; rows beyond the matrix repeat the last.
func (x *choleskyTile) fetch(k kernel.Value) (vs []kernel.Value) {
	last := x.Sub(x.n, x.int(1))
	x.slices(func(row, d kernel.Value, _ int, _ kernel.Value) {
		vs = append(vs, x.l.load(x.least(row, last), x.Add(k, d)))
	})
	return vs
}

// none is a slice of zeros.
func (x *choleskyTile) none() (vs []kernel.Value) {
	x.slices(func(_, _ kernel.Value, _ int, _ kernel.Value) { vs = append(vs, x.number(0)) })
	return vs
}

// put writes a slice to shared memory.
func (x *choleskyTile) put(vs []kernel.Value) {
	x.slices(func(_, _ kernel.Value, array int, at kernel.Value) {
		x.StoreShared(array, at, vs[0])
		vs = vs[1:]
	})
}
