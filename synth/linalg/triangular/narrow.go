package triangular

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// The product of a block of columns and its unknowns reads every element of the block once. Where the right-hand
// sides are few, tiles of the result are mostly empty and too few for a device. So a workgroup has a few rows, and
// several invocations share a row: each adds up the products of some columns.
const (
	narrowSides = 32 // most right-hand sides
	narrowEach  = 8  // most of them in a workgroup, in words of 32 bits
	narrowRows  = 16 // rows of a workgroup
	narrowShare = 16 // invocations of a row
	narrowAhead = 16 // columns of an invocation that it loads at a time, in words of 32 bits
)

// narrow is the kernel that takes unknowns off the rows below, if right-hand sides are few.
type narrow struct {
	t     scalar.Type
	each  int  // right-hand sides of a workgroup
	ahead int  // columns of an invocation that it loads at a time
	along bool // neighbours in memory are those of a row of the matrix
}

// subtract appends C = B - A X for m rows of A and k unknowns, where b is where C lies, or in another buffer.
func (s *substitution) subtract(a, x, c factor.Matrices, b lowering.Ref, m, k int) {
	w := &narrow{t: s.Typ, each: max(1, min(s.sides, narrowEach/s.Words())), along: along(a)}
	w.ahead = max(1, min(narrowAhead/s.Words(), (k+narrowShare-1)/narrowShare))
	parts := (s.sides + w.each - 1) / w.each
	from := c
	from.Ref = b
	p := &codegen.Program{Local: narrowRows * narrowShare, Groups: s.Count * parts * ((m + narrowRows - 1) / narrowRows), Body: w.write,
		Flops: 2 * int64(s.Count*s.sides) * int64(m*k),
		Buffers: []codegen.Buffer{s.Buffer(a, lowering.Read), s.Buffer(x, lowering.Read), s.Buffer(from, lowering.Read),
			s.Buffer(c, lowering.Write)}}
	p.Numbers = append([]int{s.Count, parts, s.sides, m, k}, factor.Places(a, x, c)...)
	p.Key = fmt.Sprintf("substituted %v each=%d ahead=%d along=%v", w.t, w.each, w.ahead, w.along)
	s.Run(p)
}

// narrowWriter has the values of the kernel.
type narrowWriter struct {
	*narrow
	factor.Arith
	a, x, c           factor.Grid
	m, k, sides       kernel.Value
	row, share        kernel.Value // of the invocation in the workgroup
	firstRow, firstOf kernel.Value // of the rows and of the right-hand sides of the workgroup
	sums              int          // shared array: by right-hand side, share of the row, and row
}

func (w *narrow) write(e *codegen.Emitter) error {
	k := &narrowWriter{narrow: w, Arith: factor.Arith{Emitter: e, T: w.t}}
	count, parts := e.NextNumber(), e.NextNumber()
	k.sides, k.m, k.k = e.NextNumber(), e.NextNumber(), e.NextNumber()
	a, x, c := factor.GridOf(e, 0), factor.GridOf(e, 1), factor.GridOf(e, 2)
	matrix, part := e.DivMod(e.Group(), e.Mul(parts, e.Div(e.Add(k.m, e.Index(narrowRows-1)), e.Index(narrowRows))))
	rows, part := e.DivMod(part, parts)
	k.a, k.x, k.c = a.Of(matrix), x.Of(matrix), c.Of(matrix)
	k.firstRow, k.firstOf = e.Mul(rows, e.Index(narrowRows)), e.Mul(part, e.Index(w.each))
	k.share, k.row = e.DivMod(e.Invocation(), e.Index(narrowRows))
	if w.along {
		k.row, k.share = e.DivMod(e.Invocation(), e.Index(narrowShare))
	}
	k.sums = e.Shared(w.t, w.each*narrowShare*narrowRows)
	e.When(e.IsLess(matrix, count), func() {
		for s, v := range k.products() {
			k.StoreShared(k.sums, k.entry(e.Index(s), k.share, k.row), v)
		}
		e.Barrier()
		k.finish()
	})
	return nil
}

// entry is where a share of a sum is.
func (k *narrowWriter) entry(s, share, row kernel.Value) kernel.Value {
	return k.Add(k.Mul(k.Add(k.Mul(s, k.Index(narrowShare)), share), k.Index(narrowRows)), row)
}

// products adds up the products of the columns of an invocation, for each right-hand side. Beyond the rows and the
// right-hand sides the last ones are read again; beyond the columns, zeros take the place of what is read.
func (k *narrowWriter) products() []kernel.Value {
	one := k.Index(1)
	row := k.Min(k.Add(k.firstRow, k.row), k.Sub(k.m, one))
	sums := make([]kernel.Value, k.narrow.each)
	for s := range sums {
		sums[s] = k.Number(0)
	}
	step := narrowShare * k.ahead
	return k.Loop(k.share, k.k, k.Index(step), sums, func(at kernel.Value, sums []kernel.Value) []kernel.Value {
		next := append([]kernel.Value(nil), sums...)
		var columns, elements []kernel.Value
		for i := range k.ahead {
			c := k.Min(k.Add(at, k.Index(i*narrowShare)), k.Sub(k.k, one))
			columns, elements = append(columns, c), append(elements, k.a.Load(row, c))
		}
		for i, v := range elements {
			inside := k.IsLess(k.Add(at, k.Index(i*narrowShare)), k.k)
			v = k.Select(inside, v, k.Number(0))
			for s := range next {
				side := k.Min(k.Add(k.firstOf, k.Index(s)), k.Sub(k.sides, one))
				x := k.Select(inside, k.x.Load(columns[i], side), k.Number(0))
				next[s] = k.Fma(v, x, next[s])
			}
		}
		return next
	})
}

// finish adds up the shares of each sum, and takes the sums off the right-hand sides.
func (k *narrowWriter) finish() {
	side, row := k.DivMod(k.Invocation(), k.Index(narrowRows))
	i, s := k.Add(k.firstRow, row), k.Add(k.firstOf, side)
	inside := k.And2(k.IsLess(side, k.Index(k.narrow.each)), k.And2(k.IsLess(i, k.m), k.IsLess(s, k.sides)))
	k.IfThen(inside, func() {
		b := factor.LoadElement(k.Emitter, 2, k.c.At(i, s))
		var vs []kernel.Value
		for share := range narrowShare {
			vs = append(vs, k.LoadShared(k.sums, k.entry(side, k.Index(share), row)))
		}
		for ; len(vs) > 1; vs = vs[:len(vs)/2] {
			for u := range len(vs) / 2 {
				vs[u] = k.Add(vs[u], vs[u+len(vs)/2])
			}
		}
		factor.StoreElement(k.Emitter, 3, k.c.At(i, s), k.Sub(b, vs[0]))
	})
}
