package synth

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// lengths appends the length of each of m rows of n elements, and what turns the
// first element of the largest magnitude to a positive number: a matrix of two
// columns. A workgroup has a row.
func (j *linalg) lengths(of strided, m, n int) strided {
	to := j.fresh(m, 2)
	p := &program{local: updateLocal, groups: j.count * m, flops: int64(j.count * m * n),
		bufs: []buffer{j.buffer(of, Read), j.buffer(to, Write)}}
	p.nums = append([]int{j.count, m, n}, places(of, to)...)
	p.key = fmt.Sprintf("lengths %v", j.typ)
	typ := j.typ
	p.body = func(e *emitter) error { return writeLengths(arith{e, typ}) }
	j.run(p)
	return to
}

func writeLengths(x arith) error {
	count, m, n := x.num(), x.num(), x.num()
	of, to := x.grid(0), x.grid(1)
	sums, tops, at := x.Shared(x.t.Part(), x.local), x.Shared(x.t.Part(), x.local), x.Shared(scalar.U32, x.local)
	matrix, row := x.divide(x.group(), m)
	x.when(x.below(matrix, count), func() {
		of, to := of.of(matrix), to.of(matrix)
		me := x.invocation()
		c := x.Loop(me, n, x.int(x.local), []kernel.Value{x.real(0), x.real(-1), me},
			func(k kernel.Value, c []kernel.Value) []kernel.Value {
				v := of.load(row, k)
				sum, size := c[0], x.abs(v)
				for _, part := range x.parts(v) {
					sum = x.fma(part, part, sum)
				}
				more := x.Compare(scalar.Lt, c[1], size)
				return []kernel.Value{sum, x.Select(more, size, c[1]), x.Select(more, k, c[2])}
			})
		x.StoreShared(sums, me, c[0])
		x.StoreShared(tops, me, c[1])
		x.StoreShared(at, me, c[2])
		x.tree(x.local, func(into, from kernel.Value) {
			x.StoreShared(sums, into, x.Add(x.LoadShared(sums, into), x.LoadShared(sums, from)))
			a, b := x.LoadShared(tops, into), x.LoadShared(tops, from)
			i, k := x.LoadShared(at, into), x.LoadShared(at, from)
			better := x.either(x.Compare(scalar.Lt, a, b), x.both(x.Compare(scalar.Eq, a, b), x.below(k, i)))
			x.StoreShared(tops, into, x.Select(better, b, a))
			x.StoreShared(at, into, x.Select(better, k, i))
		})
		if x.t.Complex() {
			x.firstOf(of, row, n, x.LoadShared(tops, x.int(0)), at)
		}
		x.then(x.same(me, x.int(0)), func() {
			to.store(row, x.int(0), x.sqrt(x.LoadShared(sums, x.int(0))))
			first := x.LoadShared(at, x.int(0))
			top := of.load(row, x.least(first, x.Sub(n, x.int(1))))
			to.store(row, x.int(1), x.conj(x.phase(top)))
		})
	})
	return nil
}

// firstOf finds the first element of a row whose magnitude is the largest but for
// rounding, which elements of different phases have their share of.
func (x arith) firstOf(of grid, row, n, top kernel.Value, at int) {
	me, least := x.invocation(), x.Mul(top, x.real(1-16*x.eps()))
	first := x.Loop(me, n, x.int(x.local), []kernel.Value{n}, func(k kernel.Value, c []kernel.Value) []kernel.Value {
		found := x.Compare(scalar.Le, least, x.abs(of.load(row, k)))
		return []kernel.Value{x.Select(found, x.least(k, c[0]), c[0])}
	})[0]
	x.Barrier()
	x.StoreShared(at, me, first)
	x.tree(x.local, func(into, from kernel.Value) {
		x.StoreShared(at, into, x.least(x.LoadShared(at, into), x.LoadShared(at, from)))
	})
}

