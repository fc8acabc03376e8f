package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// mirror is a panel that a workgroup spreads over its invocations: one has every
// so many-th row and column, so that it shares what it reads of a reflector
// between its columns and of the products between its rows.
type mirror struct {
	t                  scalar.Type
	local, across      int // invocations, and those of a row
	rows, cols, height int // of an invocation; rows of the panel
}

const mirrorCols = 4 // columns of an invocation

// mirror is the widest panel of m rows and at most n columns that fits the
// registers and the shared memory of a workgroup; there is none for matrices that
// are very tall.
func (j *linalg) mirror(m, n int) (mirror, bool) {
	each, most, wide := 64/j.words(), 512, 32/j.words()
	if j.words() > 1 {
		most = 256
	}
	wide = panelWidth(n, j.narrow(wide))
	most = min(most, j.t.MaxInvocations)
	for ; wide >= mirrorCols; wide /= 2 {
		w := mirror{t: j.typ, across: wide / mirrorCols, cols: mirrorCols}
		w.local = max(64, wide*w.across)
		for w.local*each/2 < m*wide && 2*w.local <= most {
			w.local *= 2
		}
		w.rows = 1
		for w.rows*w.down() < m {
			w.rows *= 2
		}
		w.height = w.rows * w.down()
		bytes := (w.height + w.down()*w.line() + mirrorSlots*wide + 4*wide + wide*wide) * j.wide.Size()
		if w.local <= most && w.rows*w.cols <= each && bytes <= j.t.SharedMemory {
			return w, true
		}
	}
	return mirror{}, false
}

func (w mirror) down() int { return w.local / w.across }
func (w mirror) wide() int { return w.across * w.cols }

// line is how far rows of partial sums lie apart: neighbouring invocations do not
// meet in a bank.
func (w mirror) line() int {
	if w.wide() >= 16 {
		return w.wide() + 8
	}
	return w.wide()
}

// mirrorSlots is how many sums of a column there are after the first addition.
const mirrorSlots = 16

// mirrored appends the reflectors of columns lo to hi, and their T.
func (f *reflections) mirrored(w mirror, lo, hi int, t strided) {
	p := &program{local: uint32(w.local), groups: f.count, body: w.write,
		flops: 4 * int64(f.count) * int64((f.m-lo)*(hi-lo)*(hi-lo)),
		bufs:  []buffer{f.buffer(f.a, Read|Write), f.buffer(f.v, Write), f.buffer(f.t, Write)}}
	p.nums = append([]int{f.count, f.m - lo, hi - lo}, places(f.a.from(lo, lo), f.v.from(lo, lo), t)...)
	p.key = fmt.Sprintf("mirror %v local=%d rows=%d wide=%d", w.t, w.local, w.rows, w.wide())
	f.run(p)
}

// mirrorPanel is what the kernel works on. Columns before the present one are
// reflectors, without the 1 in front.
type mirrorPanel struct {
	arith
	mirror
	m, limit         kernel.Value // rows and columns of the matrix
	me, row, column  kernel.Value // of the invocation
	present, partial int          // shared: the present column, sums of its products with all
	slots, sums, top int          // shared: the next sums, the last, the row of the diagonal
	products, tau    int          // shared: of reflectors, by column; what they are scaled by
}

func (w mirror) write(e *emitter) error {
	x := &mirrorPanel{arith: arith{e, w.t}, mirror: w, me: e.invocation()}
	wide := w.wide()
	count := e.num()
	x.m, x.limit = e.num(), e.num()
	a, v, t := e.grid(0), e.grid(1), e.grid(2)
	x.present, x.partial = e.Shared(w.t, w.height), e.Shared(w.t, w.down()*w.line())
	x.slots, x.sums, x.top = e.Shared(w.t, mirrorSlots*wide), e.Shared(w.t, wide), e.Shared(w.t, 2*wide)
	x.products, x.tau = e.Shared(w.t, wide*wide), e.Shared(w.t, wide)
	x.row, x.column = e.divide(x.me, e.int(w.across))
	matrix := e.group()
	e.when(e.below(matrix, count), func() {
		a, v, t := a.of(matrix), v.of(matrix), t.of(matrix)
		els := e.Loop(e.int(0), e.int(w.cols), e.int(1), x.load(a), func(round kernel.Value, els []kernel.Value) []kernel.Value {
			first := e.Mul(round, e.int(w.across))
			els = e.Loop(e.int(0), e.int(w.across), e.int(1), els, func(q kernel.Value, els []kernel.Value) []kernel.Value {
				return x.reflect(els, round, q, e.Add(first, q))
			})
			return x.around(els)
		})
		x.store(els, a, v)
		e.Barrier()
		e.then(e.below(x.me, e.int(wide)), func() { x.join(t) })
	})
	return nil
}

