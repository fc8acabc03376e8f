package qr

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// distributed is a panel that a workgroup spreads over its invocations: one has every
// so many-th row and column, so that it shares what it reads of a reflector
// between its columns and of the products between its rows.
type distributed struct {
	t                  scalar.Type
	local, across      int // invocations, and those of a row
	rows, cols, height int // of an invocation; rows of the panel
}

const reflectorCols = 4 // columns of an invocation

// newDistributed is the widest panel of m rows and at most n columns that fits the
// registers and the shared memory of a workgroup; there is none for matrices that
// are very tall.
func newDistributed(j *factor.Job, m, n int) (distributed, bool) {
	each, most, wide := 64/j.Words(), 512, 32/j.Words()
	if j.Words() > 1 {
		most = 256
	}
	wide = factor.PanelWidth(n, j.Narrow(wide))
	most = min(most, j.Target.MaxInvocations)
	for ; wide >= reflectorCols; wide /= 2 {
		w := distributed{t: j.Typ, across: wide / reflectorCols, cols: reflectorCols}
		w.local = max(64, wide*w.across)
		for w.local*each/2 < m*wide && 2*w.local <= most {
			w.local *= 2
		}
		w.rows = 1
		for w.rows*w.down() < m {
			w.rows *= 2
		}
		w.height = w.rows * w.down()
		bytes := (w.height + w.down()*w.line() + reflectorSlots*wide + 4*wide + wide*wide) * j.Wide.Size()
		if w.local <= most && w.rows*w.cols <= each && bytes <= j.Target.SharedMemory {
			return w, true
		}
	}
	return distributed{}, false
}

func (w distributed) down() int { return w.local / w.across }
func (w distributed) wide() int { return w.across * w.cols }

// line is how far rows of partial sums lie apart: neighbouring invocations do not
// meet in a bank.
func (w distributed) line() int {
	if w.wide() >= 16 {
		return w.wide() + 8
	}
	return w.wide()
}

// reflectorSlots is how many sums of a column there are after the first addition.
const reflectorSlots = 16

// factorDistributed appends the reflectors of columns lo to hi, and their T.
func (f *QR) factorDistributed(w distributed, lo, hi int, t factor.Matrices) {
	p := &codegen.Program{Local: uint32(w.local), Groups: f.Count, Body: w.write,
		Flops:   4 * int64(f.Count) * int64((f.m-lo)*(hi-lo)*(hi-lo)),
		Buffers: []codegen.Buffer{f.Buffer(f.a, lowering.Read|lowering.Write), f.Buffer(f.v, lowering.Write), f.Buffer(f.t, lowering.Write)}}
	p.Numbers = append([]int{f.Count, f.m - lo, hi - lo}, factor.Places(f.a.From(lo, lo), f.v.From(lo, lo), t)...)
	p.Key = fmt.Sprintf("householder %v local=%d rows=%d wide=%d", w.t, w.local, w.rows, w.wide())
	f.Run(p)
}

// distributedPanel is what the kernel works on. Columns before the present one are
// reflectors, without the 1 in front.
type distributedPanel struct {
	factor.Arith
	distributed
	m, limit         kernel.Value // rows and columns of the matrix
	me, row, column  kernel.Value // of the invocation
	present, partial int          // shared: the present column, sums of its products with all
	slots, sums, top int          // shared: the next sums, the last, the row of the diagonal
	products, tau    int          // shared: of reflectors, by column; what they are scaled by
}

func (w distributed) write(e *codegen.Emitter) error {
	x := &distributedPanel{Arith: factor.Arith{Emitter: e, T: w.t}, distributed: w, me: e.Invocation()}
	wide := w.wide()
	count := e.NextNumber()
	x.m, x.limit = e.NextNumber(), e.NextNumber()
	a, v, t := factor.GridOf(e, 0), factor.GridOf(e, 1), factor.GridOf(e, 2)
	x.present, x.partial = e.Shared(w.t, w.height), e.Shared(w.t, w.down()*w.line())
	x.slots, x.sums, x.top = e.Shared(w.t, reflectorSlots*wide), e.Shared(w.t, wide), e.Shared(w.t, 2*wide)
	x.products, x.tau = e.Shared(w.t, wide*wide), e.Shared(w.t, wide)
	x.row, x.column = e.DivMod(x.me, e.Index(w.across))
	matrix := e.Group()
	e.When(e.IsLess(matrix, count), func() {
		a, v, t := a.Of(matrix), v.Of(matrix), t.Of(matrix)
		els := e.Loop(e.Index(0), e.Index(w.cols), e.Index(1), x.load(a), func(round kernel.Value, els []kernel.Value) []kernel.Value {
			first := e.Mul(round, e.Index(w.across))
			els = e.Loop(e.Index(0), e.Index(w.across), e.Index(1), els, func(q kernel.Value, els []kernel.Value) []kernel.Value {
				return x.reflect(els, round, q, e.Add(first, q))
			})
			return x.around(els)
		})
		x.store(els, a, v)
		e.Barrier()
		e.IfThen(e.IsLess(x.me, e.Index(wide)), func() { x.join(t) })
	})
	return nil
}

