package lu

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/linalg/triangular"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// LU factors square matrices with partial pivoting, in place: the unit
// lower triangle and the upper one share a matrix. The pivot is the first element
// of the largest magnitude. More columns may stand to the right; their rows are
// exchanged as well. Neighbours in memory are those of a column.
//
// Within a block of columns rows stay where they are: each has a place, which an
// exchange changes, and a pivot's row is known by its number. They move at the end
// of the block, in all columns at once.
type LU struct {
	*factor.Job
	A       factor.Matrices
	n, cols int
	places  [2]lowering.Ref // of the rows from the top of a block on; panels take turns
	pivots  lowering.Ref    // rows of the pivots of a block
	Signs   factor.Matrices // whose product is that of the exchanges
	product factor.Matrices // room for that of blocks, a quarter of the matrix at most
}

// A block has luBlock columns. Up to luUpdate columns are updated after each of their
// panels; wider matrices are halved, and the right half is updated by products.
const (
	luBlock  = 512
	luUpdate = 1024
)

// LuLine is what the elements of a column are a multiple of in memory, so that
// neighbouring rows share a line of a cache.
const LuLine = 32

// Factor appends the factorisation of the first n columns of a.
func Factor(j *factor.Job, a factor.Matrices, n, cols int) *LU {
	f := &LU{Job: j, A: a, n: n, cols: cols}
	f.places = [2]lowering.Ref{j.NewTemp(j.Count * n * 4), j.NewTemp(j.Count * n * 4)}
	f.pivots = j.NewTemp(j.Count * n * 4)
	f.Signs = j.Fresh(1, n)
	if n > j.Narrow(luUpdate) && !j.Typ.Complex() {
		f.product = j.Fresh((n+1)/2, (n+1)/2)
	}
	f.columns(0, n)
	return f
}

// columns factors columns lo to hi, which those before have been taken off: the
// left half, then the right one without what the left one has of it.
func (f *LU) columns(lo, hi int) {
	update, wide := f.Narrow(luUpdate), f.Narrow(luBlock)
	if hi-lo <= update {
		for at := lo; at < hi; at += wide {
			f.block(at, min(at+wide, hi), hi)
		}
		return
	}
	half := update
	for 2*half < hi-lo {
		half *= 2
	}
	mid := lo + half
	f.columns(lo, mid)
	right := f.A.From(lo, mid)
	triangular.Substitute(f.Job, triangular.Triangle{T: f.A.From(lo, lo), N: half, Unit: true}, right, right, hi-mid)
	f.less(f.A.From(mid, lo), right, f.A.From(mid, mid), f.n-mid, hi-mid, half)
	f.columns(mid, hi)
}

// less subtracts the product of m by k and k by n matrices from c. Products of package
// gemm are faster, but need memory for their result.
func (f *LU) less(a, b, c factor.Matrices, m, n, k int) {
	if f.Typ.Complex() {
		f.Multiply(factor.BlockProduct{A: a, B: b, C: c, M: m, N: n, K: k, Subtract: true})
		return
	}
	c = c.Transposed()
	product := f.Dense(f.product.Ref, n, m)
	f.Dotted(b.Transposed(), a.Transposed(), product, n, m, k)
	f.Each(factor.Elementwise{Name: "minus", To: c, From: []factor.Matrices{c, product}, M: n, N: m, F: factor.Minus})
}

// block factors columns lo to hi, a panel at a time, takes them off those up to
// end, and exchanges the rows of all.
func (f *LU) block(lo, hi, end int) {
	p := luPanel(f.Job, f.n-lo)
	turn := 0
	for at := lo; at < hi; at += p.Wide {
		f.step(p, luStep{lo, at, min(at+p.Wide, hi), end, turn})
		turn ^= 1
	}
	if hi < end {
		f.step(p, luStep{lo, hi, hi, end, turn})
	}
	f.exchange(lo, hi, f.places[turn])
}

// exchange moves rows to the places that those of a block have got, in all
// columns. A workgroup has some columns, and an invocation some rows of one.
func (f *LU) exchange(lo, hi int, at lowering.Ref) {
	w := &exchangeWriter{t: f.Typ, wide: factor.PanelWidth(hi-lo, luBlock)}
	w.height = min(w.wide, exchangeLocal)
	groups := (f.cols*w.height + exchangeLocal - 1) / exchangeLocal
	p := &codegen.Program{Local: exchangeLocal, Groups: f.Count * groups, Body: w.write,
		Buffers: []codegen.Buffer{f.Buffer(f.A, lowering.Read|lowering.Write), factor.Words(f.pivots, f.Count*f.n, lowering.Read), factor.Words(at, f.Count*f.n, lowering.Read)}}
	p.Numbers = append([]int{f.Count, groups, f.cols, f.n, hi - lo}, factor.Places(f.A.From(lo, 0))...)
	p.Key = fmt.Sprintf("exchange rows %v wide=%d", w.t, w.wide)
	f.Run(p)
}

// exchangeLocal is the size of a workgroup that exchanges rows.
const exchangeLocal = 128

// exchangeWriter writes the kernel of an exchange.
type exchangeWriter struct {
	t            scalar.Type
	wide, height int // rows at the top, a power of two; invocations of a column
}

func (w *exchangeWriter) write(e *codegen.Emitter) error {
	x := factor.Arith{Emitter: e, T: w.t}
	count, groups, all, n, cols := e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	g := factor.GridOf(e, 0)
	matrix, part := e.DivMod(e.Group(), groups)
	line, me := e.DivMod(e.Invocation(), e.Index(w.height))
	col := e.Add(e.Mul(part, e.Index(exchangeLocal/w.height)), line)
	inside := e.IsLess(col, all)
	col = e.Min(col, e.Sub(all, e.Index(1)))
	e.When(e.IsLess(matrix, count), func() {
		g, first := g.Of(matrix), e.Mul(matrix, n)
		var rows, to, come, went []kernel.Value
		for k := 0; k < w.wide; k += w.height {
			row := e.Add(me, e.Index(k))
			at := e.Add(first, e.Min(row, e.Sub(cols, e.Index(1))))
			rows = append(rows, row)
			come = append(come, g.Load(e.Load(1, at, 1)[0], col))
			to = append(to, e.Load(2, at, 1)[0])
			went = append(went, g.Load(e.Sub(at, first), col))
		}
		e.Barrier()
		for i, row := range rows {
			mine := x.And2(inside, e.IsLess(row, cols))
			e.IfThen(mine, func() { g.Store(row, col, come[i]) })
			e.IfThen(x.And2(mine, e.Compare(scalar.Le, cols, to[i])), func() { g.Store(to[i], col, went[i]) })
		}
	})
	return nil
}
