package factor

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/dot"
	"nxvk/synth/gemm"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// BlockProduct is C = A B, or C - A B, on parts of matrices where they lie: package
// gemm, which is faster, writes whole tensors. A workgroup computes one square
// tile of C, every invocation per × per elements of it, and sums in order of k.
type BlockProduct struct {
	A, B, C  Matrices // m by k, k by n, m by n
	M, N, K  int
	Subtract bool          // from what is there
	From     *lowering.Ref // or from what is at the same places of another buffer

	// k in that many shares, the results of each in a matrix of its own, step
	// elements apart: some C have too few tiles for the device.
	Shares, Step int

	Pairs *Pairing // products of pairs of blocks of a matrix
}

// The shape of a workgroup, and how much of k it takes at a time.
const (
	UpdateSide  = 8
	UpdateLocal = UpdateSide * UpdateSide
	updateDeep  = 16
)

// Multiply appends a product.
func (j *Job) Multiply(u BlockProduct) {
	if u.M < 1 || u.N < 1 || u.K < 1 {
		return
	}
	if !u.C.along() && u.Pairs == nil {
		// Neighbouring invocations write neighbours.
		u.A, u.B, u.C, u.M, u.N = u.B.Transposed(), u.A.Transposed(), u.C.Transposed(), u.N, u.M
	}
	u.Shares = max(u.Shares, 1)
	batches := j.Count
	if u.Pairs != nil {
		batches *= u.Pairs.Pairs
	}
	w := &updateWriter{BlockProduct: u, t: j.Typ, per: 8}
	// Small tiles where large ones would be half empty, too few for a device, or of
	// more registers than there are.
	if j.Words() > 2 || min(u.M, u.N) <= 4*UpdateSide || batches*u.Shares*((u.M+63)/64)*((u.N+63)/64) < 200 {
		w.per = 4
	}
	side := w.per * UpdateSide
	cols := (u.N + side - 1) / side
	tiles := (u.M + side - 1) / side * cols
	part := (u.K + u.Shares - 1) / u.Shares
	p := &codegen.Program{Local: UpdateLocal, Groups: batches * tiles * u.Shares, Body: w.write,
		Flops: 2 * int64(batches) * int64(u.M) * int64(u.N) * int64(u.K)}
	p.Numbers = append([]int{batches, u.M, u.N, u.K, tiles, cols}, Places(u.A, u.B, u.C)...)
	if u.Shares > 1 {
		p.Numbers = append(p.Numbers, u.Shares, part, u.Step)
	}
	p.Buffers = []codegen.Buffer{j.Buffer(u.A, lowering.Read), j.Buffer(u.B, lowering.Read), j.Buffer(u.C, lowering.Write)}
	if u.Subtract {
		from := u.C
		if u.From != nil {
			from.Ref = *u.From
		}
		p.Buffers = append(p.Buffers, j.Buffer(from, lowering.Read))
	}
	if u.Pairs != nil {
		p.Numbers = append(p.Numbers, u.Pairs.Pairs, u.Pairs.A, u.Pairs.B, u.Pairs.C)
		if u.Pairs.Active != nil {
			p.Numbers = append(p.Numbers, u.Pairs.Sweep*j.Count)
			p.Buffers = append(p.Buffers, *u.Pairs.Active)
		}
	}
	p.Key = fmt.Sprintf("update %v per=%d rows=%v,%v subtract=%v shared=%v pairs=%v conj=%v,%v",
		w.t, w.per, u.A.along(), u.B.along(), u.Subtract, u.Shares > 1, u.Pairs.describe(), u.A.Conj, u.B.Conj)
	j.Run(p)
}

// updateWriter writes the kernel of a product.
type updateWriter struct {
	BlockProduct
	t   scalar.Type
	per int
}

