package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// elementwise makes each element of m by n matrices of those at the same place
// of others.
type elementwise struct {
	name string // of the function
	to   strided
	from []strided
	m, n int
	f    func(x arith, i, k kernel.Value, from []kernel.Value) kernel.Value
}

// each appends an elementwise step.
func (j *linalg) each(s elementwise) {
	size := s.m * s.n
	if size == 0 {
		return
	}
	p := &program{local: gpuLocal, groups: (j.count*size + gpuLocal - 1) / gpuLocal, flops: int64(j.count * size),
		bufs: []buffer{j.buffer(s.to, Write)}}
	for _, f := range s.from {
		p.bufs = append(p.bufs, j.buffer(f, Read))
	}
	p.nums = append([]int{j.count * size, size, s.n}, places(append([]strided{s.to}, s.from...)...)...)
	p.key = fmt.Sprintf("matrices %s %v of %d", s.name, j.typ, len(s.from))
	t := j.typ
	p.body = func(e *emitter) error {
		x := arith{e, t}
		all, size, n := e.num(), e.num(), e.num()
		to := e.grid(0)
		var from []grid
		for i := range s.from {
			from = append(from, e.grid(1+i))
		}
		u := e.Add(e.Mul(e.group(), e.int(e.local)), e.invocation())
		e.then(e.below(u, all), func() {
			b, at := e.divide(u, size)
			i, k := e.divide(at, n)
			var vs []kernel.Value
			for _, g := range from {
				vs = append(vs, g.of(b).load(i, k))
			}
			to.of(b).store(i, k, s.f(x, i, k, vs))
		})
		return nil
	}
	j.run(p)
}

// copy appends a copy of m by n matrices.
func (j *linalg) copy(to, from strided, m, n int) {
	j.each(elementwise{"copy", to, []strided{from}, m, n,
		func(_ arith, _, _ kernel.Value, from []kernel.Value) kernel.Value { return from[0] }})
}

// lowerUnit and upper are the triangles of factors that share a matrix.
func lowerUnit(x arith, i, k kernel.Value, from []kernel.Value) kernel.Value {
	return x.Select(x.same(i, k), x.number(1), x.Select(x.below(k, i), from[0], x.number(0)))
}

func upper(x arith, i, k kernel.Value, from []kernel.Value) kernel.Value {
	return x.Select(x.below(k, i), x.number(0), from[0])
}

// rowNumber is the number of the row.
func rowNumber(x arith, i, _ kernel.Value, _ []kernel.Value) kernel.Value { return x.Convert(i, x.t) }

// unitAt has 1 where the row is that of a number, and 0 elsewhere.
func unitAt(x arith, i, _ kernel.Value, from []kernel.Value) kernel.Value {
	return x.Select(x.Compare(scalar.Eq, x.Convert(i, x.t), from[0]), x.number(1), x.number(0))
}