// place is the r-th row of the invocation, col its c-th column.
func (x *distributedPanel) place(r int) kernel.Value { return x.Add(x.row, x.Index(r*x.down())) }
func (x *distributedPanel) col(c int) kernel.Value   { return x.Add(x.column, x.Index(c*x.across)) }

// load reads the panel, zeros beyond the matrix.
func (x *distributedPanel) load(a factor.Grid) (els []kernel.Value) {
	one := x.Index(1)
	for r := range x.rows {
		for c := range x.cols {
			row, col := x.place(r), x.col(c)
			v := a.Load(x.Min(row, x.Sub(x.m, one)), x.Min(col, x.Sub(x.limit, one)))
			els = append(els, x.Select(x.And2(x.IsLess(row, x.m), x.IsLess(col, x.limit)), v, x.Number(0)))
		}
	}
	return els
}

// around moves the columns of an invocation up by one; the first comes last.
func (x *distributedPanel) around(els []kernel.Value) (next []kernel.Value) {
	for ; len(els) > 0; els = els[x.cols:] {
		next = append(append(next, els[1:x.cols]...), els[0])
	}
	return next
}

// reflect clears column c beneath the diagonal: the first of the invocations q.
func (x *distributedPanel) reflect(els []kernel.Value, round, q, c kernel.Value) []kernel.Value {
	mine, zero := x.IsEqual(x.column, q), x.Number(0)
	x.publish(els, round, c, mine)
	x.Barrier()
	vs := make([]kernel.Value, x.rows)
	for r := range vs {
		vs[r] = x.LoadShared(x.present, x.place(r))
	}
	under, on := x.IsLess(c, x.row), x.IsEqual(c, x.row)
	vs[0] = x.Select(under, vs[0], zero) // the other rows are under the diagonal
	x.sum(els, vs, round)
	head, beneath := x.LoadShared(x.top, x.tops(c, c)), x.LoadShared(x.sums, c)
	h := newHouseholder(x.Arith, head, beneath, x.IsEqual(c, x.Sub(x.m, x.Index(1))))
	for r := range vs {
		vs[r] = x.Select(h.nothing, zero, x.Mul(vs[r], h.inverse))
	}
	inner := make([]kernel.Value, x.cols)
	for k := range inner {
		at := x.home(round, k)
		inner[k] = x.Select(h.nothing, zero, x.Fma(x.LoadShared(x.sums, at), factor.Conj(x.Arith.Emitter, h.across), x.LoadShared(x.top, x.tops(c, at))))
		// Columns that are done stay.
		ahead := x.IsLess(x.Add(round, x.Index(k)), x.Index(x.cols))
		if k == 0 {
			ahead = x.IsLess(q, x.column)
		}
		inner[k] = x.Select(ahead, inner[k], zero)
	}
	x.note(c, h)
	next := make([]kernel.Value, len(els))
	for r, v := range vs {
		along := x.Mul(h.tau, v)
		if r == 0 {
			along = x.Select(on, h.tau, along)
		}
		for k := range inner {
			next[r*x.cols+k] = x.Less(along, inner[k], els[r*x.cols+k])
		}
		if r == 0 {
			v = x.Select(under, v, x.Select(x.And2(on, x.Not(h.nothing)), h.size, els[0]))
		}
		next[r*x.cols] = x.Select(mine, v, next[r*x.cols])
	}
	return next
}

// home is which column the k-th of those that go around is.
func (x *distributedPanel) home(round kernel.Value, k int) kernel.Value {
	rotated := x.And(x.Add(round, x.Index(k)), uint64(x.cols-1))
	return x.Add(x.column, x.Mul(rotated, x.Index(x.across)))
}

// tops is where an element of the row of the diagonal is: the rows of two columns
// take turns, so that one is read while the next is written.
func (x *distributedPanel) tops(c, at kernel.Value) kernel.Value {
	return x.Add(x.Mul(x.And(c, 1), x.Index(x.wide())), at)
}

// publish shares the present column and the row of the diagonal.
func (x *distributedPanel) publish(els []kernel.Value, round, c, mine kernel.Value) {
	x.IfThen(mine, func() {
		for r := range x.rows {
			x.StoreShared(x.present, x.place(r), els[r*x.cols])
		}
	})
	x.IfThen(x.IsEqual(x.row, c), func() {
		for k := range x.cols {
			x.StoreShared(x.top, x.tops(c, x.home(round, k)), els[k])
		}
	})
}