// place is the r-th row of the invocation, col its c-th column.
func (x *mirrorPanel) place(r int) kernel.Value { return x.Add(x.row, x.int(r*x.down())) }
func (x *mirrorPanel) col(c int) kernel.Value   { return x.Add(x.column, x.int(c*x.across)) }

// load reads the panel, zeros beyond the matrix.
func (x *mirrorPanel) load(a grid) (els []kernel.Value) {
	one := x.int(1)
	for r := range x.rows {
		for c := range x.cols {
			row, col := x.place(r), x.col(c)
			v := a.load(x.least(row, x.Sub(x.m, one)), x.least(col, x.Sub(x.limit, one)))
			els = append(els, x.Select(x.both(x.below(row, x.m), x.below(col, x.limit)), v, x.number(0)))
		}
	}
	return els
}

// around moves the columns of an invocation up by one; the first comes last.
func (x *mirrorPanel) around(els []kernel.Value) (next []kernel.Value) {
	for ; len(els) > 0; els = els[x.cols:] {
		next = append(append(next, els[1:x.cols]...), els[0])
	}
	return next
}

// reflect clears column c beneath the diagonal: the first of the invocations q.
func (x *mirrorPanel) reflect(els []kernel.Value, round, q, c kernel.Value) []kernel.Value {
	mine, zero := x.same(x.column, q), x.number(0)
	x.publish(els, round, c, mine)
	x.Barrier()
	vs := make([]kernel.Value, x.rows)
	for r := range vs {
		vs[r] = x.LoadShared(x.present, x.place(r))
	}
	under, on := x.below(c, x.row), x.same(c, x.row)
	vs[0] = x.Select(under, vs[0], zero) // the other rows are under the diagonal
	x.sum(els, vs, round)
	head, beneath := x.LoadShared(x.top, x.tops(c, c)), x.LoadShared(x.sums, c)
	h := x.householder(head, beneath, x.same(c, x.Sub(x.m, x.int(1))))
	for r := range vs {
		vs[r] = x.Select(h.nothing, zero, x.Mul(vs[r], h.inverse))
	}
	inner := make([]kernel.Value, x.cols)
	for k := range inner {
		at := x.home(round, k)
		inner[k] = x.Select(h.nothing, zero, x.fma(x.LoadShared(x.sums, at), x.conj(h.inverse), x.LoadShared(x.top, x.tops(c, at))))
		// Columns that are done stay.
		ahead := x.below(x.Add(round, x.int(k)), x.int(x.cols))
		if k == 0 {
			ahead = x.below(q, x.column)
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
			next[r*x.cols+k] = x.less(along, inner[k], els[r*x.cols+k])
		}
		if r == 0 {
			v = x.Select(under, v, x.Select(x.both(on, x.not(h.nothing)), h.size, els[0]))
		}
		next[r*x.cols] = x.Select(mine, v, next[r*x.cols])
	}
	return next
}

// home is which column the k-th of those that go around is.
func (x *mirrorPanel) home(round kernel.Value, k int) kernel.Value {
	turned := x.And(x.Add(round, x.int(k)), uint64(x.cols-1))
	return x.Add(x.column, x.Mul(turned, x.int(x.across)))
}

// tops is where an element of the row of the diagonal is: the rows of two columns
// take turns, so that one is read while the next is written.
func (x *mirrorPanel) tops(c, at kernel.Value) kernel.Value {
	return x.Add(x.Mul(x.And(c, 1), x.int(x.wide())), at)
}

