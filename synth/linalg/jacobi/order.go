package jacobi

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// columnLengths appends the length of each of m rows of n elements, and what turns the
// first element of the largest magnitude to a positive number: a matrix of two
// columns. A workgroup has a row.
func columnLengths(j *factor.Job, of factor.Matrices, m, n int) factor.Matrices {
	to := j.Fresh(m, 2)
	p := &codegen.Program{Local: factor.UpdateLocal, Groups: j.Count * m, Flops: int64(j.Count * m * n),
		Buffers: []codegen.Buffer{j.Buffer(of, lowering.Read), j.Buffer(to, lowering.Write)}}
	p.Numbers = append([]int{j.Count, m, n}, factor.Places(of, to)...)
	p.Key = fmt.Sprintf("lengths %v", j.Typ)
	typ := j.Typ
	p.Body = func(e *codegen.Emitter) error { return writeLengths(factor.Arith{Emitter: e, T: typ}) }
	j.Run(p)
	return to
}

func writeLengths(x factor.Arith) error {
	count, m, n := x.NextNumber(), x.NextNumber(), x.NextNumber()
	of, to := factor.GridOf(x.Emitter, 0), factor.GridOf(x.Emitter, 1)
	sums, tops, at := x.Shared(x.T.Part(), x.Local), x.Shared(x.T.Part(), x.Local), x.Shared(scalar.U32, x.Local)
	matrix, row := x.DivMod(x.Group(), m)
	x.When(x.IsLess(matrix, count), func() {
		of, to := of.Of(matrix), to.Of(matrix)
		me := x.Invocation()
		c := x.Loop(me, n, x.Index(x.Local), []kernel.Value{x.Real(0), x.Real(-1), me},
			func(k kernel.Value, c []kernel.Value) []kernel.Value {
				v := of.Load(row, k)
				sum, size := c[0], x.Abs(v)
				for _, part := range x.PartsOf(v) {
					sum = x.Fma(part, part, sum)
				}
				more := x.Compare(scalar.Lt, c[1], size)
				return []kernel.Value{sum, x.Select(more, size, c[1]), x.Select(more, k, c[2])}
			})
		x.StoreShared(sums, me, c[0])
		x.StoreShared(tops, me, c[1])
		x.StoreShared(at, me, c[2])
		x.ReduceTree(x.Local, func(into, from kernel.Value) {
			x.StoreShared(sums, into, x.Add(x.LoadShared(sums, into), x.LoadShared(sums, from)))
			a, b := x.LoadShared(tops, into), x.LoadShared(tops, from)
			i, k := x.LoadShared(at, into), x.LoadShared(at, from)
			better := x.Or2(x.Compare(scalar.Lt, a, b), x.And2(x.Compare(scalar.Eq, a, b), x.IsLess(k, i)))
			x.StoreShared(tops, into, x.Select(better, b, a))
			x.StoreShared(at, into, x.Select(better, k, i))
		})
		if x.T.Complex() {
			firstOf(x, of, row, n, x.LoadShared(tops, x.Index(0)), at)
		}
		x.IfThen(x.IsEqual(me, x.Index(0)), func() {
			to.Store(row, x.Index(0), x.Sqrt(x.LoadShared(sums, x.Index(0))))
			first := x.LoadShared(at, x.Index(0))
			top := of.Load(row, x.Min(first, x.Sub(n, x.Index(1))))
			to.Store(row, x.Index(1), factor.Conj(x.Emitter, x.Phase(top)))
		})
	})
	return nil
}

// firstOf finds the first element of a row whose magnitude is the largest but for
// rounding, which elements of different phases have their share of.
func firstOf(x factor.Arith, of factor.Grid, row, n, top kernel.Value, at int) {
	me, least := x.Invocation(), x.Mul(top, x.Real(1-16*x.Eps()))
	first := x.Loop(me, n, x.Index(x.Local), []kernel.Value{n}, func(k kernel.Value, c []kernel.Value) []kernel.Value {
		found := x.Compare(scalar.Le, least, x.Abs(of.Load(row, k)))
		return []kernel.Value{x.Select(found, x.Min(k, c[0]), c[0])}
	})[0]
	x.Barrier()
	x.StoreShared(at, me, first)
	x.ReduceTree(x.Local, func(into, from kernel.Value) {
		x.StoreShared(at, into, x.Min(x.LoadShared(at, into), x.LoadShared(at, from)))
	})
}

