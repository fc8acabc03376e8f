package indexing

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// More updates than a ranking counts at once, but not very many, are ranked in tiles. The place of an
// entry of a sorted tile in the sorted list is its place there and, for each other tile, the
// number of entries before it, which a binary search finds. A radix sort takes three dispatches for
// eight bits of the number of a slice, and this two.
const (
	mergedTile  = 1024
	mostMerged  = 32 * mergedTile
	mergedSteps = 11 // of a search: a tile has mergedTile+1 places
	mergedAhead = 4  // tiles that are searched side by side
)

// merges reports whether the updates are few enough to be ranked in tiles.
func (j *scatterJob) merges(t *lowering.Target) bool {
	return j.count <= mostMerged && rankingFits(t)
}

// mergeProgram puts sorted tiles of slices, and where their entries came from, together.
func (r *ranking) mergeProgram(slices, order, toSlices, toOrder codegen.Buffer) *codegen.Program {
	p := &codegen.Program{Index: scalar.U32, Local: rankLocal, Groups: (r.count + rankLocal - 1) / rankLocal,
		Buffers: []codegen.Buffer{with(slices, lowering.Read), with(order, lowering.Read), with(toSlices, lowering.Write), with(toOrder, lowering.Write)},
		Numbers: []int{r.count, r.tile, r.tiles()}, Bytes: int64(16 * r.count), Flops: int64(r.count * r.tiles() * mergedSteps),
		Key: fmt.Sprintf("scatter merge steps=%d", mergedSteps)}
	p.Body = func(e *codegen.Emitter) error {
		count, tile, tiles := e.NextNumber(), e.NextNumber(), e.NextNumber()
		i := e.Add(e.Mul(e.Group(), e.Index(rankLocal)), e.Invocation())
		e.IfThen(e.IsLess(i, count), func() {
			m := &merger{Emitter: e, count: count, tile: tile, slice: e.Load(0, i, 1)[0]}
			own, rank := e.DivMod(i, tile)
			place := e.Loop(e.Index(0), tiles, e.Index(mergedAhead), []kernel.Value{rank}, func(at kernel.Value, place []kernel.Value) []kernel.Value {
				sum := place[0]
				for k, n := range m.before(at, own) {
					other := e.Add(at, e.Index(k))
					counts := e.And2(e.IsLess(other, tiles), e.Not(e.IsEqual(other, own)))
					sum = e.Add(sum, e.Select(counts, n, e.Index(0)))
				}
				return []kernel.Value{sum}
			})[0]
			e.Store(2, place, m.slice)
			e.Store(3, place, e.Load(1, i, 1)[0])
		})
		return nil
	}
	return p
}

// merger searches sorted tiles for a slice.
type merger struct {
	*codegen.Emitter
	count, tile, slice kernel.Value
}

// before is the number of entries that come before the slice in each of the tiles from at on: those of
// lower slices, and in tiles before its own those of the same. Beyond the last tile it is any number.
func (m *merger) before(at, own kernel.Value) []kernel.Value {
	var firsts, least [mergedAhead]kernel.Value
	bounds := make([]kernel.Value, 2*mergedAhead) // of each search: the least and the greatest result
	for k := range mergedAhead {
		tile := m.Add(at, m.Index(k))
		first := m.Min(m.Mul(tile, m.tile), m.count)
		firsts[k] = first
		// Of equal slices, entries of earlier tiles come first: those below slice + 1 count.
		least[k] = m.Add(m.slice, m.Select(m.IsLess(tile, own), m.Index(1), m.Index(0)))
		bounds[2*k], bounds[2*k+1] = m.Index(0), m.Min(m.tile, m.Sub(m.count, first))
	}
	last := m.Sub(m.count, m.Index(1))
	bounds = m.Loop(m.Index(0), m.Index(mergedSteps), m.Index(1), bounds, func(_ kernel.Value, bounds []kernel.Value) []kernel.Value {
		next := make([]kernel.Value, 0, len(bounds))
		for k := range mergedAhead {
			low, high := bounds[2*k], bounds[2*k+1]
			middle := m.Shr(m.Add(low, high), 1)
			open := m.IsLess(low, high)
			less := m.IsLess(m.Load(0, m.Min(m.Add(firsts[k], middle), last), 1)[0], least[k])
			up, down := m.And2(open, less), m.And2(open, m.Not(less))
			next = append(next, m.Select(up, m.Add(middle, m.Index(1)), low), m.Select(down, middle, high))
		}
		return next
	})
	var found []kernel.Value
	for k := range mergedAhead {
		found = append(found, bounds[2*k])
	}
	return found
}
