package triangular

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// An invocation that solves for one right-hand side takes n^2/2 multiply-adds one after the other. Where
// there are few right-hand sides, a workgroup solves for one of them, and an invocation has rows.
// A round finds the unknowns of a diagonal block: the first invocations have a row of it each. All of these
// solve the next few unknowns in registers, the same ones, so that a barrier is needed only after some unknowns.
// Then all invocations take the unknowns of the round off their rows.
//
// What is measured is the kernels that find one unknown a barrier, or a move, and divide by the diagonal, on an
// H200. With a row an invocation, up to 256 right-hand sides of 48 to 2,048 unknowns took 0.4 to 1.1 of the time of
// an invocation each, 512 of 512 unknowns 1.5 of it, and from 1,024 on, those of a batch together, 1 to 4 times that.
// Here both find several unknowns a barrier or a move, and rows of up to 256 unknowns pass through shared memory,
// which is not measured: rowsSides and rowsLeast are those of the measured kernels.
const (
	rowsLocal = 256  // most invocations of a workgroup, each of which has a row
	rowsWide  = 32   // unknowns of a round, in words of 32 bits
	rowsStep  = 8    // unknowns between two barriers, half of it for complex numbers
	rowsSides = 1000 // from so many right-hand sides on, invocations that have one each are as fast
	rowsLeast = 33   // fewest unknowns
)

// byRows is the kernel of a block whose rows are dealt out.
type byRows struct {
	t     scalar.Type
	local int  // invocations, and the most unknowns
	wide  int  // unknowns of a round
	step  int  // unknowns between two barriers
	along bool // neighbours in memory are those of a row of the matrix
	unit  bool
}

// newByRows returns the kernel for blocks of at most n unknowns. It is nil where an invocation had better have a
// right-hand side.
func newByRows(j *factor.Job, t Triangle, sides int) *byRows {
	w := &byRows{t: j.Typ, wide: rowsWide / j.Words(), step: rowsStep, along: along(t.T), unit: t.Unit}
	w.local = 2 * w.wide
	n, most := t.N, min(rowsLocal, j.Target.MaxInvocations)
	if n < rowsLeast || j.Count*sides >= rowsSides || w.local > most {
		return nil
	}
	if w.t.Complex() {
		w.step /= 2
	}
	for w.local < n && 2*w.local <= most {
		w.local *= 2
	}
	return w
}

// along reports whether neighbours in memory are those of a row.
func along(s factor.Matrices) bool { return s.Col == 1 || s.Col == -1 }

// run appends the step that finds the n unknowns x of a triangle and right-hand sides b.
func (w *byRows) run(j *factor.Job, t, b, x factor.Matrices, n, sides int) {
	p := &codegen.Program{Local: uint32(w.local), Groups: j.Count * sides, Body: w.write,
		Flops:   int64(j.Count) * int64(sides*n*n),
		Buffers: []codegen.Buffer{j.Buffer(t, lowering.Read), j.Buffer(b, lowering.Read), j.Buffer(x, lowering.Write)}}
	p.Numbers = append([]int{j.Count, sides, n}, factor.Places(t, b, x)...)
	p.Key = fmt.Sprintf("substitute by rows %v local=%d along=%v unit=%v", w.t, w.local, w.along, w.unit)
	j.Run(p)
}

// rowsWriter has the values of the kernel.
type rowsWriter struct {
	*byRows
	factor.Arith
	me          kernel.Value
	t, from, to factor.Grid
	n           kernel.Value
	side        kernel.Value // right-hand side of the workgroup
	inBlock     kernel.Value // whether the invocation has a row of the diagonal block

	// Shared arrays: the diagonal block by columns, the reciprocals of its diagonal, and the right-hand
	// sides and unknowns of its rows.
	block, inverse, given, found int
	strip                        int // a part of the elements below the block, where rows pass through shared memory
}

func (w *byRows) write(e *codegen.Emitter) error {
	k := &rowsWriter{byRows: w, Arith: factor.Arith{Emitter: e, T: w.t}, me: e.Invocation()}
	count, sides := e.NextNumber(), e.NextNumber()
	k.n = e.NextNumber()
	t, from, to := factor.GridOf(e, 0), factor.GridOf(e, 1), factor.GridOf(e, 2)
	matrix, side := e.DivMod(e.Group(), sides)
	k.t, k.from, k.to, k.side = t.Of(matrix), from.Of(matrix), to.Of(matrix), side
	k.inBlock = e.IsLess(k.me, e.Index(w.wide))
	k.block = e.Shared(w.t, w.wide*w.wide)
	k.given, k.found = e.Shared(w.t, w.wide), e.Shared(w.t, w.wide)
	if w.inverts() {
		k.inverse = e.Shared(w.t, w.wide)
	}
	if w.along {
		k.strip = e.Shared(w.t, w.local*(w.stripWide()+1))
	}
	e.When(e.IsLess(matrix, count), func() {
		b := k.from.LoadOr(e.IsLess(k.me, k.n), k.me, side, k.Number(0))
		e.Loop(e.Index(0), k.n, e.Index(w.wide), append([]kernel.Value{b}, k.fetch(e.Index(0))...), k.round)
	})
	return nil
}

// inverts reports whether the kernel multiplies by reciprocals of the diagonal.
func (w *byRows) inverts() bool { return !w.unit && !w.t.Complex() }

