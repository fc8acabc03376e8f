package synth

import (
	"fmt"
	"math"

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
	if f.panel(f.n-lo).wide >= hi-lo {
		f.pivoted(lo, hi)
		return
	}
	half := f.panel(f.n - lo).wide
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
	w := &luWriter{panel: f.panel(f.n - lo)}
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
	wide := f.panel(f.n - lo).wide
	groups := (rest + updateLocal - 1) / updateLocal
	p := &program{local: updateLocal, groups: f.count * groups,
		bufs: []buffer{f.buffer(f.a, Read|Write), words(f.src, f.count*f.n, Read), words(f.dst, f.count*f.n, Read)}}
	p.nums = append([]int{f.count, groups, rest, f.n, lo, hi - lo}, places(f.a.from(lo, 0))...)
	p.key = fmt.Sprintf("exchange rows %v wide=%d", f.typ, wide)
	t := f.typ
	p.body = func(e *emitter) error { return writeExchange(reals{e, t}, wide) }
	f.run(p)
}

func writeExchange(x reals, wide int) error {
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

// luWriter writes the kernel of a panel.
type luWriter struct{ panel }

// luPanel is what the kernel works on.
type luPanel struct {
	*panelRows
	sizes, at         int // shared: the largest magnitude of an invocation, and its row
	pivot, top, moved int // shared rows, and where both were
}

func (w *luWriter) write(e *emitter) error {
	count, m, cols, n, lo := e.num(), e.num(), e.num(), e.num(), e.num()
	g := e.grid(0)
	l := &luPanel{sizes: e.Shared(w.t.Part(), w.local), at: e.Shared(scalar.U32, w.local),
		pivot: e.Shared(w.t, w.wide), top: e.Shared(w.t, w.wide), moved: e.Shared(scalar.U32, 2)}
	matrix := e.group()
	e.when(e.below(matrix, count), func() {
		g := g.of(matrix)
		x := reals{e, w.t}
		l.panelRows = w.load(x, g, m, cols)
		more := []kernel.Value{x.number(1)}
		for r := range w.rows {
			more = append(more, l.row(r))
		}
		more = l.columns(cols, more, l.step)
		sign, was := more[0], more[1:]
		first := e.Mul(matrix, n)
		for r := range w.rows {
			e.then(l.inside[r], func() {
				for k, v := range l.a[r] {
					col := l.column(cols, k)
					e.then(e.below(col, cols), func() { g.store(l.row(r), col, v) })
				}
				e.then(e.below(l.row(r), cols), func() { e.Store(1, e.Add(first, l.row(r)), was[r]) })
				e.then(e.below(was[r], cols), func() { e.Store(2, e.Add(first, was[r]), l.row(r)) })
			})
		}
		e.then(e.below(l.me, cols), func() {
			sign := e.Select(e.same(l.me, e.int(0)), sign, l.number(1))
			e.storeElement(3, e.Add(first, e.Add(lo, l.me)), sign)
		})
	})
	return nil
}

// step eliminates column c. A column without a pivot is left as it is. It carries
// the sign of the exchanges and, for each row, where it was.
func (l *luPanel) step(c kernel.Value, more []kernel.Value) []kernel.Value {
	row := l.findPivot(c)
	l.publish(l.pivot, row)
	l.publish(l.top, c)
	sign, was := more[0], more[1:]
	for r := range was {
		l.then(l.same(l.row(r), row), func() { l.StoreShared(l.moved, l.int(0), was[r]) })
		l.then(l.same(l.row(r), c), func() { l.StoreShared(l.moved, l.int(1), was[r]) })
	}
	l.Barrier()
	top, pivot := make([]kernel.Value, l.wide), make([]kernel.Value, l.wide)
	for k := range l.wide {
		top[k], pivot[k] = l.LoadShared(l.top, l.int(k)), l.LoadShared(l.pivot, l.int(k))
	}
	wasPivot, wasTop := l.LoadShared(l.moved, l.int(0)), l.LoadShared(l.moved, l.int(1))
	more[0] = l.Select(l.same(row, c), sign, l.neg(sign))
	solvable := l.not(l.zero(pivot[0]))
	for r, a := range l.a {
		isTop, isPivot := l.same(l.row(r), c), l.same(l.row(r), row)
		was[r] = l.Select(isTop, wasPivot, l.Select(isPivot, wasTop, was[r]))
		for k := range a {
			a[k] = l.Select(isTop, pivot[k], l.Select(isPivot, top[k], a[k]))
		}
		under := l.both(solvable, l.below(c, l.row(r)))
		q := l.Select(under, l.over(a[0], pivot[0]), l.number(0))
		for k := 1; k < len(a); k++ {
			a[k] = l.Select(l.ahead(c, k), l.less(q, pivot[k], a[k]), a[k])
		}
		a[0] = l.Select(under, q, a[0])
	}
	return more
}

// findPivot is the row of the element of column c, from the diagonal on, of the
// largest magnitude. As on the host, NaN is a pivot where it is on the diagonal,
// and none elsewhere.
func (l *luPanel) findPivot(c kernel.Value) kernel.Value {
	best, at := l.real(-1), c
	for r, a := range l.a {
		size := l.abs(a[0])
		first := l.both(l.same(l.row(r), c), l.Compare(scalar.Ne, size, size))
		size = l.Select(first, l.real(math.Inf(1)), size)
		better := l.both(l.both(l.inside[r], l.Compare(scalar.Le, c, l.row(r))), l.Compare(scalar.Lt, best, size))
		best, at = l.Select(better, size, best), l.Select(better, l.row(r), at)
	}
	l.StoreShared(l.sizes, l.me, best)
	l.StoreShared(l.at, l.me, at)
	l.tree(l.local, func(into, from kernel.Value) {
		x, y := l.LoadShared(l.sizes, into), l.LoadShared(l.sizes, from)
		i, k := l.LoadShared(l.at, into), l.LoadShared(l.at, from)
		better := l.either(l.Compare(scalar.Lt, x, y), l.both(l.Compare(scalar.Eq, x, y), l.below(k, i)))
		l.StoreShared(l.sizes, into, l.Select(better, y, x))
		l.StoreShared(l.at, into, l.Select(better, k, i))
	})
	return l.LoadShared(l.at, l.int(0))
}
