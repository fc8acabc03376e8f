package triangular

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// rowsWriter writes a kernel in which an invocation has a row of a block of unknowns, for one
// right-hand side. An unknown is found by the invocation of its row, which tells the others.
// With lanes, the workgroup goes through all blocks: those before a block are taken off its rows
// first, and each row is shared out among lanes.
type rowsWriter struct {
	t     scalar.Type
	wide  int // unknowns of a block
	sides int // of a workgroup
	lanes int // of a row; 1 where there is one block
	most  int // unknowns in all
	unit  bool
}

const (
	rowSides  = 4       // right-hand sides of a workgroup
	manySides = 1 << 13 // right-hand sides that keep a device busy with an invocation each

	chainWide  = 32      // unknowns of a block
	chainLanes = 16      // that share a row of one right-hand side
	chainBytes = 1 << 14 // of the solution of a workgroup
	chainSides = 4
)

// powerOf is the least power of two that is not below n, at most so many.
func powerOf(n, most int) int {
	p := 1
	for p < n && p < most {
		p *= 2
	}
	return p
}

// chain appends one kernel that finds all unknowns, a workgroup for each right-hand side or some,
// and reports whether it has: where right-hand sides are few, the products between blocks are
// less work than the dispatches that they would be.
func (s *substitution) chain(b factor.Matrices) bool {
	size := s.Wide.Size()
	w := &rowsWriter{t: s.Typ, wide: chainWide, sides: powerOf(s.sides, chainSides), most: chainBytes / 4, unit: s.t.Unit}
	w.lanes = chainLanes / w.sides
	w.most /= w.sides
	shared := size * (w.wide*w.wide + w.most*w.sides + w.wide*chainLanes)
	if s.Typ.Complex() || s.sides > chainSides || s.t.N > w.most || s.t.N <= s.wide || shared > s.Target.SharedMemory || w.local() > s.Target.MaxInvocations {
		return false
	}
	s.rows(w, s.t.T, b, s.x, s.t.N)
	return true
}

// rowBlock is block with an invocation a row; ok is false where that does not suit.
func (s *substitution) rowBlock(t, b, x factor.Matrices, n int) (ok bool) {
	w := &rowsWriter{t: s.Typ, wide: factor.PanelWidth(n, triangularWide), sides: powerOf(s.sides, rowSides), lanes: 1, unit: s.t.Unit}
	w.most = w.wide
	if s.Typ.Complex() || s.Count*s.sides >= manySides || w.local() > s.Target.MaxInvocations {
		return false
	}
	s.rows(w, t, b, x, n)
	return true
}

func (w *rowsWriter) local() int { return w.wide * w.sides * w.lanes }

// rows appends the kernel of a writer.
func (s *substitution) rows(w *rowsWriter, t, b, x factor.Matrices, n int) {
	groups := (s.sides + w.sides - 1) / w.sides
	p := &codegen.Program{Local: uint32(w.local()), Groups: s.Count * groups, Body: w.write,
		Flops:   int64(s.Count) * int64(s.sides*n*n),
		Buffers: []codegen.Buffer{s.Buffer(t, lowering.Read), s.Buffer(b, lowering.Read), s.Buffer(x, lowering.Write)}}
	p.Numbers = append([]int{s.Count, groups, n, s.sides}, factor.Places(t, b, x)...)
	p.Key = fmt.Sprintf("substitute rows %v wide=%d sides=%d lanes=%d most=%d unit=%v", w.t, w.wide, w.sides, w.lanes, w.most, w.unit)
	s.Run(p)
}

func (w *rowsWriter) write(e *codegen.Emitter) error {
	x := factor.Arith{Emitter: e, T: w.t}
	count, groups, n, sides := e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	t, from, to := factor.GridOf(e, 0), factor.GridOf(e, 1), factor.GridOf(e, 2)
	matrix, part := e.DivMod(e.Group(), groups)
	t, from, to = t.Of(matrix), from.Of(matrix), to.Of(matrix)
	triangle, found, parts := e.Shared(w.t, w.wide*w.wide), e.Shared(w.t, w.most*w.sides), 0
	if w.lanes > 1 {
		parts = e.Shared(w.t, w.local())
	}
	row, rest := e.DivMod(e.Invocation(), e.Index(w.sides*w.lanes))
	within, lane := e.DivMod(rest, e.Index(w.lanes))
	side := e.Add(e.Mul(part, e.Index(w.sides)), within)
	there := e.IsLess(side, sides)
	place := func(k kernel.Value) kernel.Value { return e.Add(e.Mul(k, e.Index(w.sides)), within) }
	last := e.Sub(n, e.Index(1))
	e.When(e.IsLess(matrix, count), func() {
		e.For(e.Index(0), n, e.Index(w.wide), func(lo kernel.Value) {
			left := e.Min(e.Sub(n, lo), e.Index(w.wide))
			own := e.Min(e.Add(lo, row), last)
			if w.lanes > 1 {
				e.Barrier() // the triangle before is read
			}
			e.DealOut(w.wide*w.wide, func(u kernel.Value) kernel.Value {
				i, k := e.DivMod(u, e.Index(w.wide))
				inside := e.And2(e.IsLess(i, left), e.Compare(scalar.Le, k, i))
				return t.LoadOr(inside, e.Add(lo, i), e.Add(lo, k), x.Number(0))
			}, func(u, v kernel.Value) {
				i, k := e.DivMod(u, e.Index(w.wide))
				e.StoreShared(triangle, e.Add(e.Mul(k, e.Index(w.wide)), i), v)
			})
			b := from.LoadOr(there, own, side, x.Number(0))
			if w.lanes > 1 {
				sum := e.Loop(lane, lo, e.Index(w.lanes), []kernel.Value{x.Number(0)}, func(k kernel.Value, sum []kernel.Value) []kernel.Value {
					return []kernel.Value{x.Fma(t.Load(own, k), e.LoadShared(found, place(k)), sum[0])}
				})
				e.StoreShared(parts, e.Invocation(), sum[0])
			}
			e.Barrier()
			if w.lanes > 1 {
				first := e.Sub(e.Invocation(), lane)
				for l := range w.lanes {
					b = e.Sub(b, e.LoadShared(parts, e.Add(first, e.Index(l))))
				}
			}
			e.Loop(e.Index(0), left, e.Index(1), []kernel.Value{b}, func(k kernel.Value, b []kernel.Value) []kernel.Value {
				at := e.Add(lo, k)
				e.IfThen(e.And2(e.IsEqual(row, k), e.IsEqual(lane, e.Index(0))), func() {
					v := b[0]
					if !w.unit {
						v = x.Over(v, e.LoadShared(triangle, e.Mul(k, e.Index(w.wide+1))))
					}
					e.StoreShared(found, place(at), v)
					e.IfThen(there, func() { to.Store(at, side, v) })
				})
				e.Barrier()
				below := e.LoadShared(triangle, e.Add(e.Mul(k, e.Index(w.wide)), row))
				return []kernel.Value{x.Less(below, e.LoadShared(found, place(at)), b[0])}
			})
		})
	})
	return nil
}
