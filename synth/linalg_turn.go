package synth

import (
	"fmt"

	"nxvk/synth/kernel"
)

// turn appends the product of T and the sum of all shares of V^T C.
func (f *reflections) turn(t, sums, to strided, wide, cols, shares int) {
	w := &turnWriter{width: panelWidth(wide, 32), conj: t.conj}
	w.down = min(8, w.width, f.linalg.t.MaxInvocations/turnAcross)
	groups := (cols + turnAcross - 1) / turnAcross
	p := &program{local: uint32(turnAcross * w.down), groups: f.count * groups, flops: int64(f.count * wide * wide * cols),
		bufs: []buffer{f.buffer(t, Read), f.buffer(sums, Read), f.buffer(to, Write)}}
	p.nums = append([]int{f.count, groups, wide, cols, shares}, places(t, sums, to)...)
	p.key = fmt.Sprintf("turn %v wide=%d down=%d conj=%v", f.typ, w.width, w.down, w.conj)
	typ := f.typ
	p.body = func(e *emitter) error { return w.write(arith{e, typ}) }
	f.run(p)
}

// turnWriter writes the kernel: a workgroup has some columns, an invocation some
// rows of one, which it sums for all of them to multiply.
type turnWriter struct {
	width, down int
	conj        bool // T is that of the adjoint
}

const (
	turnAcross = 32 // columns of a workgroup
	turnAhead  = 4  // shares that are fetched together
)

func (w *turnWriter) write(x arith) error {
	count, groups, wide, cols, shares := x.num(), x.num(), x.num(), x.num(), x.num()
	t, from, to := x.grid(0), x.grid(1), x.grid(2)
	t.conj = w.conj
	matrix, part := x.divide(x.group(), groups)
	t, from, to = t.of(matrix), from.of(matrix), to.of(matrix)
	factor, summed := x.Shared(x.t, w.width*w.width), x.Shared(x.t, w.width*turnAcross)
	x.when(x.below(matrix, count), func() {
		x.spread(w.width*w.width, func(u kernel.Value) kernel.Value {
			i, k := x.divide(u, x.int(w.width))
			return t.loadOr(x.both(x.below(i, wide), x.below(k, wide)), i, k, x.number(0))
		}, func(u, v kernel.Value) { x.StoreShared(factor, u, v) })
		row, lane := x.divide(x.invocation(), x.int(turnAcross))
		col := x.Add(x.Mul(part, x.int(turnAcross)), lane)
		for i, v := range w.sum(x, from, row, x.least(col, x.Sub(cols, x.int(1))), wide, shares) {
			at := x.Add(row, x.int(i*w.down))
			x.StoreShared(summed, x.Add(x.Mul(at, x.int(turnAcross)), lane), v)
		}
		x.Barrier()
		for i := range w.width / w.down {
			at, sum := x.Add(row, x.int(i*w.down)), x.number(0)
			for k := range w.width {
				v := x.LoadShared(summed, x.Add(lane, x.int(k*turnAcross)))
				sum = x.fma(x.LoadShared(factor, x.Add(x.Mul(at, x.int(w.width)), x.int(k))), v, sum)
			}
			x.then(x.both(x.below(at, wide), x.below(col, cols)), func() { to.store(at, col, sum) })
		}
	})
	return nil
}

// sum adds up the shares of the rows of an invocation, zeros beyond the last row.
func (w *turnWriter) sum(x arith, from grid, row, col, wide, shares kernel.Value) []kernel.Value {
	init := make([]kernel.Value, w.width/w.down)
	for i := range init {
		init[i] = x.number(0)
	}
	one := x.int(1)
	return x.Loop(x.int(0), shares, x.int(turnAhead), init, func(s kernel.Value, sums []kernel.Value) []kernel.Value {
		var vs []kernel.Value
		for a := range turnAhead {
			share := x.Add(s, x.int(a))
			for i := range init {
				at := x.Add(row, x.int(i*w.down))
				inside := x.both(x.below(share, shares), x.below(at, wide))
				first := x.Mul(x.least(share, x.Sub(shares, one)), wide)
				v := from.load(x.Add(first, x.least(at, x.Sub(wide, one))), col)
				vs = append(vs, x.Select(inside, v, x.number(0)))
			}
		}
		next := append([]kernel.Value(nil), sums...)
		for u, v := range vs {
			next[u%len(next)] = x.Add(next[u%len(next)], v)
		}
		return next
	})
}
