package qr

import (
	"nxvk/synth/linalg/factor"
)

// blockedSide is from which smaller side on, on large devices, matrices are
// reflected a block of panels at a time. The products of blocks are those of package
// gemm, which are fast and write whole matrices: the trailing matrix is a
// new one after every block.
const blockedSide = 2048

// blockWide is how many columns a block has: four panels, and so many that memory
// can be bound where one begins.
func blockWide(j *factor.Job) int {
	const bound = 256 // bytes: offsets of bindings are multiples of it
	return max(4*qrPanel(j, 1).Wide, bound/j.Wide.Size())
}

// reflectorBlock is I - V T V^T, of the rows from lo on. V has wide columns.
type reflectorBlock struct {
	lo, wide int
	v, t     factor.Matrices
}

// reflectBlocks is reflect for large matrices.
func reflectBlocks(j *factor.Job, a factor.Matrices, m, n int) *QR {
	k, wide := min(m, n), blockWide(j)
	f := &QR{Job: j, a: a, m: m, n: n}
	left := [2]factor.Matrices{j.Fresh(m, n), j.Fresh(m, n)}
	product := j.Fresh(m, n)
	f.sums, f.update = j.Fresh(wide, max(m, n)), j.Fresh(wide, max(m, n))
	now := a
	for lo := 0; lo < k; lo += wide {
		rows, cols := m-lo, n-lo
		b := f.blockAt(now, lo, rows, min(wide, k-lo))
		p := j.Dense(product.Ref, rows, cols)
		f.applyBlock(b, b.t.Transposed(), now, p, cols)
		f.keep(b, now, p, cols)
		f.blocks = append(f.blocks, b)
		next := j.Dense(left[len(f.blocks)%2].Ref, rows-b.wide, cols-b.wide)
		j.Each(factor.Elementwise{Name: "minus", To: next, From: []factor.Matrices{now.From(b.wide, b.wide), p.From(b.wide, b.wide)}, M: rows - b.wide, N: cols - b.wide, F: factor.Minus})
		now = next
	}
	return f
}

// blockAt factors the first columns of the trailing matrix from row lo on, a panel at a
// time, and applies the reflectors of each panel to the rest of the block.
func (f *QR) blockAt(a factor.Matrices, lo, rows, wide int) reflectorBlock {
	most := qrPanel(f.Job, 1).Wide
	g := &QR{Job: f.Job, a: a, v: f.Fresh(wide, rows).Transposed(), t: f.Fresh(wide, wide), m: rows, n: wide}
	g.sums, g.update = f.Fresh(qrShares(rows)*most, wide), f.Fresh(most, wide)
	f.Zeros(g.v.Transposed(), wide, rows)
	f.Zeros(g.t, wide, wide)
	for at := 0; at < wide; {
		end := min(at+g.width(rows-at), wide)
		t := g.t.From(at, at)
		g.factor(at, end, t)
		g.apply(at, end, t.Transposed(), a.From(at, end), wide-end)
		at = end
	}
	return reflectorBlock{lo, wide, g.v, f.JoinReflectors(g.v, g.t, rows, wide)}
}

// applyBlock appends V T (V^T C), for all columns of the trailing matrix.
func (f *QR) applyBlock(b reflectorBlock, t, c, to factor.Matrices, cols int) {
	rows := f.m - b.lo
	inner, update := f.Dense(f.sums.Ref, b.wide, cols), f.Dense(f.update.Ref, b.wide, cols)
	f.Dotted(b.v.Transposed(), c, inner, b.wide, cols, rows)
	f.Dotted(t, inner, update, b.wide, cols, b.wide)
	f.Dotted(b.v, update, to, rows, cols, b.wide)
}

// keep appends rows of r; a block has their first columns.
func (f *QR) keep(b reflectorBlock, now, product factor.Matrices, cols int) {
	r := f.a.From(b.lo, b.lo)
	f.Copy(r, now, b.wide, b.wide)
	f.Each(factor.Elementwise{Name: "minus", To: r.From(0, b.wide), From: []factor.Matrices{now.From(0, b.wide), product.From(0, b.wide)}, M: b.wide, N: cols - b.wide, F: factor.Minus})
}

// formBlocks appends the first k columns of q: the identity, reflected from the
// last block on, each time with the rows and columns before it left out.
func (f *QR) formBlocks(q factor.Matrices, k int) {
	product := f.Fresh(f.m, k)
	f.Unit(q, f.m, k)
	for i := len(f.blocks) - 1; i >= 0; i-- {
		b := f.blocks[i]
		rows, cols := f.m-b.lo, k-b.lo
		p, part := f.Dense(product.Ref, rows, cols), q.From(b.lo, b.lo)
		f.applyBlock(b, b.t, part, p, cols)
		f.Each(factor.Elementwise{Name: "minus", To: part, From: []factor.Matrices{part, p}, M: rows, N: cols, F: factor.Minus})
	}
}
