package conformance

import (
	"math/rand/v2"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
)

// drawUpdate draws a tensor, axes and a number of updates: few and many, of scalars and of long
// slices, all over the tensor or to few of its slices.
func drawUpdate(r *rand.Rand) update {
	count := 1 + r.IntN([]int{4, 60, 1000, 4096, 6000, 40000}[r.IntN(6)])
	slices := 1 + r.IntN([]int{3, 100, 3000}[r.IntN(3)])
	width := 1 + r.IntN(max(1, min(2000, 1<<17/max(count, slices))))
	switch r.IntN(5) {
	case 4: // few of very many slices
		return update{shape(1<<20 + r.IntN(1000)), []int{0}, 1 + r.IntN(6000)}
	case 0:
		return update{shape(slices), []int{0}, count}
	case 1:
		return update{shape(width, slices), []int{1}, count}
	case 2:
		side := 1 + r.IntN(9)
		return update{shape(side, width, 1+slices/9), []int{0, 2}, count}
	}
	return update{shape(slices, width), []int{0}, count}
}

// Drawn updates: the last one of a slice stays, and sums are exact here in any order.
func TestDrawnUpdates(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		const seed = 78
		r := rand.New(rand.NewPCG(seed, 1))
		var n tally
		for i := range 30 {
			u := drawUpdate(r)
			types := updateTypes[r.IntN(len(updateTypes))]
			if r.IntN(3) > 0 {
				dt := []ops.DType{ops.F32, ops.F64, ops.BF16, ops.F16, ops.S64, ops.U8, ops.S16, ops.S32}[r.IntN(8)]
				types = [3]ops.DType{dt, dt, dt}
			}
			op := []ops.Op{ops.IndexedPut, ops.IndexedAdd}[r.IntN(2)]
			if i == 0 { // so many slices that the updates are sorted
				u, types, op = update{shape(1<<23 + 5), []int{0}, 5000}, [3]ops.DType{ops.U8, ops.U8, ops.U8}, ops.IndexedPut
			}
			c := u.instr(op, types, indexTypes[r.IntN(len(indexTypes))])
			c.infer(t, types[2])
			limit := u.tensor[u.axes[0]]
			for _, a := range u.axes {
				limit = min(limit, u.tensor[a])
			}
			s := newSampler(uint64(i))
			c.data = [][]byte{s.natural(c.types[0], 0, 1), s.natural(c.types[1], 0, min(limit, 120)-1), s.natural(c.types[2], 0, 1)}
			n.same(t, d, host, &c)
		}
		n.report(t)
	})
}
