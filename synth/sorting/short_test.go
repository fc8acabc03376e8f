package sorting_test

import (
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/synthtest"
)

// Several short rows share a workgroup, along every axis, of every type, on subgroups of every size and without
// them. A network that keeps few elements drops the others, also where all of them are equal.
func TestShortRows(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 10))
	types := []ops.DType{ops.F32, ops.F32, ops.BF16, ops.F16, ops.U8, ops.S64, ops.F64}
	for range 60 {
		target := *synthtest.GPU
		target.SubgroupSize, target.SubgroupOps = []int{8, 16, 32, 64}[r.IntN(4)], r.IntN(4) > 0
		n := 1 + int(r.Float64()*r.Float64()*1100)
		d := types[r.IntN(len(types))]
		rows := 1 + r.IntN(1+min(600, 4000/n))
		if r.IntN(2) == 0 {
			s, axis := ops.Shape{rows, min(n, 200)}, 1
			if r.IntN(3) == 0 {
				s, axis = ops.Shape{min(n, 200), rows}, 0
			}
			checkOrder(t, &target, unsorted(ops.Type{DType: d, Shape: s}, r.Uint64()), axis, r.IntN(2))
			continue
		}
		k := 1 + int(r.Float64()*r.Float64()*r.Float64()*float64(n))
		x := unsorted(synthtest.Type(d, rows, n), r.Uint64())
		if r.IntN(4) == 0 {
			for i := range x.N {
				x.N[i] = x.N[0]
			}
			for i := range x.F {
				x.F[i] = x.F[0]
			}
		}
		greatest(t, &target, x, k)
	}
}