// publish shares the present column and the row of the diagonal.
func (x *mirrorPanel) publish(els []kernel.Value, round, c, mine kernel.Value) {
	x.then(mine, func() {
		for r := range x.rows {
			x.StoreShared(x.present, x.place(r), els[r*x.cols])
		}
	})
	x.then(x.same(x.row, c), func() {
		for k := range x.cols {
			x.StoreShared(x.top, x.tops(c, x.home(round, k)), els[k])
		}
	})
}

// sum adds up the products of a column with all.
func (x *mirrorPanel) sum(els, vs []kernel.Value, round kernel.Value) {
	wide, down, line := x.wide(), x.down(), x.line()
	for k := range x.cols {
		sum := x.number(0)
		for r, v := range vs {
			sum = x.fma(x.conj(v), els[r*x.cols+k], sum)
		}
		x.StoreShared(x.partial, x.Add(x.Mul(x.row, x.int(line)), x.home(round, k)), sum)
	}
	x.Barrier()
	slots := min(mirrorSlots, down)
	x.repeat(x.me, x.int(slots*wide), x.int(x.local), func(u kernel.Value) {
		slot, col := x.divide(u, x.int(wide))
		at := x.Add(x.Mul(slot, x.int(line)), col)
		x.StoreShared(x.slots, u, x.total(x.partial, at, down/slots, slots*line))
	})
	x.Barrier()
	x.then(x.below(x.me, x.int(wide)), func() {
		x.StoreShared(x.sums, x.me, x.total(x.slots, x.me, slots, wide))
	})
	x.Barrier()
}

// total adds n numbers of an array, which lie some elements apart.
func (x *mirrorPanel) total(array int, at kernel.Value, n, apart int) kernel.Value {
	var vs []kernel.Value
	for i := range n {
		vs = append(vs, x.LoadShared(array, x.Add(at, x.int(i*apart))))
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
func (x *mirrorPanel) store(els []kernel.Value, a, v grid) {
	for u, el := range els {
		row, col := x.place(u/x.cols), x.col(u%x.cols)
		x.then(x.both(x.below(row, x.m), x.below(col, x.limit)), func() {
			under := x.below(col, row)
			v.store(row, col, x.Select(under, el, x.Select(x.same(row, col), x.number(1), x.number(0))))
			if u/x.cols == 0 {
				x.then(x.not(under), func() { a.store(row, col, el) })
			}
		})
	}
}

// note keeps the products of a reflector with those before it, and its factor.
func (x *mirrorPanel) note(c kernel.Value, h householder) {
	wide := x.int(x.wide())
	x.then(x.below(x.me, wide), func() {
		inner := x.fma(x.LoadShared(x.sums, x.me), x.conj(h.inverse), x.LoadShared(x.top, x.tops(c, x.me)))
		keep := x.both(x.below(x.me, c), x.not(h.nothing))
		x.StoreShared(x.products, x.Add(x.Mul(c, wide), x.me), x.Select(keep, x.conj(inner), x.number(0)))
	})
	x.then(x.same(x.me, c), func() { x.StoreShared(x.tau, c, h.tau) })
}

// join writes a row of T, which goes around in registers: column c is that of the
// reflectors before it, times their products with it. What is not found yet is 0.
func (x *mirrorPanel) join(t grid) {
	wide := x.wide()
	row := make([]kernel.Value, wide)
	for k := range row {
		row[k] = x.number(0)
	}
	x.Loop(x.int(0), x.limit, x.int(1), row, func(c kernel.Value, row []kernel.Value) []kernel.Value {
		parts := []kernel.Value{x.number(0), x.number(0), x.number(0), x.number(0)}
		for k := 1; k < wide; k++ {
			at := x.And(x.Add(c, x.int(k)), uint64(wide-1))
			p := &parts[k%len(parts)]
			*p = x.fma(row[k], x.LoadShared(x.products, x.Add(x.Mul(c, x.int(wide)), at)), *p)
		}
		sum := x.Add(x.Add(parts[0], parts[1]), x.Add(parts[2], parts[3]))
		tau := x.LoadShared(x.tau, c)
		v := x.Select(x.same(x.me, c), tau, x.neg(x.Mul(tau, sum)))
		v = x.Select(x.below(c, x.me), x.number(0), v)
		x.then(x.below(x.me, x.limit), func() { t.store(x.me, c, v) })
		return append(row[1:wide:wide], v)
	})
}
