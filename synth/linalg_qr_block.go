package synth

import "nxvk/synth/kernel"

// blockedSide is from which smaller side on, on large devices, matrices are
// reflected a block of panels at a time. The products of blocks are those of package
// gemm, which are fast and write whole matrices: what is left of the matrix is a
// new one after every block.
const blockedSide = 2048

// blockWide is how many columns a block has: four panels, and so many that memory
// can be bound where one begins.
func (j *linalg) blockWide() int {
	const bound = 256 // bytes, of which the offset of a binding is a multiple
	return max(4*j.qrPanel(1).wide, bound/j.wide.Size())
}

// reflectionBlock is I - V T V^T, of the rows from lo on. V has wide columns.
type reflectionBlock struct {
	lo, wide int
	v, t     strided
}

// reflectBlocks is reflect for large matrices.
func (j *linalg) reflectBlocks(a strided, m, n int) *reflections {
	k, wide := min(m, n), j.blockWide()
	f := &reflections{linalg: j, a: a, m: m, n: n}
	left := [2]strided{j.fresh(m, n), j.fresh(m, n)}
	product := j.fresh(m, n)
	f.sums, f.turned = j.fresh(wide, max(m, n)), j.fresh(wide, max(m, n))
	now := a
	for lo := 0; lo < k; lo += wide {
		rows, cols := m-lo, n-lo
		b := f.blockAt(now, lo, rows, min(wide, k-lo))
		p := j.dense(product.ref, rows, cols)
		f.applied(b, b.t.transposed(), now, p, cols)
		f.keep(b, now, p, cols)
		f.blocks = append(f.blocks, b)
		next := j.dense(left[len(f.blocks)%2].ref, rows-b.wide, cols-b.wide)
		j.each(elementwise{"minus", next, []strided{now.from(b.wide, b.wide), p.from(b.wide, b.wide)}, rows - b.wide, cols - b.wide, minus})
		now = next
	}
	return f
}

// blockAt factors the first columns of what is left from row lo on, a panel at a
// time, whose reflectors are applied to the rest of the block.
func (f *reflections) blockAt(a strided, lo, rows, wide int) reflectionBlock {
	most := f.qrPanel(1).wide
	g := &reflections{linalg: f.linalg, a: a, v: f.fresh(wide, rows).transposed(), t: f.fresh(wide, wide), m: rows, n: wide}
	g.sums, g.turned = f.fresh(qrShares(rows)*most, wide), f.fresh(most, wide)
	f.zeros(g.v.transposed(), wide, rows)
	f.zeros(g.t, wide, wide)
	for at := 0; at < wide; {
		end := min(at+g.width(rows-at), wide)
		t := g.t.from(at, at)
		g.factor(at, end, t)
		g.apply(at, end, t.transposed(), a.from(at, end), wide-end)
		at = end
	}
	return reflectionBlock{lo, wide, g.v, f.joined(g.v, g.t, rows, wide)}
}

// applied appends V T (V^T C), for all columns of what is left.
func (f *reflections) applied(b reflectionBlock, t, c, to strided, cols int) {
	rows := f.m - b.lo
	inner, turned := f.dense(f.sums.ref, b.wide, cols), f.dense(f.turned.ref, b.wide, cols)
	f.dotted(b.v.transposed(), c, inner, b.wide, cols, rows)
	f.dotted(t, inner, turned, b.wide, cols, b.wide)
	f.dotted(b.v, turned, to, rows, cols, b.wide)
}

// keep appends rows of r, of which a block has the first columns.
func (f *reflections) keep(b reflectionBlock, now, product strided, cols int) {
	r := f.a.from(b.lo, b.lo)
	f.copy(r, now, b.wide, b.wide)
	f.each(elementwise{"minus", r.from(0, b.wide), []strided{now.from(0, b.wide), product.from(0, b.wide)}, b.wide, cols - b.wide, minus})
}

// formBlocks appends the first k columns of q: the identity, reflected from the
// last block on, each time with the rows and columns before it left out.
func (f *reflections) formBlocks(q strided, k int) {
	product := f.fresh(f.m, k)
	f.unit(q, f.m, k)
	for i := len(f.blocks) - 1; i >= 0; i-- {
		b := f.blocks[i]
		rows, cols := f.m-b.lo, k-b.lo
		p, part := f.dense(product.ref, rows, cols), q.from(b.lo, b.lo)
		f.applied(b, b.t, part, p, cols)
		f.each(elementwise{"minus", part, []strided{part, p}, rows, cols, minus})
	}
}

func minus(x arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
	return x.Sub(from[0], from[1])
}
