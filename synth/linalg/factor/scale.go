package factor

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// Scaled appends a copy of m by n matrices times a power of two that brings their
// largest elements to about 1, so that squares neither overflow nor vanish, and
// gives what results are to be multiplied by. Where an element is not finite all
// become NaN.
func (j *Job) Scaled(to, from Matrices, m, n int) (back Matrices) {
	factor := j.Fresh(1, 2)
	if groups := min(256, m*n/(16<<10)); groups > 1 {
		tops := j.Fresh(1, groups)
		j.largest(from, tops, m, n, groups, false)
		j.largest(tops, factor, 1, groups, 1, true)
	} else {
		j.largest(from, factor, m, n, 1, true)
	}
	j.times(to, from, factor, m, n)
	return factor.From(0, 1)
}

// largest appends the largest magnitudes of elements, or of their parts, in parts of matrices, a workgroup each,
// or at last what the scale makes of them.
func (j *Job) largest(from, to Matrices, m, n, groups int, last bool) {
	w := &scaleWriter{t: j.Typ, local: 256, last: last}
	for groups == 1 && w.local < m*n && 2*w.local <= min(1024, j.Target.MaxInvocations) {
		w.local *= 2
	}
	w.local = min(w.local, j.Target.MaxInvocations)
	p := &codegen.Program{Local: uint32(w.local), Groups: j.Count * groups, Body: w.write, Flops: int64(j.Count * m * n),
		Buffers: []codegen.Buffer{j.Buffer(from, lowering.Read), j.Buffer(to, lowering.Write)}}
	p.Numbers = append([]int{j.Count, groups, m * n, n}, Places(from, to)...)
	p.Key = fmt.Sprintf("scale %v local=%d last=%v", w.t, w.local, last)
	j.Run(p)
}

// times appends a copy of m by n matrices times a number each.
func (j *Job) times(to, from, factor Matrices, m, n int) {
	factor.Row, factor.Col = 0, 0
	j.Each(Elementwise{"times", to, []Matrices{from, factor}, m, n,
		func(x Arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
			return x.Add(x.Mul(from[0], from[1]), x.Number(0)) // no negative zero
		}})
}

// scaleWriter writes the kernel that finds the power of two and its inverse.
type scaleWriter struct {
	t     scalar.Type
	local int
	last  bool // whether the power is to be written, or the largest magnitude
}

func (w *scaleWriter) write(e *codegen.Emitter) error {
	x := Arith{e, w.t}
	count, groups, size, n := e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	from, to := GridOf(e, 0), GridOf(e, 1)
	tops := e.Shared(w.t.Part(), w.local)
	matrix, part := e.DivMod(e.Group(), groups)
	e.When(e.IsLess(matrix, count), func() {
		from, to := from.Of(matrix), to.Of(matrix)
		larger := func(top, v kernel.Value) kernel.Value {
			keep := x.And2(x.Not(x.Compare(scalar.Ne, v, v)), x.Not(x.Compare(scalar.Lt, top, v)))
			return x.Select(keep, top, v) // NaN stays, once there
		}
		slice := e.Index(4 * w.local)
		first := e.Add(e.Mul(part, slice), e.Invocation())
		top := e.Loop(first, size, e.Mul(groups, slice), []kernel.Value{x.Real(0)},
			func(u kernel.Value, c []kernel.Value) []kernel.Value {
				top := c[0]
				for k := range 4 {
					at := e.Add(u, e.Index(k*w.local))
					i, col := e.DivMod(at, n)
					for _, part := range x.PartsOf(from.LoadOr(e.IsLess(at, size), i, col, x.Number(0))) {
						top = larger(top, x.Abs(part))
					}
				}
				return []kernel.Value{top}
			})[0]
		e.StoreShared(tops, e.Invocation(), top)
		e.ReduceTree(w.local, func(into, from kernel.Value) {
			e.StoreShared(tops, into, larger(e.LoadShared(tops, into), e.LoadShared(tops, from)))
		})
		e.IfThen(e.IsEqual(e.Invocation(), e.Index(0)), func() {
			top := e.LoadShared(tops, e.Index(0))
			if !w.last {
				to.Store(e.Index(0), part, top)
				return
			}
			down, back := w.powers(x, top)
			to.Store(e.Index(0), e.Index(0), down)
			to.Store(e.Index(0), e.Index(1), back)
		})
	})
	return nil
}

// powers are the power of two that takes a number to between 1 and 2, or as near
// as the exponents reach, and its inverse; NaN for what is not finite, 1 for 0.
func (w *scaleWriter) powers(x Arith, top kernel.Value) (down, back kernel.Value) {
	word, shift, most := top, 23, 254
	if w.t.Part() == scalar.F64 {
		word, shift, most = x.Prim(scalar.Hi, scalar.U32, top), 20, 2046
	}
	exp := x.And(x.Shr(x.Bitcast(word, scalar.U32), shift), uint64(most+1))
	limit := x.Int(scalar.U32, most-1)
	to := x.Sub(x.Int(scalar.U32, most), x.Min(exp, limit))
	to = x.Min(to, limit)
	power := func(exp kernel.Value) kernel.Value {
		if w.t.Part() == scalar.F64 {
			return x.Prim(scalar.Pack, scalar.F64, x.Int(scalar.U32, 0), x.Shl(exp, shift))
		}
		return x.Bitcast(x.Shl(exp, shift), scalar.F32)
	}
	none := x.Zero(top)
	finite := x.Zero(x.Sub(top, top))
	pick := func(v kernel.Value) kernel.Value {
		return x.Select(none, x.Real(1), x.Select(finite, v, x.Sub(top, top)))
	}
	return pick(power(to)), pick(power(x.Sub(x.Int(scalar.U32, most), to)))
}
