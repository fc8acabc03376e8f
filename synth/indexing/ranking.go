package indexing

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// ranking orders few updates by slice in one dispatch, without a sort: the place of an update in the
// sorted list is the number of updates before it, which a team of invocations counts. A workgroup has
// the slices of all updates in shared memory. n updates take n^2 comparisons, at most 2^24; a GPU
// makes some 10^13 a second.
type ranking struct {
	*scatterJob
	places
	tile int // updates that are ranked among themselves
}

const (
	mostRanked = 4096
	rankLocal  = 256
	rankTeam   = 32
	rankTeams  = rankLocal / rankTeam // of a workgroup
	rankStep   = 4 * rankTeam         // updates that a team looks at in a round
	// A team writes up to so many elements of an update, or fewer where there are few workgroups.
	rankElements  = 1024
	leastElements = 4 * rankTeam
	rankGroups    = 512
	noSlice       = 1<<32 - 1
	rankShared    = 20 << 10 // bytes of shared memory, at most
)

// ranks reports whether the updates are few enough.
func (j *scatterJob) ranks(t *lowering.Target) bool {
	return j.count <= mostRanked && rankingFits(t)
}

// rankingFits reports whether the device can run the kernels.
func rankingFits(t *lowering.Target) bool {
	return t.MaxInvocations >= rankLocal && t.SharedMemory >= rankShared
}

func newRanking(j *scatterJob, in *ops.Instr, types []ops.Type) *ranking {
	sizes, _ := apart(types[0].Shape, in.Attrs[0])
	r := &ranking{j, placesOf(in, types, ops.Shape(sizes).Strides()), j.count}
	if r.tile > mostRanked {
		r.tile = mergedTile
	}
	return r
}

// tiles is how many tiles there are.
func (r *ranking) tiles() int { return (r.count + r.tile - 1) / r.tile }

// room is how many slices a workgroup has room for.
func (r *ranking) room() int {
	if r.tile <= mostRanked/4 {
		return mostRanked / 4
	}
	return mostRanked
}

// orderProgram ranks the updates of each tile: slices is the sorted list, order is where each entry came from.
func (r *ranking) orderProgram(slices, order codegen.Buffer) *codegen.Program {
	p := r.program("order", r.tiles(), with(slices, lowering.Write), with(order, lowering.Write))
	p.Body = func(e *codegen.Emitter) error {
		w := r.writer(e, true)
		rank := w.counted(func(other, at kernel.Value) kernel.Value {
			return e.Or2(e.IsLess(other, w.slice), e.And2(e.IsEqual(other, w.slice), e.IsLess(at, w.update)))
		})
		e.IfThen(e.And2(w.active, e.IsEqual(w.member, e.Index(0))), func() {
			place := e.Add(w.first, rank)
			e.Store(rankFrom, place, w.slice)
			e.Store(rankTo, place, e.Add(w.first, w.update))
		})
		return nil
	}
	return p
}

// lastProgram writes each update that no later one of its slice follows.
func (r *ranking) lastProgram() *codegen.Program {
	groups := (r.count + rankTeams - 1) / rankTeams
	part := rankElements
	for part > leastElements && groups*((r.elements+part-1)/part) < rankGroups {
		part /= 2
	}
	p := r.program("last", (r.elements+part-1)/part, with(r.updates, lowering.Read), with(r.to, lowering.Write))
	p.Numbers = append(p.Numbers, part, r.elements)
	for i, d := range r.axes {
		p.Numbers = append(p.Numbers, d, r.axesAt.Strides[i])
	}
	for i, d := range r.slice {
		p.Numbers = append(p.Numbers, d, r.sliceAt.Strides[i])
	}
	p.Key += fmt.Sprintf(" raw=%v %v to %v axes=%d slice=%d", r.raw, r.upType, r.toType, len(r.axes), len(r.slice))
	p.Bytes += 2 * int64(r.count*r.elements*r.to.Elem.Size())
	p.Body = func(e *codegen.Emitter) error { r.writer(e, false).writeLast(); return nil }
	return p
}

// The buffers of the kernels, in order.
const (
	rankIndices = iota
	rankCheck
	rankFrom // the updates, or the sorted list
	rankTo   // the tensor, or the order
)

// program is a kernel with a team for each update of a tile, and each tile, or each part of the elements.
func (r *ranking) program(what string, parts int, buffers ...codegen.Buffer) *codegen.Program {
	groups := (r.tile + rankTeams - 1) / rankTeams
	for i := range buffers {
		if buffers[i].Ref == r.to.Ref {
			buffers[i].Bytes = int64(r.size() * r.to.Elem.Size())
		}
	}
	return &codegen.Program{Index: scalar.U32, Local: rankLocal, Groups: groups * parts,
		Buffers: append([]codegen.Buffer{r.indices, codegen.CheckBuffer(0)}, buffers...),
		Numbers: append([]int{r.count, r.tile, groups}, r.numbers()...),
		Bytes:   r.indices.Bytes + int64(8*r.count), Flops: int64(r.tile) * int64(r.tile) * int64(parts),
		Key: fmt.Sprintf("scatter ranking %s room=%d indices=%d", what, r.room(), len(r.limits))}
}

