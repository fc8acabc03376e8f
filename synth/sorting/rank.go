package sorting

import (
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// The rows of a workgroup that sorts by rank.
const (
	rankLocal = 256
	rankRow   = 32 // elements of the longest row on GPUs; networks are faster for longer ones
)

// inRanks reports whether rows are sorted by rank.
func (j *sortJob) inRanks(t *lowering.Target) bool {
	if t.CPU {
		return j.length <= shortSort || j.length <= groupedRank && j.source != nil
	}
	return j.length <= rankRow || j.length <= shortSort && !j.fitsNetwork(t)
}

// rankProgram sorts short rows: an invocation for each element counts the
// elements that come before its own. On GPUs it reads them from the memory of its workgroup,
// which has whole rows.
func (j *sortJob) rankProgram(t *lowering.Target) *codegen.Program {
	units := j.elements()
	p := &codegen.Program{Key: "sort by rank " + j.describe(), Local: codegen.CPULocal, Index: scalar.U32,
		Buffers: j.buffers(), Numbers: append([]int{units}, j.numbers()...),
		Flops: int64(units * j.length), Body: j.writeRank}
	each := int(p.Local)
	if !t.CPU {
		p.Local, p.Body = uint32(min(rankLocal, t.MaxInvocations)), j.writeRankShared
		each = int(p.Local) / j.length * j.length
		p.Numbers = append([]int{units, each}, j.numbers()...)
	}
	p.Groups = (units + each - 1) / each
	for _, b := range p.Buffers {
		p.Bytes += b.Bytes
	}
	return p
}

func (j *sortJob) writeRank(e *codegen.Emitter) error {
	units := e.NextNumber()
	p := j.places(e)
	u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
	e.IfThen(e.IsLess(u, units), func() {
		r, i := e.DivMod(u, p.length)
		base := p.row(r)
		p.put(1, r, p.rank(p.key(base, i), i, func(k kernel.Value) kernel.Value { return p.key(base, k) }), i)
	})
	return nil
}

// rank counts the elements of a row that come before the one at position i.
func (p *sortPlaces) rank(own, i kernel.Value, key func(k kernel.Value) kernel.Value) kernel.Value {
	return p.Loop(p.Index(0), p.length, p.Index(1), []kernel.Value{p.Index(0)}, func(k kernel.Value, rank []kernel.Value) []kernel.Value {
		first := before(p.Emitter, key(k), k, own, i)
		return []kernel.Value{p.Add(rank[0], p.Convert(first, p.IndexType))}
	})[0]
}

// writeRankShared writes the kernel in which the rows of a workgroup share their keys.
func (j *sortJob) writeRankShared(e *codegen.Emitter) error {
	units, each := e.NextNumber(), e.NextNumber()
	p := j.places(e)
	me := e.Invocation()
	u := e.Add(e.Mul(e.Group(), each), me)
	active := e.And2(e.IsLess(me, each), e.IsLess(u, units))
	keys := e.Shared(j.keyType(), e.Local)
	r, i := e.DivMod(e.Select(active, u, e.Index(0)), p.length)
	own := p.key(p.row(r), i)
	e.StoreShared(keys, me, own)
	e.Barrier()
	e.IfThen(active, func() {
		first := e.Sub(me, i)
		p.put(1, r, p.rank(own, i, func(k kernel.Value) kernel.Value { return e.LoadShared(keys, e.Add(first, k)) }), i)
	})
	return nil
}

// before reports whether key x at position i comes before key y at position j.
func before(e *codegen.Emitter, x, i, y, j kernel.Value) kernel.Value {
	tie := e.Prim(scalar.AndB, scalar.Bool, e.Compare(scalar.Eq, x, y), e.Compare(scalar.Lt, i, j))
	return e.Prim(scalar.OrB, scalar.Bool, e.Compare(scalar.Lt, x, y), tie)
}
