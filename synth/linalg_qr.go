package synth

import (
	"nxvk/synth/kernel"
)

// reflections are m by n matrices made upper triangular by Householder's
// reflectors, a panel of columns at a time. The reflectors of a panel are
// I - V T V^H, where V is unit lower trapezoidal (Schreiber and Van Loan, 1989).
type reflections struct {
	*linalg
	a, v, t strided // what is left of a; reflectors, by column; T beneath T
	m, n    int
	panels  []int // first columns, and the end
	sums    strided
	turned  strided

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
	most, registers := 32/j.words(), 128/j.words()
	if p.rows > 128 {
		j.try(unsupported("matrices of %d rows", m))
	}
	p.wide = max(1, min(j.narrow(most), registers/p.rows))
	return p
}

// qrShares is among how many workgroups the rows of V^H C are shared out.
func qrShares(m int) int { return max(1, min(32, m/64)) }

// mirrorLeast is the most rows of matrices, often many of them, whose panels have
// a row for each invocation.
const mirrorLeast = 64

// width is how many columns a panel of m rows has.
func (f *reflections) width(m int) int {
	if w, ok := f.mirror(m, f.n); ok && f.m > mirrorLeast {
		return w.wide()
	}
	return f.qrPanel(m).wide
}

// reflect appends the reflectors of a, which becomes r, but for what is under its
// diagonal.
func (j *linalg) reflect(a strided, m, n int) *reflections {
	k := min(m, n)
	if k >= j.narrow(blockedSide) && !j.typ.Complex() && a.off == 0 && a.row == n && a.col == 1 {
		return j.reflectBlocks(a, m, n)
	}
	most := j.qrPanel(1).wide // of any panel
	f := &reflections{linalg: j, a: a, v: j.fresh(k, m).transposed(), t: j.fresh(k, most), m: m, n: n}
	widest := max(m, n)
	f.sums, f.turned = j.fresh(qrShares(m)*most, widest), j.fresh(most, widest)
	j.zeros(f.v.transposed(), k, m)
	j.zeros(f.t, k, most)
	for lo := 0; lo < k; {
		hi := min(lo+most, k)
		f.block(lo, hi)
		f.apply(lo, hi, f.adjoint(f.t.from(lo, 0)), a.from(lo, hi), n-hi)
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
		end := min(at+f.width(f.m-at), hi)
		t := f.t.from(at, at-lo)
		f.factor(at, end, t)
		f.apply(at, end, f.adjoint(t), f.a.from(at, end), hi-end)
		f.join(lo, at, end)
		at = end
	}
}

// join appends what T of columns lo to end has in its corner, where those of
// columns before at and from at on stand on its diagonal: - T V^H V' T'.
func (f *reflections) join(lo, at, end int) {
	if at == lo {
		return
	}
	before, wide, shares := at-lo, end-at, qrShares(f.m-at)
	sums, turned := f.sums, f.turned
	sums.row, turned.row = wide, wide
	f.multiply(blockProduct{a: f.adjoint(f.v.from(at, lo)), b: f.v.from(at, at), c: sums,
		m: before, n: wide, k: f.m - at, shares: shares, step: before * wide})
	f.turn(f.t.from(lo, 0), sums, turned, before, wide, shares)
	f.multiply(blockProduct{a: turned, b: f.t.from(at, before), c: f.t.from(lo, before),
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

// apply appends C - V T (V^H C) for the columns of C, rows from lo on.
func (f *reflections) apply(lo, hi int, t, c strided, cols int) {
	if cols == 0 {
		return
	}
	v, m, wide := f.v.from(lo, lo), f.m-lo, hi-lo
	shares := qrShares(m)
	sums, turned := f.sums, f.turned
	sums.row, turned.row = cols, cols
	f.multiply(blockProduct{a: f.adjoint(v), b: c, c: sums, m: wide, n: cols, k: m, shares: shares, step: wide * cols})
	f.turn(t, sums, turned, wide, cols, shares)
	f.multiply(blockProduct{a: v, b: turned, c: c, m: m, n: cols, k: wide, subtract: true})
}

// qr plans the factors with a diagonal of r that is not negative, or of the phases
// that its reflectors give a complex one.
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
		func(x arith, _, _ kernel.Value, from []kernel.Value) kernel.Value { return x.Add(from[0], x.number(0)) }})
	back.row, back.col = 0, 0
	j.each(elementwise{"upper times", j.result(1, k, n), []strided{a, back}, k, n,
		func(x arith, i, k kernel.Value, from []kernel.Value) kernel.Value {
			return x.Add(x.Mul(upper(x, i, k, from), from[1]), x.number(0)) // no negative zero
		}})
}
