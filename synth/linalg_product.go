package synth

import (
	"fmt"

	"nxvk/synth/gemm"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// blockProduct is C = A B, or C - A B, on parts of matrices where they lie: package
// gemm, which is faster, writes whole tensors. A workgroup computes one square
// tile of C, every invocation per × per elements of it, and sums in order of k.
type blockProduct struct {
	a, b, c  strided // m by k, k by n, m by n
	m, n, k  int
	subtract bool // from what is there
	from     *Ref // or from what is at the same places of another buffer

	// k in that many shares, the results of each in a matrix of its own, step
	// elements apart: some C have too few tiles for the device.
	shares, step int

	pairs *pairing // products of pairs of blocks of a matrix
}

// The shape of a workgroup, and how much of k it takes at a time.
const (
	updateSide  = 8
	updateLocal = updateSide * updateSide
	updateDeep  = 16
)

// multiply appends a product.
func (j *linalg) multiply(u blockProduct) {
	if u.m < 1 || u.n < 1 || u.k < 1 {
		return
	}
	if !u.c.along() && u.pairs == nil {
		// Neighbouring invocations write neighbours.
		u.a, u.b, u.c, u.m, u.n = u.b.transposed(), u.a.transposed(), u.c.transposed(), u.n, u.m
	}
	u.shares = max(u.shares, 1)
	batches := j.count
	if u.pairs != nil {
		batches *= u.pairs.pairs
	}
	w := &updateWriter{blockProduct: u, t: j.typ, per: 8}
	// Small tiles where large ones would be half empty, too few for a device, or of
	// more registers than there are.
	if j.words() > 2 || min(u.m, u.n) <= 4*updateSide || batches*u.shares*((u.m+63)/64)*((u.n+63)/64) < 200 {
		w.per = 4
	}
	side := w.per * updateSide
	cols := (u.n + side - 1) / side
	tiles := (u.m + side - 1) / side * cols
	part := (u.k + u.shares - 1) / u.shares
	p := &program{local: updateLocal, groups: batches * tiles * u.shares, body: w.write,
		flops: 2 * int64(batches) * int64(u.m) * int64(u.n) * int64(u.k)}
	p.nums = append([]int{batches, u.m, u.n, u.k, tiles, cols}, places(u.a, u.b, u.c)...)
	if u.shares > 1 {
		p.nums = append(p.nums, u.shares, part, u.step)
	}
	p.bufs = []buffer{j.buffer(u.a, Read), j.buffer(u.b, Read), j.buffer(u.c, Write)}
	if u.subtract {
		from := u.c
		if u.from != nil {
			from.ref = *u.from
		}
		p.bufs = append(p.bufs, j.buffer(from, Read))
	}
	if u.pairs != nil {
		p.nums = append(p.nums, u.pairs.pairs, u.pairs.a, u.pairs.b, u.pairs.c)
		if u.pairs.active != nil {
			p.nums = append(p.nums, u.pairs.sweep*j.count)
			p.bufs = append(p.bufs, *u.pairs.active)
		}
	}
	p.key = fmt.Sprintf("update %v per=%d rows=%v,%v subtract=%v shared=%v pairs=%v conj=%v,%v",
		w.t, w.per, u.a.along(), u.b.along(), u.subtract, u.shares > 1, u.pairs.describe(), u.a.conj, u.b.conj)
	j.run(p)
}

// updateWriter writes the kernel of a product.
type updateWriter struct {
	blockProduct
	t   scalar.Type
	per int
}

// updateTile is what is known of the tile of a workgroup.
type updateTile struct {
	arith
	*updateWriter
	m, n        kernel.Value
	a, b, c     grid
	as, bs      int // shared arrays, by k and then along the tile
	top, left   kernel.Value
	row, column kernel.Value // of the invocation in its workgroup

	table, players kernel.Value // of a pairing
}

func (w *updateWriter) write(e *emitter) error {
	x := &updateTile{arith: arith{e, w.t}, updateWriter: w}
	count, m, n, k, tiles, cols := e.num(), e.num(), e.num(), e.num(), e.num(), e.num()
	x.m, x.n = m, n
	side := w.per * updateSide
	x.as, x.bs = e.Shared(w.t, updateDeep*(side+1)), e.Shared(w.t, updateDeep*(side+1))
	x.a, x.b, x.c = e.grid(0), e.grid(1), e.grid(2)
	x.a.conj, x.b.conj = w.blockProduct.a.conj, w.blockProduct.b.conj
	matrix, tile := e.divide(e.group(), tiles)
	first, end := e.int(0), k
	if w.shares > 1 {
		shares, part, step := e.num(), e.num(), e.num()
		var share kernel.Value
		matrix, share = e.divide(matrix, shares)
		first = e.Mul(share, part)
		end = e.least(e.Add(first, part), k)
		x.c.off = e.Add(x.c.off, e.Mul(share, step))
	}
	active := e.below(matrix, count)
	if w.pairs != nil {
		matrix, active = x.pair(matrix, active)
	}
	x.a, x.b, x.c = x.a.of(matrix), x.b.of(matrix), x.c.of(matrix)
	i, j := e.divide(tile, cols)
	x.top, x.left = e.Mul(i, e.int(side)), e.Mul(j, e.int(side))
	x.row, x.column = e.divide(e.invocation(), e.int(updateSide))
	e.when(active, func() { x.store(x.sums(first, end)) })
	return nil
}

// sums adds up the products of the elements of an invocation. A slice of the
// operands is fetched while the one before is used.
func (x *updateTile) sums(first, end kernel.Value) []kernel.Value {
	init := x.fetch(first, end)
	fetched := len(init)
	for range x.per * x.per {
		init = append(init, x.number(0))
	}
	return x.Loop(first, end, x.int(updateDeep), init, func(k kernel.Value, v []kernel.Value) []kernel.Value {
		x.put(v[:fetched])
		x.Barrier()
		next := x.fetch(x.Add(k, x.int(updateDeep)), end)
		// Two at a time and not all: fetching a long kernel takes longer than a
		// small product.
		line := x.per*updateSide + 1
		sums := x.Loop(x.int(0), x.int(updateDeep*line), x.int(2*line), v[fetched:], func(at kernel.Value, sums []kernel.Value) []kernel.Value {
			return x.outer(x.Add(at, x.int(line)), x.outer(at, sums))
		})
		x.Barrier()
		return append(next, sums...)
	})[fetched:]
}

// outer adds the products of what lies from a place on in both shared arrays.
func (x *updateTile) outer(at kernel.Value, sums []kernel.Value) []kernel.Value {
	as, bs := make([]kernel.Value, x.per), make([]kernel.Value, x.per)
	for i := range x.per {
		as[i] = x.LoadShared(x.as, x.Add(x.Add(x.row, at), x.int(i*updateSide)))
		bs[i] = x.LoadShared(x.bs, x.Add(x.Add(x.column, at), x.int(i*updateSide)))
	}
	next := make([]kernel.Value, len(sums))
	for u := range sums {
		next[u] = x.fma(as[u/x.per], bs[u%x.per], sums[u])
	}
	return next
}

// slices gives the places of a slice that the invocation fetches: the operand,
// whose first index runs along the tile, and where in shared memory. Neighbouring
// invocations read neighbours: along k where deep, else along the tile.
func (x *updateTile) slices(f func(g grid, i, limit, d kernel.Value, array int, at kernel.Value)) {
	side := x.per * updateSide
	one := func(array int, g grid, first, limit kernel.Value, deep bool) {
		for r := range updateDeep * side / updateLocal {
			u := x.Add(x.invocation(), x.int(r*updateLocal))
			d, i := x.divide(u, x.int(side))
			if deep {
				i, d = x.divide(u, x.int(updateDeep))
			}
			f(g, x.Add(first, i), limit, d, array, x.Add(x.Mul(d, x.int(side+1)), i))
		}
	}
	b := x.b
	b.row, b.col = x.b.col, x.b.row
	one(x.as, x.a, x.top, x.m, x.blockProduct.a.along())
	one(x.bs, b, x.left, x.n, !x.blockProduct.b.along())
}

// fetch reads a slice, zeros beyond the end of k. What would be beyond the tile is
// the last there is, so that nothing branches and loads do not wait for each other.
func (x *updateTile) fetch(k, end kernel.Value) (vs []kernel.Value) {
	one := x.int(1)
	x.slices(func(g grid, i, limit, d kernel.Value, _ int, _ kernel.Value) {
		kk := x.Add(k, d)
		v := g.load(x.least(i, x.Sub(limit, one)), x.least(kk, x.Sub(end, one)))
		vs = append(vs, x.Select(x.below(kk, end), v, x.number(0)))
	})
	return vs
}

// put writes a slice to shared memory.
func (x *updateTile) put(vs []kernel.Value) {
	x.slices(func(_ grid, _, _, _ kernel.Value, array int, at kernel.Value) {
		x.StoreShared(array, at, vs[0])
		vs = vs[1:]
	})
}

// store writes the elements of an invocation. What they are subtracted from is
// read before anything of the tile is written, so that reads do not wait for each
// other, and those beyond the tile may be of what is in it.
func (x *updateTile) store(sums []kernel.Value) {
	place := func(u int) (r, c kernel.Value) {
		r = x.Add(x.top, x.Add(x.row, x.int(u/x.per*updateSide)))
		c = x.Add(x.left, x.Add(x.column, x.int(u%x.per*updateSide)))
		return r, c
	}
	values := append([]kernel.Value(nil), sums...)
	if x.subtract {
		one := x.int(1)
		for u, v := range values {
			r, c := place(u)
			at := x.c.at(x.least(r, x.Sub(x.m, one)), x.least(c, x.Sub(x.n, one)))
			values[u] = x.Sub(x.loadElement(3, at), v)
		}
		x.Barrier()
	}
	for u, v := range values {
		r, c := place(u)
		x.then(x.both(x.below(r, x.m), x.below(c, x.n)), func() {
			if x.pairs != nil && x.pairs.side > 0 {
				r = seats{x.emitter, x.table, x.players, x.pairs.side}.of(r)
			}
			x.c.store(r, c, v)
		})
	}
}

// dotted appends the product of matrices, of which c begins where its buffer does.
func (j *linalg) dotted(a, b, c strided, m, n, k int) {
	of := func(s strided) gemm.Strides { return gemm.Strides{Row: s.row, Col: s.col, Batch: s.batch} }
	arg := func(s strided) Arg { return Arg{Ref: s.ref, Offset: s.off * j.wide.Size()} }
	plan, err := gemm.New(gemm.Problem{Type: j.wide, M: m, N: n, K: k, Batch: j.count, A: of(a), B: of(b)}, j.t.gemm())
	j.try(j.stepsOf(plan, err, arg(a), arg(b), c.ref))
}
