package qr

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
)

// applyReflectors appends the product of T and the sum of all shares of V^T C.
func (f *QR) applyReflectors(t, sums, to factor.Matrices, wide, cols, shares int) {
	w := &reflectorWriter{width: factor.PanelWidth(wide, 32), conj: t.Conj}
	w.down = min(8, w.width, f.Job.Target.MaxInvocations/applyAcross)
	groups := (cols + applyAcross - 1) / applyAcross
	p := &codegen.Program{Local: uint32(applyAcross * w.down), Groups: f.Count * groups, Flops: int64(f.Count * wide * wide * cols),
		Buffers: []codegen.Buffer{f.Buffer(t, lowering.Read), f.Buffer(sums, lowering.Read), f.Buffer(to, lowering.Write)}}
	p.Numbers = append([]int{f.Count, groups, wide, cols, shares}, factor.Places(t, sums, to)...)
	p.Key = fmt.Sprintf("larfb %v wide=%d down=%d conj=%v", f.Typ, w.width, w.down, w.conj)
	typ := f.Typ
	p.Body = func(e *codegen.Emitter) error { return w.write(factor.Arith{Emitter: e, T: typ}) }
	f.Run(p)
}

// reflectorWriter writes the kernel: a workgroup has some columns, an invocation some
// rows of one, which it sums for all of them to multiply.
type reflectorWriter struct {
	width, down int
	conj        bool // T is that of the adjoint
}

const (
	applyAcross = 32 // columns of a workgroup
	applyAhead  = 4  // shares that are fetched together
)

func (w *reflectorWriter) write(x factor.Arith) error {
	count, groups, wide, cols, shares := x.NextNumber(), x.NextNumber(), x.NextNumber(), x.NextNumber(), x.NextNumber()
	t, from, to := factor.GridOf(x.Emitter, 0), factor.GridOf(x.Emitter, 1), factor.GridOf(x.Emitter, 2)
	t.Conj = w.conj
	matrix, part := x.DivMod(x.Group(), groups)
	t, from, to = t.Of(matrix), from.Of(matrix), to.Of(matrix)
	factor, summed := x.Shared(x.T, w.width*w.width), x.Shared(x.T, w.width*applyAcross)
	x.When(x.IsLess(matrix, count), func() {
		x.DealOut(w.width*w.width, func(u kernel.Value) kernel.Value {
			i, k := x.DivMod(u, x.Index(w.width))
			return t.LoadOr(x.And2(x.IsLess(i, wide), x.IsLess(k, wide)), i, k, x.Number(0))
		}, func(u, v kernel.Value) { x.StoreShared(factor, u, v) })
		row, within := x.DivMod(x.Invocation(), x.Index(applyAcross))
		col := x.Add(x.Mul(part, x.Index(applyAcross)), within)
		for i, v := range w.sum(x, from, row, x.Min(col, x.Sub(cols, x.Index(1))), wide, shares) {
			at := x.Add(row, x.Index(i*w.down))
			x.StoreShared(summed, x.Add(x.Mul(at, x.Index(applyAcross)), within), v)
		}
		x.Barrier()
		for i := range w.width / w.down {
			at, sum := x.Add(row, x.Index(i*w.down)), x.Number(0)
			for k := range w.width {
				v := x.LoadShared(summed, x.Add(within, x.Index(k*applyAcross)))
				sum = x.Fma(x.LoadShared(factor, x.Add(x.Mul(at, x.Index(w.width)), x.Index(k))), v, sum)
			}
			x.IfThen(x.And2(x.IsLess(at, wide), x.IsLess(col, cols)), func() { to.Store(at, col, sum) })
		}
	})
	return nil
}

// sum adds up the shares of the rows of an invocation, zeros beyond the last row.
func (w *reflectorWriter) sum(x factor.Arith, from factor.Grid, row, col, wide, shares kernel.Value) []kernel.Value {
	init := make([]kernel.Value, w.width/w.down)
	for i := range init {
		init[i] = x.Number(0)
	}
	one := x.Index(1)
	return x.Loop(x.Index(0), shares, x.Index(applyAhead), init, func(s kernel.Value, sums []kernel.Value) []kernel.Value {
		var vs []kernel.Value
		for a := range applyAhead {
			share := x.Add(s, x.Index(a))
			for i := range init {
				at := x.Add(row, x.Index(i*w.down))
				inside := x.And2(x.IsLess(share, shares), x.IsLess(at, wide))
				first := x.Mul(x.Min(share, x.Sub(shares, one)), wide)
				v := from.Load(x.Add(first, x.Min(at, x.Sub(wide, one))), col)
				vs = append(vs, x.Select(inside, v, x.Number(0)))
			}
		}
		next := append([]kernel.Value(nil), sums...)
		for u, v := range vs {
			next[u%len(next)] = x.Add(next[u%len(next)], v)
		}
		return next
	})
}
