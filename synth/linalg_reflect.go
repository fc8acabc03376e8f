package synth

import (
	"fmt"

	"nxvk/synth/kernel"
)

// slots is how many partial sums of a column there are after the first addition.
const slots = 8

// factor appends the reflectors of columns lo to hi, and their T.
func (f *reflections) factor(lo, hi int, t strided) {
	if w, ok := f.mirror(f.m-lo, hi-lo); ok && f.m > mirrorLeast {
		f.mirrored(w, lo, hi, t)
		return
	}
	w := &reflectWriter{f.qrPanel(f.m - lo)}
	w.wide = panelWidth(hi-lo, w.wide)
	p := &program{local: uint32(w.local), groups: f.count, body: w.write,
		flops: 4 * int64(f.count) * int64((f.m-lo)*(hi-lo)*(hi-lo)),
		bufs:  []buffer{f.buffer(f.a, Read|Write), f.buffer(f.v, Write), f.buffer(f.t, Write)}}
	p.nums = append([]int{f.count, f.m - lo, hi - lo}, places(f.a.from(lo, lo), f.v.from(lo, lo), t)...)
	p.key = fmt.Sprintf("reflect %v local=%d rows=%d wide=%d", w.t, w.local, w.rows, w.wide)
	f.run(p)
}

// reflectWriter writes the kernel of a panel.
type reflectWriter struct{ panel }

// reflectPanel is what the kernel works on: columns before the present one are
// reflectors, without the 1 in front. A row of T has as many zeros before it.
type reflectPanel struct {
	*panelRows
	last         kernel.Value // row of the matrix
	sums, top, t int          // shared: sums over rows by column, the present row, T
}

func (w *reflectWriter) write(e *emitter) error {
	x := arith{e, w.t}
	count, m, cols := e.num(), e.num(), e.num()
	a, v, t := e.grid(0), e.grid(1), e.grid(2)
	p := &reflectPanel{sums: e.Shared(w.t, w.wide*(w.local+slots)), top: e.Shared(w.t, w.wide), t: e.Shared(w.t, 2*w.wide*w.wide)}
	p.last = e.Sub(m, e.int(1))
	matrix := e.group()
	e.when(e.below(matrix, count), func() {
		a, v, t := a.of(matrix), v.of(matrix), t.of(matrix)
		p.panelRows = w.load(x, a, m, cols)
		e.spread(2*w.wide*w.wide, func(kernel.Value) kernel.Value { return x.number(0) },
			func(u, zero kernel.Value) { e.StoreShared(p.t, u, zero) })
		p.columns(cols, nil, p.step)
		for r := range w.rows {
			e.then(p.inside[r], func() { p.store(r, a, v, cols) })
		}
		e.then(e.below(p.me, cols), func() {
			for k := range w.wide {
				e.then(e.below(e.int(k), cols), func() {
					t.store(p.me, e.int(k), e.LoadShared(p.t, e.Add(e.Mul(p.me, e.int(2*w.wide)), e.int(w.wide+k))))
				})
			}
		})
	})
	return nil
}

// store writes a row of r and of the reflectors.
func (p *reflectPanel) store(r int, a, v grid, cols kernel.Value) {
	row := p.row(r)
	for k, x := range p.a[r] {
		col := p.column(cols, k)
		p.then(p.below(col, cols), func() {
			a.store(row, col, p.Select(p.below(col, row), p.number(0), x))
			unit := p.Select(p.same(row, col), p.number(1), p.number(0))
			v.store(row, col, p.Select(p.below(col, row), x, unit))
		})
	}
}

// step clears column c beneath the diagonal.
func (p *reflectPanel) step(c kernel.Value, _ []kernel.Value) []kernel.Value {
	p.publish(p.top, c)
	sums, top := p.products(c)
	h := p.householder(top[0], sums[0], p.same(c, p.last))
	size, tau, inverse, nothing := h.size, h.tau, h.inverse, h.nothing
	zero := p.number(0)
	inner := make([]kernel.Value, p.wide) // of the reflector and each column
	for k := range inner {
		inner[k] = p.Select(nothing, zero, p.fma(sums[k], p.conj(inverse), top[k]))
	}
	p.extend(c, tau, inner)
	for r, a := range p.a {
		on, under := p.same(p.row(r), c), p.below(c, p.row(r))
		v := p.Select(p.either(nothing, p.not(under)), zero, p.Mul(a[0], inverse))
		along := p.Select(on, tau, p.Mul(tau, v))
		for k := 1; k < p.wide; k++ {
			a[k] = p.Select(p.ahead(c, k), p.less(along, inner[k], a[k]), a[k])
		}
		a[0] = p.Select(under, v, p.Select(p.both(on, p.not(nothing)), size, a[0]))
	}
	return nil
}

// products sums the products of column c, beneath the diagonal, with all columns.
// It also gives the row of the diagonal, which has been published.
func (p *reflectPanel) products(c kernel.Value) (sums, top []kernel.Value) {
	line := p.local + slots // no two slots in one bank
	for k := range p.wide {
		sum := p.number(0)
		for r, a := range p.a {
			under := p.below(c, p.row(r))
			sum = p.fma(p.conj(p.Select(under, a[0], p.number(0))), a[k], sum)
		}
		p.StoreShared(p.sums, p.Add(p.me, p.int(k*line)), sum)
	}
	p.Barrier()
	p.repeat(p.me, p.int(p.wide*slots), p.int(p.local), func(u kernel.Value) {
		k, slot := p.divide(u, p.int(slots))
		at := p.Add(p.Mul(k, p.int(line)), slot)
		sum := p.LoadShared(p.sums, at)
		for q := slots; q < p.local; q += slots {
			sum = p.Add(sum, p.LoadShared(p.sums, p.Add(at, p.int(q))))
		}
		p.StoreShared(p.sums, at, sum)
	})
	p.Barrier()
	p.then(p.below(p.me, p.int(p.wide)), func() {
		at := p.Mul(p.me, p.int(line))
		sum := p.LoadShared(p.sums, at)
		for q := 1; q < slots; q++ {
			sum = p.Add(sum, p.LoadShared(p.sums, p.Add(at, p.int(q))))
		}
		p.StoreShared(p.sums, at, sum)
	})
	p.Barrier()
	for k := range p.wide {
		sums = append(sums, p.LoadShared(p.sums, p.int(k*line)))
		top = append(top, p.LoadShared(p.top, p.int(k)))
	}
	// What the next column needs is written where this is read.
	p.Barrier()
	return sums, top
}

// extend adds column c to T. An invocation has a row of T, which no other reads.
// Of the columns that go around, those that come are met by the zeros before it.
func (p *reflectPanel) extend(c, tau kernel.Value, inner []kernel.Value) {
	row := p.Mul(p.me, p.int(2*p.wide))
	at := p.Add(row, p.Add(c, p.int(p.wide)))
	p.then(p.below(p.me, c), func() {
		sum := p.number(0)
		for k := 1; k < p.wide; k++ {
			sum = p.fma(p.LoadShared(p.t, p.Add(p.Add(row, c), p.int(k))), p.conj(inner[k]), sum)
		}
		p.StoreShared(p.t, at, p.neg(p.Mul(tau, sum)))
	})
	p.then(p.same(p.me, c), func() { p.StoreShared(p.t, at, tau) })
}
