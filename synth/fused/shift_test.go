package fused_test

import (
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// Rotations and other shifts by literals give the bits of one instruction after the other, for distances
// within the type and beyond it. Kernels contain the distances: no plan has one as a parameter.
func TestRandomShifts(t *testing.T) {
	types := []ops.DType{ops.U8, ops.S8, ops.U16, ops.S16, ops.U32, ops.S32, ops.U64, ops.S64}
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		r := rand.New(rand.NewPCG(14, 6))
		for range 40 {
			d := types[r.IntN(len(types))]
			g := synthtest.NewSketch(t)
			x := g.Param(d, 1+r.IntN(70))
			for range 1 + r.IntN(4) {
				n := float64(r.IntN(d.Bits() + 3))
				up := g.Do(ops.LeftShift, d, x, g.Num(d, n))
				down := g.Do(ops.RightShift, d, x, g.Num(ops.S32, float64(d.Bits())-n+3))
				x = g.Do(ops.BitwiseXor, d, g.Do(ops.BitwiseOr, d, up, down), x)
			}
			g.Return(x)
			fusions := g.Check(target, r.Uint64())
			if len(fusions) != 1 {
				t.Errorf("shifts of %v: %d fusions", d, len(fusions))
			}
			for i := range fusions {
				for _, s := range g.Planned(t, &fusions[i], target).Steps {
					if len(s.Lits) > 0 {
						t.Errorf("shifts of %v: %d literals are parameters", d, len(s.Lits))
					}
				}
			}
		}
	})
}
