package qr

import (
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
)

// QR are m by n matrices made upper triangular by Householder's
// reflectors, a panel of columns at a time. The reflectors of a panel are
// I - V T V^H, where V is unit lower trapezoidal (Schreiber and Van Loan, 1989).
type QR struct {
	*factor.Job
	a, v, t factor.Matrices // what is left of a; reflectors, by column; T beneath T
	m, n    int
	panels  []int           // first columns, and the end
	sums    factor.Matrices // V^H C
	update  factor.Matrices // T V^H C (larfb of LAPACK)

	blocks []reflectorBlock // in place of panels, of large matrices
}

// qrPanel is the widest panel of m rows.
func qrPanel(j *factor.Job, m int) factor.Panel {
	p := factor.Panel{T: j.Typ, Local: 64, Rows: 1}
	local, most, registers := 256, 32/j.Words(), 128/j.Words()
	if j.Typ.Complex() && m > 8*local {
		// The code of complex elements is long: an invocation has half as many.
		local, registers = 2*local, registers/2
	}
	for p.Local < m && 2*p.Local <= min(local, j.Target.MaxInvocations) {
		p.Local *= 2
	}
	for p.Local*p.Rows < m {
		p.Rows *= 2
	}
	if p.Rows > 128 {
		j.Try(lowering.Unsupported("matrices of %d rows", m))
	}
	p.Wide = max(1, min(j.Narrow(most), registers/p.Rows))
	return p
}

// qrShares is among how many workgroups the rows of V^H C are shared out.
func qrShares(m int) int { return max(1, min(32, m/64)) }

// reflectorLeast is the most rows of matrices, often many of them, whose panels have
// a row for each invocation.
const reflectorLeast = 64

// width is how many columns a panel of m rows has.
func (f *QR) width(m int) int {
	if w, ok := newDistributed(f.Job, m, f.n); ok && f.m > reflectorLeast {
		return w.wide()
	}
	return qrPanel(f.Job, m).Wide
}

// Factor appends the reflectors of a, which becomes r, but for what is under its
// diagonal.
func Factor(j *factor.Job, a factor.Matrices, m, n int) *QR {
	k := min(m, n)
	if k >= j.Narrow(blockedSide) && !j.Typ.Complex() && a.Off == 0 && a.Row == n && a.Col == 1 {
		return reflectBlocks(j, a, m, n)
	}
	most := qrPanel(j, 1).Wide // of any panel
	f := &QR{Job: j, a: a, v: j.Fresh(k, m).Transposed(), t: j.Fresh(k, most), m: m, n: n}
	widest := max(m, n)
	f.sums, f.update = j.Fresh(qrShares(m)*most, widest), j.Fresh(most, widest)
	j.Zeros(f.v.Transposed(), k, m)
	j.Zeros(f.t, k, most)
	for lo := 0; lo < k; {
		hi := min(lo+most, k)
		f.block(lo, hi)
		f.apply(lo, hi, f.Adjoint(f.t.From(lo, 0)), a.From(lo, hi), n-hi)
		f.panels = append(f.panels, lo)
		lo = hi
	}
	f.panels = append(f.panels, k)
	return f
}

// block factors columns lo to hi. Tall matrices have panels narrower than that:
// their reflectors are applied to the rest of the block, and joined.
func (f *QR) block(lo, hi int) {
	for at := lo; at < hi; {
		end := min(at+f.width(f.m-at), hi)
		t := f.t.From(at, at-lo)
		f.factor(at, end, t)
		f.apply(at, end, f.Adjoint(t), f.a.From(at, end), hi-end)
		f.join(lo, at, end)
		at = end
	}
}

// join appends what T of columns lo to end has in its corner, where those of
// columns before at and from at on stand on its diagonal: - T V^H V' T'.
func (f *QR) join(lo, at, end int) {
	if at == lo {
		return
	}
	before, wide, shares := at-lo, end-at, qrShares(f.m-at)
	sums, update := f.sums, f.update
	sums.Row, update.Row = wide, wide
	f.Multiply(factor.BlockProduct{A: f.Adjoint(f.v.From(at, lo)), B: f.v.From(at, at), C: sums,
		M: before, N: wide, K: f.m - at, Shares: shares, Step: before * wide})
	f.applyReflectors(f.t.From(lo, 0), sums, update, before, wide, shares)
	f.Multiply(factor.BlockProduct{A: update, B: f.t.From(at, before), C: f.t.From(lo, before),
		M: before, N: wide, K: wide, Subtract: true})
}

// Form appends the first k columns of q, the product of the reflectors.
func (f *QR) Form(q factor.Matrices, k int) {
	if f.blocks != nil {
		f.formBlocks(q, k)
		return
	}
	f.Unit(q, f.m, k)
	for p := len(f.panels) - 2; p >= 0; p-- {
		lo, hi := f.panels[p], f.panels[p+1]
		f.apply(lo, hi, f.t.From(lo, 0), q.From(lo, lo), k-lo)
	}
}

// apply appends C - V T (V^H C) for the columns of C, rows from lo on.
func (f *QR) apply(lo, hi int, t, c factor.Matrices, cols int) {
	if cols == 0 {
		return
	}
	v, m, wide := f.v.From(lo, lo), f.m-lo, hi-lo
	shares := qrShares(m)
	sums, update := f.sums, f.update
	sums.Row, update.Row = cols, cols
	f.Multiply(factor.BlockProduct{A: f.Adjoint(v), B: c, C: sums, M: wide, N: cols, K: m, Shares: shares, Step: wide * cols})
	f.applyReflectors(t, sums, update, wide, cols, shares)
	f.Multiply(factor.BlockProduct{A: v, B: update, C: c, M: m, N: cols, K: wide, Subtract: true})
}

// Lower plans the factors with a diagonal of r that is not negative, or of the phases
// that its reflectors give a complex one.
func Lower(j *factor.Job) {
	s := j.Types[0].Shape
	m, n := s[len(s)-2], s[len(s)-1]
	k := min(m, n)
	if j.In.Attrs[0][0] != 0 {
		k = m
	}
	a := j.Fresh(m, n)
	back := j.Scaled(a, j.Operand(0, m, n), m, n)
	f := Factor(j, a, m, n)
	q := j.Fresh(m, k)
	f.Form(q, k)
	j.Each(factor.Elementwise{Name: "plain", To: j.Result(0, m, k), From: []factor.Matrices{q}, M: m, N: k,
		F: func(x factor.Arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
			return x.Add(from[0], x.Number(0))
		}})
	back.Row, back.Col = 0, 0
	j.Each(factor.Elementwise{Name: "upper times", To: j.Result(1, k, n), From: []factor.Matrices{a, back}, M: k, N: n,
		F: func(x factor.Arith, i, k kernel.Value, from []kernel.Value) kernel.Value {
			return x.Add(x.Mul(factor.Upper(x, i, k, from), from[1]), x.Number(0)) // no negative zero
		}})
}