// updateTile has the indices and sizes of the tile of a workgroup.
type updateTile struct {
	Arith
	*updateWriter
	m, n        kernel.Value
	a, b, c     Grid
	as, bs      int // shared arrays, by k and then along the tile
	top, left   kernel.Value
	row, column kernel.Value // of the invocation in its workgroup

	table, players kernel.Value // of a pairing
}

func (w *updateWriter) write(e *codegen.Emitter) error {
	x := &updateTile{Arith: Arith{e, w.t}, updateWriter: w}
	count, m, n, k, tiles, cols := e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	x.m, x.n = m, n
	side := w.per * UpdateSide
	x.as, x.bs = e.Shared(w.t, updateDeep*(side+1)), e.Shared(w.t, updateDeep*(side+1))
	x.a, x.b, x.c = GridOf(e, 0), GridOf(e, 1), GridOf(e, 2)
	x.a.Conj, x.b.Conj = w.BlockProduct.A.Conj, w.BlockProduct.B.Conj
	matrix, tile := e.DivMod(e.Group(), tiles)
	first, end := e.Index(0), k
	if w.Shares > 1 {
		shares, part, step := e.NextNumber(), e.NextNumber(), e.NextNumber()
		var share kernel.Value
		matrix, share = e.DivMod(matrix, shares)
		first = e.Mul(share, part)
		end = e.Min(e.Add(first, part), k)
		x.c.Off = e.Add(x.c.Off, e.Mul(share, step))
	}
	active := e.IsLess(matrix, count)
	if w.Pairs != nil {
		matrix, active = x.pair(matrix, active)
	}
	x.a, x.b, x.c = x.a.Of(matrix), x.b.Of(matrix), x.c.Of(matrix)
	i, j := e.DivMod(tile, cols)
	x.top, x.left = e.Mul(i, e.Index(side)), e.Mul(j, e.Index(side))
	x.row, x.column = e.DivMod(e.Invocation(), e.Index(UpdateSide))
	e.When(active, func() { x.store(x.sums(first, end)) })
	return nil
}

// sums adds up the products of the elements of an invocation. A slice of the
// operands is fetched while the one before is used.
func (x *updateTile) sums(first, end kernel.Value) []kernel.Value {
	init := x.fetch(first, end)
	fetched := len(init)
	for range x.per * x.per {
		init = append(init, x.Number(0))
	}
	return x.Loop(first, end, x.Index(updateDeep), init, func(k kernel.Value, v []kernel.Value) []kernel.Value {
		x.put(v[:fetched])
		x.Barrier()
		next := x.fetch(x.Add(k, x.Index(updateDeep)), end)
		// Two at a time and not all: fetching a long kernel takes longer than a
		// small product. A complex one has four times the code.
		line, steps := x.per*UpdateSide+1, 2
		if x.T.Complex() {
			steps = 1
		}
		sums := x.Loop(x.Index(0), x.Index(updateDeep*line), x.Index(steps*line), v[fetched:], func(at kernel.Value, sums []kernel.Value) []kernel.Value {
			for i := range steps {
				sums = x.outer(x.Add(at, x.Index(i*line)), sums)
			}
			return sums
		})
		x.Barrier()
		return append(next, sums...)
	})[fetched:]
}

// outer adds the products of what lies from a place on in both shared arrays.
func (x *updateTile) outer(at kernel.Value, sums []kernel.Value) []kernel.Value {
	as, bs := make([]kernel.Value, x.per), make([]kernel.Value, x.per)
	for i := range x.per {
		as[i] = x.LoadShared(x.as, x.Add(x.Add(x.row, at), x.Index(i*UpdateSide)))
		bs[i] = x.LoadShared(x.bs, x.Add(x.Add(x.column, at), x.Index(i*UpdateSide)))
	}
	next := make([]kernel.Value, len(sums))
	for u := range sums {
		next[u] = x.Fma(as[u/x.per], bs[u%x.per], sums[u])
	}
	return next
}

