package triangular

import (
	"fmt"
	"slices"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// An invocation that solves for one right-hand side takes n^2/2 multiply-adds one after the other. Where
// there are few right-hand sides, a workgroup solves for one of them, and an invocation has rows:
// an unknown is found by the invocation that has its row, and all others take it off theirs at once.
const (
	rowsLocal = 256  // most invocations of a workgroup
	rowsEach  = 2    // most rows of an invocation
	rowsSides = 1000 // from so many right-hand sides on, invocations that have one each are as fast
)

// byRows is the kernel of a block whose rows are dealt out.
type byRows struct {
	t     scalar.Type
	local int
	each  int // rows of an invocation
	wide  int // unknowns that are found between two reads of the matrix
	unit  bool
}

// rowsKernel returns the kernel for blocks of at most n unknowns. ok is false if invocations that have a
// right-hand side each are as fast.
func rowsKernel(j *factor.Job, n, sides int, unit bool) (w *byRows, ok bool) {
	most := min(rowsLocal, j.Target.MaxInvocations)
	if n <= substituteLocal || j.Count*sides >= rowsSides || most < 2*substituteLocal {
		return nil, false
	}
	w = &byRows{t: j.Typ, local: 2 * substituteLocal, each: 1, wide: substituteLocal / j.Words(), unit: unit}
	for w.local < n && 2*w.local <= most {
		w.local *= 2
	}
	if w.local < n {
		w.each = rowsEach
	}
	return w, true
}

// rows is how many unknowns the kernel can find.
func (w *byRows) rows() int { return w.local * w.each }

// run appends the step that finds the n unknowns x of a triangle and right-hand sides b.
func (w *byRows) run(j *factor.Job, t, b, x factor.Matrices, n, sides int) {
	p := &codegen.Program{Local: uint32(w.local), Groups: j.Count * sides, Body: w.write,
		Flops:   int64(j.Count) * int64(sides*n*n),
		Buffers: []codegen.Buffer{j.Buffer(t, lowering.Read), j.Buffer(b, lowering.Read), j.Buffer(x, lowering.Write)}}
	p.Numbers = append([]int{j.Count, sides, n}, factor.Places(t, b, x)...)
	p.Key = fmt.Sprintf("substitute by rows %v local=%d each=%d unit=%v", w.t, w.local, w.each, w.unit)
	j.Run(p)
}

// rowsWriter has the values of the kernel.
type rowsWriter struct {
	*byRows
	factor.Arith
	t, from, to      factor.Grid
	n                kernel.Value
	side             kernel.Value // the right-hand side of the workgroup
	triangle, shared int          // arrays: the diagonal block by columns, and the unknowns of a round
}

func (w *byRows) write(e *codegen.Emitter) error {
	k := &rowsWriter{byRows: w, Arith: factor.Arith{Emitter: e, T: w.t}}
	count, sides := e.NextNumber(), e.NextNumber()
	k.n = e.NextNumber()
	t, from, to := factor.GridOf(e, 0), factor.GridOf(e, 1), factor.GridOf(e, 2)
	matrix, side := e.DivMod(e.Group(), sides)
	k.t, k.from, k.to, k.side = t.Of(matrix), from.Of(matrix), to.Of(matrix), side
	k.triangle, k.shared = e.Shared(w.t, w.wide*w.wide), e.Shared(w.t, w.wide)
	e.When(e.IsLess(matrix, count), func() {
		var b []kernel.Value
		for r := range w.each {
			b = append(b, k.from.LoadOr(e.IsLess(k.row(r), k.n), k.row(r), side, k.Number(0)))
		}
		e.Loop(e.Index(0), k.n, e.Index(w.wide), b, k.round)
	})
	return nil
}

// row is the number of the r-th row of the invocation.
func (k *rowsWriter) row(r int) kernel.Value { return k.Add(k.Invocation(), k.Index(r*k.local)) }

// round finds the unknowns from lo on, and takes them off the rows below, of which b has the right-hand
// sides.
func (k *rowsWriter) round(lo kernel.Value, b []kernel.Value) []kernel.Value {
	hi := k.Min(k.Add(lo, k.Index(k.wide)), k.n)
	k.fill(lo, hi)
	below := k.below(lo, hi)
	k.give(lo, hi, b)
	k.Barrier()
	k.find(lo, hi)
	b = slices.Clone(b)
	for r := range k.each {
		for c, t := range below[r] {
			b[r] = k.Less(t, k.LoadShared(k.shared, k.Index(c)), b[r])
		}
	}
	k.Barrier()
	return b
}

// fill copies the diagonal block to shared memory, column by column.
func (k *rowsWriter) fill(lo, hi kernel.Value) {
	k.DealOut(k.wide*k.wide, func(u kernel.Value) kernel.Value {
		i, c := k.DivMod(u, k.Index(k.wide))
		row, col := k.Add(lo, i), k.Add(lo, c)
		return k.t.LoadOr(k.And2(k.IsLess(row, hi), k.Compare(scalar.Le, c, i)), row, col, k.Number(0))
	}, func(u, v kernel.Value) {
		i, c := k.DivMod(u, k.Index(k.wide))
		k.StoreShared(k.triangle, k.Add(k.Mul(c, k.Index(k.wide)), i), v)
	})
}

// below loads the elements of the rows of the invocation that lie under the diagonal block: while the
// unknowns are found, they are on their way. Rows of the block and above it have zeros.
func (k *rowsWriter) below(lo, hi kernel.Value) [][]kernel.Value {
	rows := make([][]kernel.Value, k.each)
	for r := range rows {
		row := k.row(r)
		rows[r] = k.If(k.And2(k.Compare(scalar.Le, hi, row), k.IsLess(row, k.n)), func() (vs []kernel.Value) {
			for c := range k.wide {
				vs = append(vs, k.t.Load(row, k.Add(lo, k.Index(c))))
			}
			return vs
		}, func() (vs []kernel.Value) {
			for range k.wide {
				vs = append(vs, k.Number(0))
			}
			return vs
		})
	}
	return rows
}

// give copies the right-hand sides of the rows of the block to shared memory.
func (k *rowsWriter) give(lo, hi kernel.Value, b []kernel.Value) {
	for r := range k.each {
		row := k.row(r)
		k.IfThen(k.And2(k.Compare(scalar.Le, lo, row), k.IsLess(row, hi)), func() {
			k.StoreShared(k.shared, k.Sub(row, lo), b[r])
		})
	}
}

// find finds the unknowns of the block. The first invocations have a row of it each. In every step the one
// whose row has only one unknown left finds it, and the others take it off theirs.
func (k *rowsWriter) find(lo, hi kernel.Value) {
	me := k.Invocation()
	inBlock := k.IsLess(me, k.Index(k.wide))
	b := k.If(inBlock, func() []kernel.Value { return []kernel.Value{k.LoadShared(k.shared, me)} },
		func() []kernel.Value { return []kernel.Value{k.Number(0)} })
	k.Loop(k.Index(0), k.Sub(hi, lo), k.Index(1), b, func(c kernel.Value, b []kernel.Value) []kernel.Value {
		column := k.Mul(c, k.Index(k.wide))
		k.IfThen(k.IsEqual(me, c), func() {
			v := b[0]
			if !k.unit {
				v = k.Over(v, k.LoadShared(k.triangle, k.Add(column, c)))
			}
			k.StoreShared(k.shared, c, v)
			k.to.Store(k.Add(lo, c), k.side, v)
		})
		k.Barrier()
		return k.If(k.And2(inBlock, k.IsLess(c, me)), func() []kernel.Value {
			t := k.LoadShared(k.triangle, k.Add(column, me))
			return []kernel.Value{k.Less(t, k.LoadShared(k.shared, c), b[0])}
		}, func() []kernel.Value { return b })
	})
}
