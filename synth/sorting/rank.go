package sorting

import (
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// rankProgram sorts short rows: an invocation for each element counts the
// elements that come before its own.
func (j *sortJob) rankProgram(t *lowering.Target) *codegen.Program {
	units := j.elements()
	p := &codegen.Program{Key: "sort by rank " + j.describe(), Local: strided.GPUPart, Index: scalar.U32,
		Buffers: j.buffers(), Numbers: append([]int{units}, j.numbers()...),
		Flops: int64(units * j.length), Body: j.writeRank}
	if t.CPU {
		p.Local = codegen.CPULocal
	}
	p.Groups = (units + int(p.Local) - 1) / int(p.Local)
	for _, b := range p.Buffers {
		p.Bytes += b.Bytes
	}
	return p
}

func (j *sortJob) writeRank(e *codegen.Emitter) error {
	units := e.NextNumber()
	p := j.places(e)
	u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
	e.If(e.Compare(scalar.Lt, u, units), func() []kernel.Value {
		r, i := e.DivMod(u, p.length)
		base := p.row(r)
		own := p.key(base, i)
		rank := e.Loop(e.Index(0), p.length, e.Index(1), []kernel.Value{e.Index(0)},
			func(k kernel.Value, rank []kernel.Value) []kernel.Value {
				first := before(e, p.key(base, k), k, own, i)
				return []kernel.Value{e.Add(rank[0], e.Convert(first, e.IndexType))}
			})
		p.put(1, r, rank[0], i)
		return nil
	}, nil)
	return nil
}

// before reports whether key x at position i comes before key y at position j.
func before(e *codegen.Emitter, x, i, y, j kernel.Value) kernel.Value {
	tie := e.Prim(scalar.AndB, scalar.Bool, e.Compare(scalar.Eq, x, y), e.Compare(scalar.Lt, i, j))
	return e.Prim(scalar.OrB, scalar.Bool, e.Compare(scalar.Lt, x, y), tie)
}
