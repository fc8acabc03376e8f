package factor

import (
	"slices"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// PanelWidth is how many columns a kernel has for a panel of n: there are few
// kernels.
func PanelWidth(n, most int) int {
	wide := 4
	for wide < n && wide < most {
		wide *= 2
	}
	return min(wide, most)
}

// Panel is a block of columns from row top and column left on, down to the last
// row, that one workgroup holds in registers: an invocation has some rows, a
// workgroup's size apart, and every column of them.
type Panel struct {
	T     scalar.Type
	Local int
	Rows  int // of an invocation
	Wide  int // columns at most
}

// PanelRows are the rows of an invocation in a kernel.
type PanelRows struct {
	Arith
	Panel
	Me     kernel.Value
	A      [][]kernel.Value // by row and column
	Inside []kernel.Value   // whether a row is one of the matrix
}

// Row is the number of the r-th row, from the top of the panel.
func (p *PanelRows) Row(r int) kernel.Value { return p.Add(p.Me, p.Index(r*p.Local)) }

// LoadRows reads the rows, zeros beyond the matrix.
func (w Panel) LoadRows(x Arith, g Grid, m, cols kernel.Value) *PanelRows {
	p := &PanelRows{Arith: x, Panel: w, Me: x.Invocation()}
	for r := range w.Rows {
		p.Inside = append(p.Inside, x.IsLess(p.Row(r), m))
		row := make([]kernel.Value, w.Wide)
		for c := range row {
			row[c] = g.LoadOr(x.And2(p.Inside[r], x.IsLess(x.Index(c), cols)), p.Row(r), x.Index(c), x.Number(0))
		}
		p.A = append(p.A, row)
	}
	return p
}

// Columns runs step for every column c of a panel, carrying more values. The
// columns of the rows go around: the first one is c, and after its step the last,
// so that a kernel has one copy of the step.
func (p *PanelRows) Columns(cols kernel.Value, more []kernel.Value, step func(c kernel.Value, more []kernel.Value) []kernel.Value) []kernel.Value {
	n := p.Rows * p.Wide
	init := slices.Concat(slices.Concat(p.A...), more)
	out := p.Loop(p.Index(0), cols, p.Index(1), init, func(c kernel.Value, v []kernel.Value) []kernel.Value {
		for r := range p.A {
			p.A[r] = slices.Clone(v[r*p.Wide : (r+1)*p.Wide])
		}
		more := step(c, slices.Clone(v[n:]))
		var next []kernel.Value
		for _, a := range p.A {
			next = append(append(next, a[1:]...), a[0])
		}
		return append(next, more...)
	})
	for r := range p.A {
		p.A[r] = out[r*p.Wide : (r+1)*p.Wide]
	}
	return out[n:]
}

// Ahead reports whether the k-th of the columns that go around comes after the
// first one, c.
func (p *PanelRows) Ahead(c kernel.Value, k int) kernel.Value {
	return p.IsLess(p.Add(c, p.Index(k)), p.Index(p.Wide))
}

// Column is which column the k-th is at the end.
func (p *PanelRows) Column(cols kernel.Value, k int) kernel.Value {
	c := p.Add(cols, p.Index(k))
	return p.Select(p.IsLess(c, p.Index(p.Wide)), c, p.Sub(c, p.Index(p.Wide)))
}

// Publish writes a row to a shared array, from the invocation that has it.
func (p *PanelRows) Publish(array int, row kernel.Value) {
	for r, a := range p.A {
		p.IfThen(p.IsEqual(p.Row(r), row), func() {
			for c, v := range a {
				p.StoreShared(array, p.Index(c), v)
			}
		})
	}
}
