package synth

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/kernel"
)

// reflections are m by n matrices made upper triangular by Householder's
// reflectors, a panel of columns at a time. The reflectors of a panel are
// I - V T V^T, where V is unit lower trapezoidal (Schreiber and Van Loan, 1989).
type reflections struct {
	*linalg
	a, v, t strided // what is left of a; reflectors; T beneath T
	m, n    int
	panels  []int // first columns, and the end
	sums    strided
	turned  strided

	joined bool              // T of all columns is one matrix
	blocks []reflectionBlock // in place of panels, of large matrices
}

// qrPanel is the widest panel of m rows.
func (j *linalg) qrPanel(m int) panel {
	p := panel{t: j.typ, local: 64, rows: 1}
	for p.local < m && 2*p.local <= min(256, j.t.MaxInvocations) {
		p.local *= 2
	}
	for p.local*p.rows < m {
		p.rows *= 2
	}
	most, registers := 32, 128
	if j.wide == ops.F64 {
		most, registers = 16, 64
	}
	if p.rows > 128 {
		j.try(unsupported("matrices of %d rows", m))
	}
	p.wide = max(1, min(j.narrow(most), registers/p.rows))
	return p
}

// qrShares is among how many workgroups the rows of V^T C are shared out.
func qrShares(m int) int { return max(1, min(32, m/64)) }

// reflect appends the reflectors of a, which becomes r.
func (j *linalg) reflect(a strided, m, n int) *reflections {
	k := min(m, n)
	if k >= blockedSide && a.off == 0 && a.row == n && a.col == 1 {
		return j.reflectBlocks(a, m, n)
	}
	most := j.qrPanel(1).wide // of any panel
	f := &reflections{linalg: j, a: a, v: j.fresh(m, k), t: j.fresh(k, most), m: m, n: n}
	widest := max(m, n)
	f.sums, f.turned = j.fresh(qrShares(m)*most, widest), j.fresh(most, widest)
	j.zeros(f.v, m, k)
	j.zeros(f.t, k, most)
	for lo := 0; lo < k; {
		hi := min(lo+max(most, j.qrPanel(m-lo).wide), k)
		f.block(lo, hi)
		f.apply(lo, hi, f.t.from(lo, 0).transposed(), a.from(lo, hi), n-hi)
		f.panels = append(f.panels, lo)
		lo = hi
	}
	f.panels = append(f.panels, k)
	return f
}

// block factors columns lo to hi. Tall matrices have panels narrower than that:
// their reflectors are applied to what is left of the block, and joined.
func (f *reflections) block(lo, hi int) {
	for at := lo; at < hi; {
		end := min(at+f.qrPanel(f.m-at).wide, hi)
		t := f.corner(at, at, lo)
		f.factor(at, end, t)
		f.apply(at, end, t.transposed(), f.a.from(at, end), hi-end)
		f.join(lo, at, end)
		at = end
	}
}

// corner is T from a row and a column on, in the T of the columns from lo on.
func (f *reflections) corner(row, column, lo int) strided {
	if f.joined {
		lo = 0
	}
	return f.t.from(row, column-lo)
}

// join appends what T of columns lo to end has in its corner, where those of
// columns before at and from at on stand on its diagonal: - T V^T V' T'.
func (f *reflections) join(lo, at, end int) {
	if at == lo {
		return
	}
	before, wide, shares := at-lo, end-at, qrShares(f.m-at)
	sums, turned := f.sums, f.turned
	sums.row, turned.row = wide, wide
	f.multiply(blockProduct{a: f.v.from(at, lo).transposed(), b: f.v.from(at, at), c: sums,
		m: before, n: wide, k: f.m - at, shares: shares, step: before * wide})
	f.turn(f.corner(lo, lo, lo), sums, turned, before, wide, shares)
	f.multiply(blockProduct{a: turned, b: f.corner(at, at, lo), c: f.corner(lo, at, lo),
		m: before, n: wide, k: wide, subtract: true})
}

// form appends the first k columns of q, the product of the reflectors.
func (f *reflections) form(q strided, k int) {
	if f.blocks != nil {
		f.formBlocks(q, k)
		return
	}
	f.unit(q, f.m, k)
	for p := len(f.panels) - 2; p >= 0; p-- {
		lo, hi := f.panels[p], f.panels[p+1]
		f.apply(lo, hi, f.t.from(lo, 0), q.from(lo, lo), k-lo)
	}
}

