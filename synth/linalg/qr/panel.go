package qr

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
)

// slots is how many partial sums of a column there are after the first addition.
const slots = 8

// factor appends the reflectors of columns lo to hi, and their T.
func (f *QR) factor(lo, hi int, t factor.Matrices) {
	if w, ok := newDistributed(f.Job, f.m-lo, hi-lo); ok && f.m > reflectorLeast {
		f.factorDistributed(w, lo, hi, t)
		return
	}
	w := &reflectWriter{qrPanel(f.Job, f.m-lo)}
	w.Wide = factor.PanelWidth(hi-lo, w.Wide)
	p := &codegen.Program{Local: uint32(w.Local), Groups: f.Count, Body: w.write,
		Flops:   4 * int64(f.Count) * int64((f.m-lo)*(hi-lo)*(hi-lo)),
		Buffers: []codegen.Buffer{f.Buffer(f.a, lowering.Read|lowering.Write), f.Buffer(f.v, lowering.Write), f.Buffer(f.t, lowering.Write)}}
	p.Numbers = append([]int{f.Count, f.m - lo, hi - lo}, factor.Places(f.a.From(lo, lo), f.v.From(lo, lo), t)...)
	p.Key = fmt.Sprintf("reflect %v local=%d rows=%d wide=%d", w.T, w.Local, w.Rows, w.Wide)
	f.Run(p)
}

// reflectWriter writes the kernel of a panel.
type reflectWriter struct{ factor.Panel }

// reflectPanel is what the kernel works on: columns before the present one are
// reflectors, without the 1 in front. A row of T has as many zeros before it.
type reflectPanel struct {
	*factor.PanelRows
	last         kernel.Value // row of the matrix
	sums, top, t int          // shared: sums over rows by column, the present row, T
}

func (w *reflectWriter) write(e *codegen.Emitter) error {
	x := factor.Arith{Emitter: e, T: w.T}
	count, m, cols := e.NextNumber(), e.NextNumber(), e.NextNumber()
	a, v, t := factor.GridOf(e, 0), factor.GridOf(e, 1), factor.GridOf(e, 2)
	p := &reflectPanel{sums: e.Shared(w.T, w.Wide*(w.Local+slots)), top: e.Shared(w.T, w.Wide), t: e.Shared(w.T, 2*w.Wide*w.Wide)}
	p.last = e.Sub(m, e.Index(1))
	matrix := e.Group()
	e.When(e.IsLess(matrix, count), func() {
		a, v, t := a.Of(matrix), v.Of(matrix), t.Of(matrix)
		p.PanelRows = w.LoadRows(x, a, m, cols)
		e.DealOut(2*w.Wide*w.Wide, func(kernel.Value) kernel.Value { return x.Number(0) },
			func(u, zero kernel.Value) { e.StoreShared(p.t, u, zero) })
		p.Columns(cols, nil, p.step)
		for r := range w.Rows {
			e.IfThen(p.Inside[r], func() { p.store(r, a, v, cols) })
		}
		e.IfThen(e.IsLess(p.Me, cols), func() {
			for k := range w.Wide {
				e.IfThen(e.IsLess(e.Index(k), cols), func() {
					t.Store(p.Me, e.Index(k), e.LoadShared(p.t, e.Add(e.Mul(p.Me, e.Index(2*w.Wide)), e.Index(w.Wide+k))))
				})
			}
		})
	})
	return nil
}

// store writes a row of r and of the reflectors.
func (p *reflectPanel) store(r int, a, v factor.Grid, cols kernel.Value) {
	row := p.Row(r)
	for k, x := range p.A[r] {
		col := p.Column(cols, k)
		p.IfThen(p.IsLess(col, cols), func() {
			a.Store(row, col, p.Select(p.IsLess(col, row), p.Number(0), x))
			unit := p.Select(p.IsEqual(row, col), p.Number(1), p.Number(0))
			v.Store(row, col, p.Select(p.IsLess(col, row), x, unit))
		})
	}
}