// order appends the order of n real numbers by magnitude, the largest first: words
// that say where each comes from. Equal ones, and NaN, keep theirs.
func order(j *factor.Job, of factor.Matrices, n int) lowering.Ref {
	to := j.NewTemp(4 * j.Count * n)
	p := &codegen.Program{Local: factor.UpdateLocal, Groups: (j.Count*n + factor.UpdateLocal - 1) / factor.UpdateLocal, Flops: int64(j.Count * n * n),
		Buffers: []codegen.Buffer{j.Buffer(of, lowering.Read), factor.Words(to, j.Count*n, lowering.Write)}}
	p.Numbers = append([]int{j.Count * n, n}, factor.Places(of)...)
	p.Key = fmt.Sprintf("order %v", j.Typ)
	typ := j.Typ
	p.Body = func(e *codegen.Emitter) error {
		x := factor.Arith{Emitter: e, T: typ}
		all, n := e.NextNumber(), e.NextNumber()
		of := factor.GridOf(e, 0)
		u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
		e.IfThen(e.IsLess(u, all), func() {
			matrix, i := e.DivMod(u, n)
			of := of.Of(matrix)
			size := func(i kernel.Value) kernel.Value {
				v := x.Abs(x.Re(of.Load(i, e.Index(0))))
				return x.Select(x.Compare(scalar.Ne, v, v), x.Real(0), v)
			}
			mine := size(i)
			rank := e.Loop(e.Index(0), n, e.Index(1), []kernel.Value{e.Index(0)}, func(k kernel.Value, c []kernel.Value) []kernel.Value {
				v := size(k)
				before := e.Or2(x.Compare(scalar.Lt, mine, v), e.And2(x.Compare(scalar.Eq, mine, v), e.IsLess(k, i)))
				return []kernel.Value{e.Add(c[0], e.Select(before, e.Index(1), e.Index(0)))}
			})[0]
			e.Store(1, e.Add(e.Mul(matrix, n), rank), i)
		})
		return nil
	}
	j.Run(p)
	return to
}

// reorder appends m rows of n elements in an order, each times the scale of the
// row that it was.
func reorder(j *factor.Job, to, from, scale factor.Matrices, order lowering.Ref, m, n int) {
	p := &codegen.Program{Local: codegen.GPULocal, Groups: (j.Count*m*n + codegen.GPULocal - 1) / codegen.GPULocal, Flops: int64(j.Count * m * n),
		Buffers: []codegen.Buffer{j.Buffer(to, lowering.Write), j.Buffer(from, lowering.Read), j.Buffer(scale, lowering.Read), factor.Words(order, j.Count*m, lowering.Read)}}
	p.Numbers = append([]int{j.Count * m * n, m, n}, factor.Places(to, from, scale)...)
	p.Key = fmt.Sprintf("ordered %v conj=%v,%v", j.Typ, from.Conj, scale.Conj)
	typ := j.Typ
	p.Body = func(e *codegen.Emitter) error {
		x := factor.Arith{Emitter: e, T: typ}
		all, m, n := e.NextNumber(), e.NextNumber(), e.NextNumber()
		to, was, times := factor.GridOf(e, 0), factor.GridOf(e, 1), factor.GridOf(e, 2)
		was.Conj, times.Conj = from.Conj, scale.Conj
		u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
		e.IfThen(e.IsLess(u, all), func() {
			row, k := e.DivMod(u, n)
			matrix, i := e.DivMod(row, m)
			place := e.Load(3, row, 1)[0]
			v := x.Mul(was.Of(matrix).Load(place, k), times.Of(matrix).Load(place, e.Index(0)))
			to.Of(matrix).Store(i, k, v)
		})
		return nil
	}
	j.Run(p)
}

// noise is how large, next to the greatest, a value is that only rounding may
// have made. It is given as 0: see the host's.
func noise(j *factor.Job, result, n int) float64 {
	eps := 0x1p-23
	if j.In.Outs[result].Type.DType.Real() == ops.F64 {
		eps = 0x1p-52
	}
	return 8 * eps * float64(max(1, n/32))
}

// sortedValues appends n values, which are real, in order, without those that are noise,
// times a number.
func sortedValues(j *factor.Job, to, sorted, back factor.Matrices, n int, noise float64) {
	top := sorted
	top.Row, top.Col, back.Row, back.Col = 0, 0, 0, 0
	j.Each(factor.Elementwise{Name: fmt.Sprintf("values noise=%g", noise), To: to, From: []factor.Matrices{sorted, top, back}, M: n, N: 1,
		F: func(x factor.Arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
			v, top, back := x.Re(from[0]), x.Re(from[1]), x.Re(from[2])
			small := x.Compare(scalar.Le, x.Abs(v), x.Mul(x.Real(noise), x.Abs(top)))
			return x.Select(small, x.Real(0), x.Mul(v, back))
		}})
}