// rankWriter writes a kernel of a ranking.
type rankWriter struct {
	*codegen.Emitter
	job    *ranking
	all    int          // shared: the slices of all updates
	first  kernel.Value // the first update of the tile, from which the others are counted
	end    kernel.Value // the number of updates of the tile, rounded up to whole steps
	member kernel.Value // the invocation in its team
	update kernel.Value // of the team
	slice  kernel.Value // of the update
	part   kernel.Value // of the elements
	active kernel.Value // whether the team has an update of its own
}

// writer reads the slices and finds the update of the team. With tiled, parts are tiles.
func (r *ranking) writer(e *codegen.Emitter, tiled bool) *rankWriter {
	w := &rankWriter{Emitter: e, job: r, all: e.Shared(scalar.U32, r.room()), first: e.Index(0)}
	count, tile, groups := e.NextNumber(), e.NextNumber(), e.NextNumber()
	reader := r.reader(e, rankIndices, rankCheck)
	part, group := e.DivMod(e.Group(), groups)
	if tiled {
		w.first = e.Min(e.Mul(part, tile), count)
		count = e.Min(tile, e.Sub(count, w.first))
	}
	w.end = e.And(e.Add(count, e.Index(rankStep-1)), ^uint64(rankStep-1))
	e.For(e.Invocation(), w.end, e.Index(rankLocal), func(i kernel.Value) {
		there := e.IsLess(i, count)
		at := reader.place(e.Add(w.first, e.Select(there, i, e.Index(0))), e.Index(0))
		e.StoreShared(w.all, i, e.Select(there, at, e.Index(noSlice)))
	})
	e.Barrier()
	u := e.Add(e.Mul(group, e.Index(rankTeams)), e.Shr(e.Invocation(), 5))
	w.active, w.part = e.IsLess(u, count), part
	w.update = e.Select(w.active, u, e.Index(0))
	w.member = e.And(e.Invocation(), rankTeam-1)
	w.slice = e.LoadShared(w.all, w.update)
	return w
}

// counted is the number of updates that a condition on their slice and number holds for.
func (w *rankWriter) counted(holds func(other, at kernel.Value) kernel.Value) kernel.Value {
	zero, one := w.Index(0), w.Index(1)
	sum := w.Loop(w.member, w.end, w.Index(rankStep), []kernel.Value{zero}, func(i kernel.Value, sum []kernel.Value) []kernel.Value {
		n := sum[0]
		for k := 0; k < rankStep; k += rankTeam {
			at := w.Add(i, w.Index(k))
			n = w.Add(n, w.Select(holds(w.LoadShared(w.all, at), at), one, zero))
		}
		return []kernel.Value{n}
	})[0]
	own, sums := w.Invocation(), w.Shared(scalar.U32, rankLocal)
	w.StoreShared(sums, own, sum)
	for half := rankTeam / 2; half > 0; half /= 2 {
		w.Barrier()
		w.IfThen(w.IsLess(w.member, w.Index(half)), func() {
			w.StoreShared(sums, own, w.Add(w.LoadShared(sums, own), w.LoadShared(sums, w.Add(own, w.Index(half)))))
		})
	}
	w.Barrier()
	return w.LoadShared(sums, w.Sub(own, w.member))
}

// writeLast writes the update, unless a later one has its slice.
func (w *rankWriter) writeLast() {
	r := w.job
	part, elements := w.NextNumber(), w.NextNumber()
	axes, axesStrides := pairs(w.Emitter, len(r.axes))
	dims, strides := pairs(w.Emitter, len(r.slice))
	later := w.counted(func(other, at kernel.Value) kernel.Value {
		return w.And2(w.IsEqual(other, w.slice), w.IsLess(w.update, at))
	})
	w.IfThen(w.And2(w.active, w.IsEqual(later, w.Index(0))), func() {
		first, begin := w.Mul(w.part, part), w.Offsets(w.slice, axes, axesStrides)
		end := w.Min(elements, w.Add(first, part))
		w.For(w.Add(first, w.member), end, w.Index(rankTeam), func(i kernel.Value) {
			x := w.Fetch(rankFrom, w.Add(w.Mul(w.update, elements), i), 1)[0]
			if !r.raw {
				x = w.Encode(r.toType, w.Cast(w.Decode(r.upType, x), r.upType, r.toType))
			}
			w.Store(rankTo, w.Add(begin, w.Offsets(i, dims, strides)), x)
		})
	})
}