// order appends the order of n real numbers by magnitude, the largest first: words
// that say where each comes from. Equal ones, and NaN, keep theirs.
func (j *linalg) order(of strided, n int) Ref {
	to := j.temp(4 * j.count * n)
	p := &program{local: updateLocal, groups: (j.count*n + updateLocal - 1) / updateLocal, flops: int64(j.count * n * n),
		bufs: []buffer{j.buffer(of, Read), words(to, j.count*n, Write)}}
	p.nums = append([]int{j.count * n, n}, places(of)...)
	p.key = fmt.Sprintf("order %v", j.typ)
	typ := j.typ
	p.body = func(e *emitter) error {
		x := arith{e, typ}
		all, n := e.num(), e.num()
		of := e.grid(0)
		u := e.Add(e.Mul(e.group(), e.int(e.local)), e.invocation())
		e.then(e.below(u, all), func() {
			matrix, i := e.divide(u, n)
			of := of.of(matrix)
			size := func(i kernel.Value) kernel.Value {
				v := x.abs(x.re(of.load(i, e.int(0))))
				return x.Select(x.Compare(scalar.Ne, v, v), x.real(0), v)
			}
			mine := size(i)
			rank := e.Loop(e.int(0), n, e.int(1), []kernel.Value{e.int(0)}, func(k kernel.Value, c []kernel.Value) []kernel.Value {
				v := size(k)
				before := e.either(x.Compare(scalar.Lt, mine, v), e.both(x.Compare(scalar.Eq, mine, v), e.below(k, i)))
				return []kernel.Value{e.Add(c[0], e.Select(before, e.int(1), e.int(0)))}
			})[0]
			e.Store(1, e.Add(e.Mul(matrix, n), rank), i)
		})
		return nil
	}
	j.run(p)
	return to
}

// ordered appends m rows of n elements in an order, each times the scale of the
// row that it was.
func (j *linalg) ordered(to, from, scale strided, order Ref, m, n int) {
	p := &program{local: gpuLocal, groups: (j.count*m*n + gpuLocal - 1) / gpuLocal, flops: int64(j.count * m * n),
		bufs: []buffer{j.buffer(to, Write), j.buffer(from, Read), j.buffer(scale, Read), words(order, j.count*m, Read)}}
	p.nums = append([]int{j.count * m * n, m, n}, places(to, from, scale)...)
	p.key = fmt.Sprintf("ordered %v conj=%v,%v", j.typ, from.conj, scale.conj)
	typ := j.typ
	p.body = func(e *emitter) error {
		x := arith{e, typ}
		all, m, n := e.num(), e.num(), e.num()
		to, was, times := e.grid(0), e.grid(1), e.grid(2)
		was.conj, times.conj = from.conj, scale.conj
		u := e.Add(e.Mul(e.group(), e.int(e.local)), e.invocation())
		e.then(e.below(u, all), func() {
			row, k := e.divide(u, n)
			matrix, i := e.divide(row, m)
			place := e.Load(3, row, 1)[0]
			v := x.Mul(was.of(matrix).load(place, k), times.of(matrix).load(place, e.int(0)))
			to.of(matrix).store(i, k, v)
		})
		return nil
	}
	j.run(p)
}

// noise is how large, next to the greatest, a value is that only rounding may
// have made. It is given as 0: see the host's.
func (j *linalg) noise(result, n int) float64 {
	eps := 0x1p-23
	if j.in.Outs[result].Type.DType.Real() == ops.F64 {
		eps = 0x1p-52
	}
	return 8 * eps * float64(max(1, n/32))
}

// values appends n values, which are real, in order, without those that are noise,
// times a number.
func (j *linalg) values(to, sorted, back strided, n int, noise float64) {
	top := sorted
	top.row, top.col, back.row, back.col = 0, 0, 0, 0
	j.each(elementwise{fmt.Sprintf("values noise=%g", noise), to, []strided{sorted, top, back}, n, 1,
		func(x arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
			v, top, back := x.re(from[0]), x.re(from[1]), x.re(from[2])
			small := x.Compare(scalar.Le, x.abs(v), x.Mul(x.real(noise), x.abs(top)))
			return x.Select(small, x.real(0), x.Mul(v, back))
		}})
}
