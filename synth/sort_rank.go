package synth

import (
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// rankProgram sorts short rows: an invocation for each element counts the
// elements that come before its own.
func (j *sortJob) rankProgram(t *Target) *program {
	units := j.elements()
	p := &program{key: "sort by rank " + j.describe(), local: gpuPart, index: scalar.U32,
		bufs: append([]buffer{j.operand()}, j.results()...), nums: append([]int{units}, j.numbers()...),
		flops: int64(units * j.length), body: j.writeRank}
	if t.CPU {
		p.local = cpuLocal
	}
	p.groups = (units + int(p.local) - 1) / int(p.local)
	for _, b := range p.bufs {
		p.bytes += b.bytes
	}
	return p
}

func (j *sortJob) writeRank(e *emitter) error {
	units := e.num()
	p := j.places(e)
	u := e.Add(e.Mul(e.group(), e.int(e.local)), e.invocation())
	e.If(e.Compare(scalar.Lt, u, units), func() []kernel.Value {
		r, i := e.divide(u, p.length)
		base := p.row(r)
		own := p.key(base, i)
		rank := e.Loop(e.int(0), p.length, e.int(1), []kernel.Value{e.int(0)},
			func(k kernel.Value, rank []kernel.Value) []kernel.Value {
				first := e.before(p.key(base, k), k, own, i)
				return []kernel.Value{e.Add(rank[0], e.Convert(first, e.index))}
			})
		p.put(1, r, rank[0], i)
		return nil
	}, nil)
	return nil
}

// before reports whether key x at position i comes before key y at position j.
func (e *emitter) before(x, i, y, j kernel.Value) kernel.Value {
	tie := e.Prim(scalar.AndB, scalar.Bool, e.Compare(scalar.Eq, x, y), e.Compare(scalar.Lt, i, j))
	return e.Prim(scalar.OrB, scalar.Bool, e.Compare(scalar.Lt, x, y), tie)
}