// apply appends C - V T (V^T C) for the columns of C, rows from lo on.
func (f *reflections) apply(lo, hi int, t, c strided, cols int) {
	if cols == 0 {
		return
	}
	v, m, wide := f.v.from(lo, lo), f.m-lo, hi-lo
	shares := qrShares(m)
	sums, turned := f.sums, f.turned
	sums.row, turned.row = cols, cols
	f.multiply(blockProduct{a: v.transposed(), b: c, c: sums, m: wide, n: cols, k: m, shares: shares, step: wide * cols})
	f.turn(t, sums, turned, wide, cols, shares)
	f.multiply(blockProduct{a: v, b: turned, c: c, m: m, n: cols, k: wide, subtract: true})
}

// turn appends the product of T and the sum of all shares of V^T C. An invocation
// has a column.
func (f *reflections) turn(t, sums, to strided, wide, cols, shares int) {
	width := panelWidth(wide, 32)
	groups := (cols + updateLocal - 1) / updateLocal
	p := &program{local: updateLocal, groups: f.count * groups, flops: int64(f.count * wide * wide * cols),
		bufs: []buffer{f.buffer(t, Read), f.buffer(sums, Read), f.buffer(to, Write)}}
	p.nums = append([]int{f.count, groups, wide, cols, shares}, places(t, sums, to)...)
	p.key = fmt.Sprintf("turn %v wide=%d", f.typ, width)
	typ := f.typ
	p.body = func(e *emitter) error { return writeTurn(reals{e, typ}, width) }
	f.run(p)
}

func writeTurn(x reals, width int) error {
	count, groups, wide, cols, shares := x.num(), x.num(), x.num(), x.num(), x.num()
	t, from, to := x.grid(0), x.grid(1), x.grid(2)
	matrix, part := x.divide(x.group(), groups)
	t, from, to = t.of(matrix), from.of(matrix), to.of(matrix)
	shared := x.Shared(x.t, width*width)
	x.when(x.below(matrix, count), func() {
		x.spread(width*width, func(u kernel.Value) kernel.Value {
			i, k := x.divide(u, x.int(width))
			return t.loadOr(x.both(x.below(i, wide), x.below(k, wide)), i, k, x.number(0))
		}, func(u, v kernel.Value) { x.StoreShared(shared, u, v) })
		x.Barrier()
		col := x.Add(x.Mul(part, x.int(x.local)), x.invocation())
		x.then(x.below(col, cols), func() {
			init := make([]kernel.Value, width)
			for k := range init {
				init[k] = x.number(0)
			}
			w := x.Loop(x.int(0), shares, x.int(1), init, func(s kernel.Value, c []kernel.Value) []kernel.Value {
				next := make([]kernel.Value, width)
				for k := range next {
					next[k] = x.Add(c[k], from.loadOr(x.below(x.int(k), wide), x.Add(x.Mul(s, wide), x.int(k)), col, x.number(0)))
				}
				return next
			})
			for i := range width {
				sum := x.number(0)
				for k := range width {
					sum = x.fma(x.LoadShared(shared, x.int(i*width+k)), w[k], sum)
				}
				x.then(x.below(x.int(i), wide), func() { to.store(x.int(i), col, sum) })
			}
		})
	})
	return nil
}

// qr plans the factors with a diagonal of r that is not negative.
func (j *linalg) qr() {
	s := j.types[0].Shape
	m, n := s[len(s)-2], s[len(s)-1]
	k := min(m, n)
	if j.in.Attrs[0][0] != 0 {
		k = m
	}
	a := j.fresh(m, n)
	back := j.scaled(a, j.operand(0, m, n), m, n)
	f := j.reflect(a, m, n)
	q := j.fresh(m, k)
	f.form(q, k)
	j.each(elementwise{"plain", j.result(0, m, k), []strided{q}, m, k,
		func(x reals, _, _ kernel.Value, from []kernel.Value) kernel.Value { return x.Add(from[0], x.number(0)) }})
	j.times(j.result(1, k, n), a, back, k, n)
}
