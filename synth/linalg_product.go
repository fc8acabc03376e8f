package synth

import (
	"fmt"

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
	lower    bool // tiles above the diagonal of C are left as they are

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
	u.shares = max(u.shares, 1)
	batches := j.count
	if u.pairs != nil {
		batches *= u.pairs.pairs
	}
	w := &updateWriter{blockProduct: u, t: j.typ, per: 8}
	// Small tiles where large ones would be half empty, or too few for a device.
	if min(u.m, u.n) <= 4*updateSide || batches*u.shares*((u.m+63)/64)*((u.n+63)/64) < 200 {
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
	p.key = fmt.Sprintf("update %v per=%d rows=%v,%v subtract=%v lower=%v shared=%v pairs=%v",
		w.t, w.per, u.a.along(), u.b.along(), u.subtract, u.lower, u.shares > 1, u.pairs.describe())
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
	reals
	*updateWriter
	m, n        kernel.Value
	a, b, c     grid
	as, bs      int // shared arrays, by k and then along the tile
	top, left   kernel.Value
	row, column kernel.Value // of the invocation in its workgroup

	table, players kernel.Value // of a pairing
}

func (w *updateWriter) write(e *emitter) error {
	x := &updateTile{reals: reals{e, w.t}, updateWriter: w}
	count, m, n, k, tiles, cols := e.num(), e.num(), e.num(), e.num(), e.num(), e.num()
	x.m, x.n = m, n
	side := w.per * updateSide
	x.as, x.bs = e.Shared(w.t, updateDeep*(side+1)), e.Shared(w.t, updateDeep*(side+1))
	x.a, x.b, x.c = e.grid(0), e.grid(1), e.grid(2)
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
	if w.lower {
		active = e.both(active, e.Compare(scalar.Le, j, i))
	}
	e.when(active, func() { x.store(x.sums(first, end)) })
	return nil
}

// sums adds up the products of the elements of an invocation.
func (x *updateTile) sums(first, end kernel.Value) []kernel.Value {
	zeros := make([]kernel.Value, x.per*x.per)
	for i := range zeros {
		zeros[i] = x.number(0)
	}
	return x.Loop(first, end, x.int(updateDeep), zeros, func(k kernel.Value, sums []kernel.Value) []kernel.Value {
		x.fill(x.as, x.a, x.top, x.m, k, end, x.blockProduct.a.along())
		x.fill(x.bs, grid{x.emitter, x.b.buf, x.b.off, x.b.col, x.b.row, x.b.batch}, x.left, x.n, k, end, !x.blockProduct.b.along())
		x.Barrier()
		// Two at a time and not all: fetching a long kernel takes longer than a
		// small product.
		line := x.per*updateSide + 1
		sums = x.Loop(x.int(0), x.int(updateDeep*line), x.int(2*line), sums, func(at kernel.Value, sums []kernel.Value) []kernel.Value {
			return x.outer(x.Add(at, x.int(line)), x.outer(at, sums))
		})
		x.Barrier()
		return sums
	})
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

// fill copies a slice of an operand, whose first index runs along the tile, into
// shared memory, zeros beyond its end. Neighbouring invocations read neighbours:
// along k where deep, else along the tile.
func (x *updateTile) fill(array int, g grid, first, limit, k, end kernel.Value, deep bool) {
	side := x.per * updateSide
	for r := range updateDeep * side / updateLocal {
		u := x.Add(x.invocation(), x.int(r*updateLocal))
		d, i := x.divide(u, x.int(side))
		if deep {
			i, d = x.divide(u, x.int(updateDeep))
		}
		at, kk := x.Add(first, i), x.Add(k, d)
		v := g.loadOr(x.both(x.below(at, limit), x.below(kk, end)), at, kk, x.number(0))
		x.StoreShared(array, x.Add(x.Mul(d, x.int(side+1)), i), v)
	}
}

// store writes the elements of an invocation. What they are subtracted from is
// read before anything is written, so that reads do not wait for each other.
func (x *updateTile) store(sums []kernel.Value) {
	place := func(u int) (r, c, inside kernel.Value) {
		r = x.Add(x.top, x.Add(x.row, x.int(u/x.per*updateSide)))
		c = x.Add(x.left, x.Add(x.column, x.int(u%x.per*updateSide)))
		return r, c, x.both(x.below(r, x.m), x.below(c, x.n))
	}
	values := append([]kernel.Value(nil), sums...)
	if x.subtract {
		for u, v := range values {
			r, c, inside := place(u)
			values[u] = x.If(inside, func() []kernel.Value {
				return []kernel.Value{x.Sub(x.Load(3, x.c.at(r, c), 1)[0], v)}
			}, func() []kernel.Value { return []kernel.Value{v} })[0]
		}
	}
	for u, v := range values {
		r, c, inside := place(u)
		x.then(inside, func() {
			if x.pairs != nil && x.pairs.side > 0 {
				r = x.seat(r)
			}
			x.c.store(r, c, v)
		})
	}
}