// sum adds up the lifted products of a column with all.
func (x *distributedPanel) sum(els, vs []kernel.Value, round kernel.Value) {
	wide, down, line := x.wide(), x.down(), x.line()
	up := make([]kernel.Value, len(vs))
	for r, v := range vs {
		up[r] = factor.Conj(x.Arith.Emitter, lifted(x.Arith, v))
	}
	for k := range x.cols {
		sum := x.Number(0)
		for r, v := range up {
			sum = x.Fma(v, els[r*x.cols+k], sum)
		}
		x.StoreShared(x.partial, x.Add(x.Mul(x.row, x.Index(line)), x.home(round, k)), sum)
	}
	x.Barrier()
	slots := min(reflectorSlots, down)
	x.For(x.me, x.Index(slots*wide), x.Index(x.local), func(u kernel.Value) {
		slot, col := x.DivMod(u, x.Index(wide))
		at := x.Add(x.Mul(slot, x.Index(line)), col)
		x.StoreShared(x.slots, u, x.total(x.partial, at, down/slots, slots*line))
	})
	x.Barrier()
	x.IfThen(x.IsLess(x.me, x.Index(wide)), func() {
		x.StoreShared(x.sums, x.me, x.total(x.slots, x.me, slots, wide))
	})
	x.Barrier()
}

// total adds n numbers of an array, which lie some elements apart.
func (x *distributedPanel) total(array int, at kernel.Value, n, apart int) kernel.Value {
	var vs []kernel.Value
	for i := range n {
		vs = append(vs, x.LoadShared(array, x.Add(at, x.Index(i*apart))))
	}
	for ; len(vs) > 1; vs = vs[:len(vs)/2] {
		for i := range len(vs) / 2 {
			vs[i] = x.Add(vs[i], vs[len(vs)/2+i])
		}
	}
	return vs[0]
}

// store writes the reflectors, and r as far as it goes: what is under the diagonal
// of a is left as it was.
func (x *distributedPanel) store(els []kernel.Value, a, v factor.Grid) {
	for u, el := range els {
		row, col := x.place(u/x.cols), x.col(u%x.cols)
		x.IfThen(x.And2(x.IsLess(row, x.m), x.IsLess(col, x.limit)), func() {
			under := x.IsLess(col, row)
			v.Store(row, col, x.Select(under, el, x.Select(x.IsEqual(row, col), x.Number(1), x.Number(0))))
			if u/x.cols == 0 {
				x.IfThen(x.Not(under), func() { a.Store(row, col, el) })
			}
		})
	}
}

// note keeps the products of a reflector with those before it, and its factor.
func (x *distributedPanel) note(c kernel.Value, h householder) {
	wide := x.Index(x.wide())
	x.IfThen(x.IsLess(x.me, wide), func() {
		inner := x.Fma(x.LoadShared(x.sums, x.me), factor.Conj(x.Arith.Emitter, h.across), x.LoadShared(x.top, x.tops(c, x.me)))
		keep := x.And2(x.IsLess(x.me, c), x.Not(h.nothing))
		x.StoreShared(x.products, x.Add(x.Mul(c, wide), x.me), x.Select(keep, factor.Conj(x.Arith.Emitter, inner), x.Number(0)))
	})
	x.IfThen(x.IsEqual(x.me, c), func() { x.StoreShared(x.tau, c, h.tau) })
}

// join writes a row of T, which goes around in registers: column c is that of the
// reflectors before it, times their products with it. A column that is not found yet is 0.
func (x *distributedPanel) join(t factor.Grid) {
	wide := x.wide()
	row := make([]kernel.Value, wide)
	for k := range row {
		row[k] = x.Number(0)
	}
	x.Loop(x.Index(0), x.limit, x.Index(1), row, func(c kernel.Value, row []kernel.Value) []kernel.Value {
		parts := []kernel.Value{x.Number(0), x.Number(0), x.Number(0), x.Number(0)}
		for k := 1; k < wide; k++ {
			at := x.And(x.Add(c, x.Index(k)), uint64(wide-1))
			p := &parts[k%len(parts)]
			*p = x.Fma(row[k], x.LoadShared(x.products, x.Add(x.Mul(c, x.Index(wide)), at)), *p)
		}
		sum := x.Add(x.Add(parts[0], parts[1]), x.Add(parts[2], parts[3]))
		tau := x.LoadShared(x.tau, c)
		v := x.Select(x.IsEqual(x.me, c), tau, x.Neg(x.Mul(tau, sum)))
		v = x.Select(x.IsLess(c, x.me), x.Number(0), v)
		x.IfThen(x.IsLess(x.me, x.limit), func() { t.Store(x.me, c, v) })
		return append(row[1:wide:wide], v)
	})
}
