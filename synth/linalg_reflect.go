package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// slots is how many partial sums of a column there are after the first addition.
const slots = 8

// factor appends the reflectors of columns lo to hi.
func (f *reflections) factor(lo, hi int) {
	w := &reflectWriter{f.qrPanel(f.m - lo)}
	p := &program{local: uint32(w.local), groups: f.count, body: w.write,
		flops: 4 * int64(f.count) * int64((f.m-lo)*(hi-lo)*(hi-lo)),
		bufs:  []buffer{f.buffer(f.a, Read|Write), f.buffer(f.v, Write), f.buffer(f.t, Write)}}
	p.nums = append([]int{f.count, f.m - lo, hi - lo}, places(f.a.from(lo, lo), f.v.from(lo, lo), f.t.from(lo, 0))...)
	p.key = fmt.Sprintf("reflect %v local=%d rows=%d wide=%d", w.t, w.local, w.rows, w.wide)
	f.run(p)
}

// reflectWriter writes the kernel of a panel.
type reflectWriter struct{ panel }

// reflectPanel is what the kernel works on: columns before the present one are
// reflectors, without the 1 in front.
type reflectPanel struct {
	*panelRows
	sums, top, t int // shared: sums over rows by column, the present row, T
	diagonal     []kernel.Value
	valid        kernel.Value // whether the present column is one
}

func (w *reflectWriter) write(e *emitter) error {
	x := reals{e, w.t}
	count, m, cols := e.num(), e.num(), e.num()
	a, v, t := e.grid(0), e.grid(1), e.grid(2)
	p := &reflectPanel{sums: e.Shared(w.t, w.wide*(w.local+slots)), top: e.Shared(w.t, w.wide), t: e.Shared(w.t, w.wide*w.wide)}
	matrix := e.group()
	e.when(e.below(matrix, count), func() {
		a, v, t := a.of(matrix), v.of(matrix), t.of(matrix)
		p.panelRows = w.load(x, a, m, cols)
		e.repeat(p.me, e.int(w.wide*w.wide), e.int(w.local), func(u kernel.Value) { e.StoreShared(p.t, u, x.number(0)) })
		for c := range w.wide {
			p.valid = e.both(e.below(e.int(c), cols), e.below(e.int(c), m))
			p.step(c)
		}
		for r := range w.rows {
			e.then(p.real[r], func() { p.store(r, a, v, cols) })
		}
		e.then(e.below(p.me, cols), func() {
			for k := range w.wide {
				e.then(e.below(e.int(k), cols), func() {
					t.store(p.me, e.int(k), e.LoadShared(p.t, e.Add(e.Mul(p.me, e.int(w.wide)), e.int(k))))
				})
			}
		})
	})
	return nil
}

// store writes a row of r and of the reflectors.
func (p *reflectPanel) store(r int, a, v grid, cols kernel.Value) {
	row := p.row(r)
	for c, x := range p.a[r] {
		col := p.int(c)
		p.then(p.below(col, cols), func() {
			a.store(row, col, p.Select(p.below(col, row), p.number(0), x))
			unit := p.Select(p.same(row, col), p.number(1), p.number(0))
			v.store(row, col, p.Select(p.below(col, row), x, unit))
		})
	}
}

// step clears column c beneath the diagonal.
func (p *reflectPanel) step(c int) {
	column := p.int(c)
	p.publish(p.top, column)
	sums, top := p.products(c)
	x, beneath := top[c], sums[c]
	size := p.sqrt(p.fma(x, x, beneath))
	// Without cancellation: x - size, of which the second is a quotient.
	negative := p.Compare(scalar.Le, x, p.number(0))
	first := p.Select(negative, p.Sub(x, size), p.over(p.neg(beneath), p.Add(x, size)))
	eps := p.eps()
	nothing := p.either(p.not(p.valid), p.Compare(scalar.Le, beneath, p.Mul(p.number(16*eps*eps), p.Mul(size, size))))
	zero := p.number(0)
	ratio := p.over(beneath, p.Mul(first, first))
	tau := p.Select(nothing, zero, p.over(p.number(2), p.Add(p.number(1), ratio)))
	inner := make([]kernel.Value, p.wide) // of the reflector and each column
	for k := range inner {
		inner[k] = p.Select(nothing, zero, p.Add(top[k], p.over(sums[k], first)))
	}
	p.extend(c, tau, inner)
	for r, a := range p.a {
		on, under := p.same(p.row(r), column), p.below(column, p.row(r))
		v := p.Select(p.either(nothing, p.not(under)), zero, p.over(a[c], first))
		along := p.Select(on, p.number(1), v)
		for k := c + 1; k < p.wide; k++ {
			a[k] = p.less(along, p.Mul(tau, inner[k]), a[k])
		}
		a[c] = p.Select(under, v, p.Select(p.both(on, p.not(nothing)), size, a[c]))
	}
}

// products sums the products of column c, beneath the diagonal, with all columns.
// It also gives the row of the diagonal, which has been published.
func (p *reflectPanel) products(c int) (sums, top []kernel.Value) {
	line := p.local + slots // no two slots in one bank
	for k := range p.wide {
		sum := p.number(0)
		for r, a := range p.a {
			under := p.below(p.int(c), p.row(r))
			sum = p.fma(p.Select(under, a[c], p.number(0)), a[k], sum)
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
func (p *reflectPanel) extend(c int, tau kernel.Value, inner []kernel.Value) {
	row := p.Mul(p.me, p.int(p.wide))
	p.then(p.below(p.me, p.int(c)), func() {
		sum := p.number(0)
		for k := range c {
			sum = p.fma(p.LoadShared(p.t, p.Add(row, p.int(k))), inner[k], sum)
		}
		p.StoreShared(p.t, p.Add(row, p.int(c)), p.neg(p.Mul(tau, sum)))
	})
	p.then(p.same(p.me, p.int(c)), func() { p.StoreShared(p.t, p.Add(row, p.int(c)), tau) })
}