// slices gives the places of a slice that the invocation fetches: the operand,
// whose first index runs along the tile, and where in shared memory. Neighbouring
// invocations read neighbours: along k where deep, else along the tile.
func (x *updateTile) slices(f func(g Grid, i, limit, d kernel.Value, array int, at kernel.Value)) {
	side := x.per * UpdateSide
	one := func(array int, g Grid, first, limit kernel.Value, deep bool) {
		for r := range updateDeep * side / UpdateLocal {
			u := x.Add(x.Invocation(), x.Index(r*UpdateLocal))
			d, i := x.DivMod(u, x.Index(side))
			if deep {
				i, d = x.DivMod(u, x.Index(updateDeep))
			}
			f(g, x.Add(first, i), limit, d, array, x.Add(x.Mul(d, x.Index(side+1)), i))
		}
	}
	b := x.b
	b.row, b.col = x.b.col, x.b.row
	one(x.as, x.a, x.top, x.m, x.BlockProduct.A.along())
	one(x.bs, b, x.left, x.n, !x.BlockProduct.B.along())
}

// fetch reads a slice, zeros beyond the end of k. Beyond the tile it reads
// the last element of the tile, so that nothing branches and loads do not wait for each other.
func (x *updateTile) fetch(k, end kernel.Value) (vs []kernel.Value) {
	one := x.Index(1)
	x.slices(func(g Grid, i, limit, d kernel.Value, _ int, _ kernel.Value) {
		kk := x.Add(k, d)
		v := g.Load(x.Min(i, x.Sub(limit, one)), x.Min(kk, x.Sub(end, one)))
		vs = append(vs, x.Select(x.IsLess(kk, end), v, x.Number(0)))
	})
	return vs
}

// put writes a slice to shared memory.
func (x *updateTile) put(vs []kernel.Value) {
	x.slices(func(_ Grid, _, _, _ kernel.Value, array int, at kernel.Value) {
		x.StoreShared(array, at, vs[0])
		vs = vs[1:]
	})
}

// store writes the elements of an invocation. It reads all minuends before it writes,
// so that reads do not wait for each other, and reads beyond the tile may meet elements
// that are in it.
func (x *updateTile) store(sums []kernel.Value) {
	place := func(u int) (r, c kernel.Value) {
		r = x.Add(x.top, x.Add(x.row, x.Index(u/x.per*UpdateSide)))
		c = x.Add(x.left, x.Add(x.column, x.Index(u%x.per*UpdateSide)))
		return r, c
	}
	values := append([]kernel.Value(nil), sums...)
	if x.Subtract {
		one := x.Index(1)
		for u, v := range values {
			r, c := place(u)
			at := x.c.At(x.Min(r, x.Sub(x.m, one)), x.Min(c, x.Sub(x.n, one)))
			values[u] = x.Sub(LoadElement(x.Arith.Emitter, 3, at), v)
		}
		x.Barrier()
	}
	for u, v := range values {
		r, c := place(u)
		x.IfThen(x.And2(x.IsLess(r, x.m), x.IsLess(c, x.n)), func() {
			if x.Pairs != nil && x.Pairs.Side > 0 {
				r = Seats{x.Emitter, x.table, x.players, x.Pairs.Side}.Of(r)
			}
			x.c.Store(r, c, v)
		})
	}
}

// Dotted appends the product of matrices; c must begin where its buffer does.
func (j *Job) Dotted(a, b, c Matrices, m, n, k int) {
	of := func(s Matrices) gemm.Strides { return gemm.Strides{Row: s.Row, Col: s.Col, Batch: s.Batch} }
	arg := func(s Matrices) lowering.Arg { return lowering.Arg{Ref: s.Ref, Offset: s.Off * j.Wide.Size()} }
	plan, err := gemm.New(gemm.Problem{Type: j.Wide, M: m, N: n, K: k, Batch: j.Count, A: of(a), B: of(b)}, dot.GEMMTarget(j.Target))
	j.Try(j.AddStepsOf(plan, err, arg(a), arg(b), c.Ref))
}