// step clears column c beneath the diagonal.
func (p *reflectPanel) step(c kernel.Value, _ []kernel.Value) []kernel.Value {
	p.Publish(p.top, c)
	sums, top := p.products(c)
	h := newHouseholder(p.PanelRows.Arith, top[0], sums[0], p.IsEqual(c, p.last))
	size, tau, inverse, nothing := h.size, h.tau, h.inverse, h.nothing
	across := factor.Conj(p.PanelRows.Arith.Emitter, h.across)
	zero := p.Number(0)
	inner := make([]kernel.Value, p.Wide) // of the reflector and each column
	for k := range inner {
		inner[k] = p.Select(nothing, zero, p.Fma(sums[k], across, top[k]))
	}
	p.extend(c, tau, inner)
	for r, a := range p.A {
		on, under := p.IsEqual(p.Row(r), c), p.IsLess(c, p.Row(r))
		v := p.Select(p.Or2(nothing, p.Not(under)), zero, p.Mul(a[0], inverse))
		along := p.Select(on, tau, p.Mul(tau, v))
		for k := 1; k < p.Wide; k++ {
			a[k] = p.Select(p.Ahead(c, k), p.Less(along, inner[k], a[k]), a[k])
		}
		a[0] = p.Select(under, v, p.Select(p.And2(on, p.Not(nothing)), size, a[0]))
	}
	return nil
}

// products sums the lifted products of column c, beneath the diagonal, with all columns.
// It also gives the row of the diagonal, which has been published.
func (p *reflectPanel) products(c kernel.Value) (sums, top []kernel.Value) {
	line := p.Local + slots // no two slots in one bank
	up := make([]kernel.Value, len(p.A))
	for r, a := range p.A {
		v := p.Select(p.IsLess(c, p.Row(r)), a[0], p.Number(0))
		up[r] = factor.Conj(p.PanelRows.Arith.Emitter, lifted(p.PanelRows.Arith, v))
	}
	for k := range p.Wide {
		sum := p.Number(0)
		for r, a := range p.A {
			sum = p.Fma(up[r], a[k], sum)
		}
		p.StoreShared(p.sums, p.Add(p.Me, p.Index(k*line)), sum)
	}
	p.Barrier()
	p.For(p.Me, p.Index(p.Wide*slots), p.Index(p.Local), func(u kernel.Value) {
		k, slot := p.DivMod(u, p.Index(slots))
		at := p.Add(p.Mul(k, p.Index(line)), slot)
		sum := p.LoadShared(p.sums, at)
		for q := slots; q < p.Local; q += slots {
			sum = p.Add(sum, p.LoadShared(p.sums, p.Add(at, p.Index(q))))
		}
		p.StoreShared(p.sums, at, sum)
	})
	p.Barrier()
	p.IfThen(p.IsLess(p.Me, p.Index(p.Wide)), func() {
		at := p.Mul(p.Me, p.Index(line))
		sum := p.LoadShared(p.sums, at)
		for q := 1; q < slots; q++ {
			sum = p.Add(sum, p.LoadShared(p.sums, p.Add(at, p.Index(q))))
		}
		p.StoreShared(p.sums, at, sum)
	})
	p.Barrier()
	for k := range p.Wide {
		sums = append(sums, p.LoadShared(p.sums, p.Index(k*line)))
		top = append(top, p.LoadShared(p.top, p.Index(k)))
	}
	// What the next column needs is written where this is read.
	p.Barrier()
	return sums, top
}

// extend adds column c to T. An invocation has a row of T, which no other reads.
// Of the columns that go around, those that come are met by the zeros before it.
func (p *reflectPanel) extend(c, tau kernel.Value, inner []kernel.Value) {
	row := p.Mul(p.Me, p.Index(2*p.Wide))
	at := p.Add(row, p.Add(c, p.Index(p.Wide)))
	p.IfThen(p.IsLess(p.Me, c), func() {
		sum := p.Number(0)
		for k := 1; k < p.Wide; k++ {
			sum = p.Fma(p.LoadShared(p.t, p.Add(p.Add(row, c), p.Index(k))), factor.Conj(p.PanelRows.Arith.Emitter, inner[k]), sum)
		}
		p.StoreShared(p.t, at, p.Neg(p.Mul(tau, sum)))
	})
	p.IfThen(p.IsEqual(p.Me, c), func() { p.StoreShared(p.t, at, tau) })
}
