package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// elimination factors square matrices with partial pivoting, in place: the unit
// lower triangle and the upper one share a matrix. The pivot is the first element
// of the largest magnitude. More columns may stand to the right; their rows are
// exchanged as well. Neighbours in memory are those of a column.
//
// Within a block of columns rows stay where they are: each has a place, which an
// exchange changes, and a pivot's row is known by its number. They move at the end
// of the block, in all columns at once.
type elimination struct {
	*linalg
	a       strided
	n, cols int
	places  [2]Ref  // of the rows from the top of a block on; panels take turns
	pivots  Ref     // rows of the pivots of a block
	signs   strided // whose product is that of the exchanges
	product strided // room for that of blocks, a quarter of the matrix at most
}

// The columns of a block, and how many to the right of its panel every step takes
// the panel off. Columns further right lose products of blocks.
const (
	luBlock = 512
	luReach = 1024
)

// luLine is what the elements of a column are a multiple of in memory, so that
// neighbouring rows share a line of a cache.
const luLine = 32

// eliminate appends the factorisation of the first n columns of a.
func (j *linalg) eliminate(a strided, n, cols int) *elimination {
	f := &elimination{linalg: j, a: a, n: n, cols: cols}
	f.places = [2]Ref{j.temp(j.count * n * 4), j.temp(j.count * n * 4)}
	f.pivots = j.temp(j.count * n * 4)
	f.signs = j.fresh(1, n)
	if n > j.narrow(luReach) && !j.typ.Complex() {
		f.product = j.fresh((n+1)/2, (n+1)/2)
	}
	f.columns(0, n)
	return f
}

// columns factors columns lo to hi, which those before have been taken off: the
// left half, then the right one without what the left one has of it.
func (f *elimination) columns(lo, hi int) {
	reach, wide := f.narrow(luReach), f.narrow(luBlock)
	if hi-lo <= reach {
		for at := lo; at < hi; at += wide {
			f.block(at, min(at+wide, hi), hi)
		}
		return
	}
	half := reach
	for 2*half < hi-lo {
		half *= 2
	}
	mid := lo + half
	f.columns(lo, mid)
	right := f.a.from(lo, mid)
	f.substitute(triangle{f.a.from(lo, lo), half, true}, right, right, hi-mid)
	f.less(f.a.from(mid, lo), right, f.a.from(mid, mid), f.n-mid, hi-mid, half)
	f.columns(mid, hi)
}

// less takes the product of m by k and k by n matrices off c. That of package gemm
// is faster, but has a place of its own.
func (f *elimination) less(a, b, c strided, m, n, k int) {
	if f.typ.Complex() {
		f.multiply(blockProduct{a: a, b: b, c: c, m: m, n: n, k: k, subtract: true})
		return
	}
	c = c.transposed()
	product := f.dense(f.product.ref, n, m)
	f.dotted(b.transposed(), a.transposed(), product, n, m, k)
	f.each(elementwise{"minus", c, []strided{c, product}, n, m, minus})
}

// block factors columns lo to hi, a panel at a time, takes them off those up to
// end, and exchanges the rows of all.
func (f *elimination) block(lo, hi, end int) {
	p := f.luPanel(f.n - lo)
	turn := 0
	for at := lo; at < hi; at += p.wide {
		f.step(p, luStep{lo, at, min(at+p.wide, hi), end, turn})
		turn ^= 1
	}
	if hi < end {
		f.step(p, luStep{lo, hi, hi, end, turn})
	}
	f.exchange(lo, hi, f.places[turn])
}

// exchange moves rows to the places that those of a block have got, in all
// columns. A workgroup has some columns, and an invocation some rows of one.
func (f *elimination) exchange(lo, hi int, at Ref) {
	w := &exchangeWriter{t: f.typ, wide: panelWidth(hi-lo, luBlock)}
	w.height = min(w.wide, exchangeLocal)
	groups := (f.cols*w.height + exchangeLocal - 1) / exchangeLocal
	p := &program{local: exchangeLocal, groups: f.count * groups, body: w.write,
		bufs: []buffer{f.buffer(f.a, Read|Write), words(f.pivots, f.count*f.n, Read), words(at, f.count*f.n, Read)}}
	p.nums = append([]int{f.count, groups, f.cols, f.n, hi - lo}, places(f.a.from(lo, 0))...)
	p.key = fmt.Sprintf("exchange rows %v wide=%d", w.t, w.wide)
	f.run(p)
}

// exchangeLocal is the size of a workgroup that exchanges rows.
const exchangeLocal = 128

// exchangeWriter writes the kernel of an exchange.
type exchangeWriter struct {
	t            scalar.Type
	wide, height int // rows at the top, a power of two; invocations of a column
}

func (w *exchangeWriter) write(e *emitter) error {
	x := arith{e, w.t}
	count, groups, all, n, cols := e.num(), e.num(), e.num(), e.num(), e.num()
	g := e.grid(0)
	matrix, part := e.divide(e.group(), groups)
	line, me := e.divide(e.invocation(), e.int(w.height))
	col := e.Add(e.Mul(part, e.int(exchangeLocal/w.height)), line)
	inside := e.below(col, all)
	col = e.least(col, e.Sub(all, e.int(1)))
	e.when(e.below(matrix, count), func() {
		g, first := g.of(matrix), e.Mul(matrix, n)
		var rows, to, come, went []kernel.Value
		for k := 0; k < w.wide; k += w.height {
			row := e.Add(me, e.int(k))
			at := e.Add(first, e.least(row, e.Sub(cols, e.int(1))))
			rows = append(rows, row)
			come = append(come, g.load(e.Load(1, at, 1)[0], col))
			to = append(to, e.Load(2, at, 1)[0])
			went = append(went, g.load(e.Sub(at, first), col))
		}
		e.Barrier()
		for i, row := range rows {
			mine := x.both(inside, e.below(row, cols))
			e.then(mine, func() { g.store(row, col, come[i]) })
			e.then(x.both(mine, e.Compare(scalar.Le, cols, to[i])), func() { g.store(to[i], col, went[i]) })
		}
	})
	return nil
}
