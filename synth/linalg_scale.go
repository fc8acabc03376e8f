package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// scaled appends a copy of m by n matrices times a power of two that brings their
// largest elements to about 1, so that squares neither overflow nor vanish, and
// gives what results are to be multiplied by. Where an element is not finite all
// become NaN.
func (j *linalg) scaled(to, from strided, m, n int) (back strided) {
	factor := j.fresh(1, 2)
	if groups := min(256, m*n/(16<<10)); groups > 1 {
		tops := j.fresh(1, groups)
		j.largest(from, tops, m, n, groups, false)
		j.largest(tops, factor, 1, groups, 1, true)
	} else {
		j.largest(from, factor, m, n, 1, true)
	}
	j.times(to, from, factor, m, n)
	return factor.from(0, 1)
}

// largest appends the largest magnitudes of elements, or of their parts, in parts of matrices, a workgroup each,
// or at last what the scale makes of them.
func (j *linalg) largest(from, to strided, m, n, groups int, last bool) {
	w := &scaleWriter{t: j.typ, local: 256, last: last}
	for groups == 1 && w.local < m*n && 2*w.local <= min(1024, j.t.MaxInvocations) {
		w.local *= 2
	}
	w.local = min(w.local, j.t.MaxInvocations)
	p := &program{local: uint32(w.local), groups: j.count * groups, body: w.write, flops: int64(j.count * m * n),
		bufs: []buffer{j.buffer(from, Read), j.buffer(to, Write)}}
	p.nums = append([]int{j.count, groups, m * n, n}, places(from, to)...)
	p.key = fmt.Sprintf("scale %v local=%d last=%v", w.t, w.local, last)
	j.run(p)
}

// times appends a copy of m by n matrices times a number each.
func (j *linalg) times(to, from, factor strided, m, n int) {
	factor.row, factor.col = 0, 0
	j.each(elementwise{"times", to, []strided{from, factor}, m, n,
		func(x arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
			return x.Add(x.Mul(from[0], from[1]), x.number(0)) // no negative zero
		}})
}

// scaleWriter writes the kernel that finds the power of two and its inverse.
type scaleWriter struct {
	t     scalar.Type
	local int
	last  bool // whether the power is to be written, or the largest magnitude
}

func (w *scaleWriter) write(e *emitter) error {
	x := arith{e, w.t}
	count, groups, size, n := e.num(), e.num(), e.num(), e.num()
	from, to := e.grid(0), e.grid(1)
	tops := e.Shared(w.t.Part(), w.local)
	matrix, part := e.divide(e.group(), groups)
	e.when(e.below(matrix, count), func() {
		from, to := from.of(matrix), to.of(matrix)
		larger := func(top, v kernel.Value) kernel.Value {
			keep := x.both(x.not(x.Compare(scalar.Ne, v, v)), x.not(x.Compare(scalar.Lt, top, v)))
			return x.Select(keep, top, v) // NaN stays, once there
		}
		slice := e.int(4 * w.local)
		first := e.Add(e.Mul(part, slice), e.invocation())
		top := e.Loop(first, size, e.Mul(groups, slice), []kernel.Value{x.real(0)},
			func(u kernel.Value, c []kernel.Value) []kernel.Value {
				top := c[0]
				for k := range 4 {
					at := e.Add(u, e.int(k*w.local))
					i, col := e.divide(at, n)
					for _, part := range x.parts(from.loadOr(e.below(at, size), i, col, x.number(0))) {
						top = larger(top, x.abs(part))
					}
				}
				return []kernel.Value{top}
			})[0]
		e.StoreShared(tops, e.invocation(), top)
		e.tree(w.local, func(into, from kernel.Value) {
			e.StoreShared(tops, into, larger(e.LoadShared(tops, into), e.LoadShared(tops, from)))
		})
		e.then(e.same(e.invocation(), e.int(0)), func() {
			top := e.LoadShared(tops, e.int(0))
			if !w.last {
				to.store(e.int(0), part, top)
				return
			}
			down, back := w.powers(x, top)
			to.store(e.int(0), e.int(0), down)
			to.store(e.int(0), e.int(1), back)
		})
	})
	return nil
}

// powers are the power of two that takes a number to between 1 and 2, or as near
// as the exponents reach, and its inverse; NaN for what is not finite, 1 for 0.
func (w *scaleWriter) powers(x arith, top kernel.Value) (down, back kernel.Value) {
	word, shift, most := top, 23, 254
	if w.t.Part() == scalar.F64 {
		word, shift, most = x.Prim(scalar.Hi, scalar.U32, top), 20, 2046
	}
	exp := x.And(x.Shr(x.Bitcast(word, scalar.U32), shift), uint64(most+1))
	limit := x.Int(scalar.U32, most-1)
	to := x.Sub(x.Int(scalar.U32, most), x.least(exp, limit))
	to = x.least(to, limit)
	power := func(exp kernel.Value) kernel.Value {
		if w.t.Part() == scalar.F64 {
			return x.Prim(scalar.Pack, scalar.F64, x.Int(scalar.U32, 0), x.Shl(exp, shift))
		}
		return x.Bitcast(x.Shl(exp, shift), scalar.F32)
	}
	none := x.zero(top)
	finite := x.zero(x.Sub(top, top))
	pick := func(v kernel.Value) kernel.Value {
		return x.Select(none, x.real(1), x.Select(finite, v, x.Sub(top, top)))
	}
	return pick(power(to)), pick(power(x.Sub(x.Int(scalar.U32, most), to)))
}