// round finds the unknowns from lo on, and takes them off the rows below. What it carries is the right-hand
// side of the row of the invocation, and the elements that it has fetched of the diagonal block.
func (k *rowsWriter) round(lo kernel.Value, carried []kernel.Value) []kernel.Value {
	b, block := carried[0], carried[1:]
	hi := k.Min(k.Add(lo, k.Index(k.wide)), k.n)
	k.put(block)
	k.give(lo, b)
	k.Barrier()
	next := k.fetch(k.Add(lo, k.Index(k.wide)))
	below := k.below(lo, hi)
	k.find(lo, hi)
	if k.along {
		below = k.exchange(below)
	}
	for c, v := range below {
		b = k.Fma(k.Neg(k.LoadShared(k.found, k.Index(c))), v, b)
	}
	return append([]kernel.Value{b}, next...)
}

// fetch loads the elements of the diagonal block from lo on that the invocation copies to shared memory, and
// the one on the diagonal whose reciprocal it finds. Beyond the matrix there are ones on the diagonal.
func (k *rowsWriter) fetch(lo kernel.Value) (vs []kernel.Value) {
	all := k.wide * k.wide
	for at := 0; at < all; at += k.local {
		u := k.Add(k.me, k.Index(at))
		i, c := k.DivMod(u, k.Index(k.wide))
		row, col := k.Add(lo, i), k.Add(lo, c)
		inside := k.And2(k.IsLess(row, k.n), k.Compare(scalar.Le, c, i))
		vs = append(vs, k.t.LoadOr(inside, row, col, k.Select(k.IsEqual(i, c), k.Number(1), k.Number(0))))
	}
	if k.inverts() {
		row := k.Add(lo, k.me)
		vs = append(vs, k.t.LoadOr(k.And2(k.inBlock, k.IsLess(row, k.n)), row, row, k.Number(1)))
	}
	return vs
}

// put writes what has been fetched to shared memory, the block column by column.
func (k *rowsWriter) put(vs []kernel.Value) {
	all := k.wide * k.wide
	for at := 0; at < all; at += k.local {
		u, v := k.Add(k.me, k.Index(at)), vs[0]
		vs = vs[1:]
		i, c := k.DivMod(u, k.Index(k.wide))
		store := func() { k.StoreShared(k.block, k.Add(k.Mul(c, k.Index(k.wide)), i), v) }
		if at+k.local <= all {
			store()
		} else {
			k.IfThen(k.IsLess(u, k.Index(all)), store)
		}
	}
	if k.inverts() {
		k.IfThen(k.inBlock, func() { k.StoreShared(k.inverse, k.me, reciprocal(k.Arith, vs[0])) })
	}
}

// give copies the right-hand sides of the rows of the block to shared memory.
func (k *rowsWriter) give(lo, b kernel.Value) {
	i := k.Sub(k.me, lo)
	k.IfThen(k.And2(k.Compare(scalar.Le, lo, k.me), k.IsLess(i, k.Index(k.wide))), func() {
		k.StoreShared(k.given, i, b)
	})
}

// find finds the unknowns of the block.
func (k *rowsWriter) find(lo, hi kernel.Value) {
	none := []kernel.Value{k.Number(0)}
	b := k.If(k.inBlock, func() []kernel.Value { return []kernel.Value{k.LoadShared(k.given, k.me)} },
		func() []kernel.Value { return none })
	k.Loop(k.Index(0), k.Sub(hi, lo), k.Index(k.step), b, func(at kernel.Value, b []kernel.Value) []kernel.Value {
		b = k.If(k.inBlock, func() []kernel.Value { return []kernel.Value{k.next(lo, at, b[0])} },
			func() []kernel.Value { return none })
		k.Barrier()
		return b
	})
}

// next finds the unknowns from at on, as many as a step has, and takes them off the row of the invocation in
// the block, which has the right-hand side b.
func (k *rowsWriter) next(lo, at, b kernel.Value) kernel.Value {
	x := k.triangle(at)
	return k.If(k.Compare(scalar.Le, k.Add(at, k.Index(k.step)), k.me), func() []kernel.Value {
		b := b
		for c, v := range x {
			column := k.Mul(k.Add(at, k.Index(c)), k.Index(k.wide))
			b = k.Fma(k.Neg(k.LoadShared(k.block, k.Add(column, k.me))), v, b)
		}
		k.StoreShared(k.given, k.me, b)
		return []kernel.Value{b}
	}, func() []kernel.Value {
		k.IfThen(k.Compare(scalar.Le, at, k.me), func() { k.keep(lo, at, x) })
		return []kernel.Value{b}
	})[0]
}

// keep stores the unknown of the row of the invocation in the block.
func (k *rowsWriter) keep(lo, at kernel.Value, x []kernel.Value) {
	i, row, v := k.Sub(k.me, at), k.Add(lo, k.me), x[0]
	for c := 1; c < k.step; c++ {
		v = k.Select(k.IsEqual(i, k.Index(c)), x[c], v)
	}
	k.StoreShared(k.found, k.me, v)
	k.IfThen(k.IsLess(row, k.n), func() { k.to.Store(row, k.side, v) })
}

// triangle gives the unknowns from at on. Every invocation finds the same.
func (k *rowsWriter) triangle(at kernel.Value) []kernel.Value {
	corner := k.Mul(at, k.Index(k.wide+1))
	element := func(i, c int) kernel.Value {
		return k.LoadShared(k.block, k.Add(corner, k.Index(c*k.wide+i)))
	}
	d := diagonal{Arith: k.Arith, unit: k.unit}
	t, b := make([][]kernel.Value, k.step), make([]kernel.Value, k.step) // t by columns
	for c := range t {
		if !k.unit {
			d.d = append(d.d, element(c, c))
		}
		if k.inverts() {
			d.r = append(d.r, k.LoadShared(k.inverse, k.Add(at, k.Index(c))))
		}
		t[c], b[c] = make([]kernel.Value, k.step), k.LoadShared(k.given, k.Add(at, k.Index(c)))
		for i := c + 1; i < k.step; i++ {
			t[c][i] = k.Neg(element(i, c))
		}
	}
	return d.solve(t, b)
}
