package synth

import (
	"slices"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// panel is a block of columns from row top and column left on, down to the last
// row, that one workgroup holds in registers: an invocation has some rows, a
// workgroup's size apart, and every column of them.
type panel struct {
	t     scalar.Type
	local int
	rows  int // of an invocation
	wide  int // columns, of which a panel may have fewer
}

// panelRows are the rows of an invocation in a kernel.
type panelRows struct {
	arith
	panel
	me     kernel.Value
	a      [][]kernel.Value // by row and column
	inside []kernel.Value   // whether a row is one of the matrix
}

// row is the number of the r-th row, from the top of the panel.
func (p *panelRows) row(r int) kernel.Value { return p.Add(p.me, p.int(r*p.local)) }

// load reads the rows, zeros beyond the matrix.
func (w panel) load(x arith, g grid, m, cols kernel.Value) *panelRows {
	p := &panelRows{arith: x, panel: w, me: x.invocation()}
	for r := range w.rows {
		p.inside = append(p.inside, x.below(p.row(r), m))
		row := make([]kernel.Value, w.wide)
		for c := range row {
			row[c] = g.loadOr(x.both(p.inside[r], x.below(x.int(c), cols)), p.row(r), x.int(c), x.number(0))
		}
		p.a = append(p.a, row)
	}
	return p
}

// columns runs step for every column c of a panel, carrying more values. The
// columns of the rows go around: the first one is c, and after its step the last,
// so that a kernel has one copy of the step.
func (p *panelRows) columns(cols kernel.Value, more []kernel.Value, step func(c kernel.Value, more []kernel.Value) []kernel.Value) []kernel.Value {
	n := p.rows * p.wide
	init := slices.Concat(slices.Concat(p.a...), more)
	out := p.Loop(p.int(0), cols, p.int(1), init, func(c kernel.Value, v []kernel.Value) []kernel.Value {
		for r := range p.a {
			p.a[r] = slices.Clone(v[r*p.wide : (r+1)*p.wide])
		}
		more := step(c, slices.Clone(v[n:]))
		var next []kernel.Value
		for _, a := range p.a {
			next = append(append(next, a[1:]...), a[0])
		}
		return append(next, more...)
	})
	for r := range p.a {
		p.a[r] = out[r*p.wide : (r+1)*p.wide]
	}
	return out[n:]
}

// ahead reports whether the k-th of the columns that go around comes after the
// first one, c.
func (p *panelRows) ahead(c kernel.Value, k int) kernel.Value {
	return p.below(p.Add(c, p.int(k)), p.int(p.wide))
}

// column is which column the k-th is at the end.
func (p *panelRows) column(cols kernel.Value, k int) kernel.Value {
	c := p.Add(cols, p.int(k))
	return p.Select(p.below(c, p.int(p.wide)), c, p.Sub(c, p.int(p.wide)))
}

// publish writes a row to a shared array, from the invocation that has it.
func (p *panelRows) publish(array int, row kernel.Value) {
	for r, a := range p.a {
		p.then(p.same(p.row(r), row), func() {
			for c, v := range a {
				p.StoreShared(array, p.int(c), v)
			}
		})
	}
}

// tree combines the entries of shared arrays of a power of two, eight at a time,
// into their first. The combination must not depend on order but for rounding.
func (e *emitter) tree(n int, combine func(into, from kernel.Value)) {
	for n > 1 {
		part := max(1, n/8)
		e.Barrier()
		e.then(e.below(e.invocation(), e.int(part)), func() {
			for from := part; from < n; from += part {
				combine(e.invocation(), e.Add(e.invocation(), e.int(from)))
			}
		})
		n = part
	}
	e.Barrier()
}
