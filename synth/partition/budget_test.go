package partition_test

import (
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// Views of one tensor take a parameter each: a kernel has as many as there is room
// for, and the next goes on.
func TestFuseManyViews(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		g := synthtest.NewSketch(t)
		x := g.Param(ops.F32, 100, 8)
		row := func(i int) ops.Operand {
			s := g.Do(ops.Slice, ops.F32, x, synthtest.Attrs{{i, 0}, {1, 8}, {1, 1}})
			return g.Do(ops.Reshape, ops.F32, s, ops.Shape{8})
		}
		y := row(0)
		for i := 1; i < 100; i++ {
			y = g.Do(ops.Add, ops.F32, g.Do(ops.Multiply, ops.F32, y, row(i)), row((i*7)%100))
		}
		g.Return(y)
		fusions := g.Check(target, 1)
		if len(fusions) < 2 || len(fusions) > 20 {
			t.Errorf("%d fusions", len(fusions))
		}
	})
}

// Scalars that are computed again where they are wanted bring their literals along:
// those for which there is no room lie in memory.
func TestFuseManyLiterals(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		g := synthtest.NewSketch(t)
		x := g.Param(ops.F32)
		for i := range 120 {
			x = g.Do(ops.Add, ops.F32, g.Do(ops.Multiply, ops.F32, x, g.Num(ops.F32, 1+float64(i)/512)), g.Num(ops.F32, float64(i)/256))
		}
		g.Return(g.Do(ops.Tanh, ops.F32, g.Do(ops.Add, ops.F32, g.Param(ops.F32, 40), x)))
		g.Check(target, 1)
	})
}
