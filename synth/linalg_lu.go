package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// elimination factors square matrices with partial pivoting, in place: the unit
// lower triangle and the upper one share a matrix. The pivot is the first element
// of the largest magnitude. More columns may stand to the right; their rows are
// exchanged as well.
type elimination struct {
	*linalg
	a       strided
	n, cols int
	src     Ref     // rows that come to the top of a panel
	dst     Ref     // rows to which those of the top go
	signs   strided // whose product is that of the exchanges
}

// eliminate appends the factorisation of the first n columns of a.
func (j *linalg) eliminate(a strided, n, cols int) *elimination {
	f := &elimination{linalg: j, a: a, n: n, cols: cols}
	f.src, f.dst = j.temp(j.count*n*4), j.temp(j.count*n*4)
	f.signs = j.fresh(1, n)
	f.columns(0, n)
	return f
}

// columns factors columns lo to hi, which those before have been taken off: the
// left half, then the right one without what the left one has of it.
func (f *elimination) columns(lo, hi int) {
	if f.luShape(f.n-lo).wide >= hi-lo {
		f.pivoted(lo, hi)
		return
	}
	half := f.luShape(f.n - lo).wide
	for 2*half < hi-lo {
		half *= 2
	}
	mid := lo + half
	f.columns(lo, mid)
	right := f.a.from(lo, mid)
	f.substitute(triangle{f.a.from(lo, lo), half, true}, right, right, hi-mid)
	f.multiply(blockProduct{a: f.a.from(mid, lo), b: right, c: f.a.from(mid, mid),
		m: f.n - mid, n: hi - mid, k: half, subtract: true})
	f.columns(mid, hi)
}

// pivoted factors a panel and exchanges the rows of what stands beside it.
func (f *elimination) pivoted(lo, hi int) {
	w := &luWriter{panel: f.luShape(f.n - lo)}
	p := &program{local: uint32(w.local), groups: f.count, body: w.write,
		flops: int64(f.count) * int64((f.n-lo)*(hi-lo)*(hi-lo)),
		bufs: []buffer{f.buffer(f.a, Read|Write), words(f.src, f.count*f.n, Write), words(f.dst, f.count*f.n, Write),
			f.buffer(f.signs, Write)}}
	p.nums = append([]int{f.count, f.n - lo, hi - lo, f.n, lo}, places(f.a.from(lo, lo))...)
	p.key = fmt.Sprintf("lu panel %v local=%d rows=%d wide=%d", w.t, w.local, w.rows, w.wide)
	f.run(p)
	f.exchange(lo, hi)
}

// exchange moves rows of the columns before lo and from hi on as the panel has.
// An invocation has a column.
func (f *elimination) exchange(lo, hi int) {
	rest := f.cols - (hi - lo)
	if rest == 0 {
		return
	}
	wide := f.luShape(f.n - lo).wide
	groups := (rest + updateLocal - 1) / updateLocal
	p := &program{local: updateLocal, groups: f.count * groups,
		bufs: []buffer{f.buffer(f.a, Read|Write), words(f.src, f.count*f.n, Read), words(f.dst, f.count*f.n, Read)}}
	p.nums = append([]int{f.count, groups, rest, f.n, lo, hi - lo}, places(f.a.from(lo, 0))...)
	p.key = fmt.Sprintf("exchange rows %v wide=%d", f.typ, wide)
	t := f.typ
	p.body = func(e *emitter) error { return writeExchange(arith{e, t}, wide) }
	f.run(p)
}

func writeExchange(x arith, wide int) error {
	count, groups, rest, n, lo, cols := x.num(), x.num(), x.num(), x.num(), x.num(), x.num()
	g := x.grid(0)
	matrix, part := x.divide(x.group(), groups)
	col := x.Add(x.Mul(part, x.int(x.local)), x.invocation())
	x.then(x.both(x.below(matrix, count), x.below(col, rest)), func() {
		col := x.Select(x.below(col, lo), col, x.Add(col, cols))
		g := g.of(matrix)
		first := x.Mul(matrix, n)
		var come, went, to []kernel.Value
		for c := range wide {
			inside := x.below(x.int(c), cols)
			at := x.Select(inside, x.Add(first, x.int(c)), first)
			come = append(come, g.load(x.Load(1, at, 1)[0], col))
			to = append(to, x.Select(inside, x.Load(2, at, 1)[0], x.int(0)))
			went = append(went, g.load(x.Select(inside, x.int(c), x.int(0)), col))
		}
		for c := range wide {
			x.then(x.below(x.int(c), cols), func() { g.store(x.int(c), col, come[c]) })
			x.then(x.Compare(scalar.Le, cols, to[c]), func() { g.store(to[c], col, went[c]) })
		}
	})
	return nil
}
