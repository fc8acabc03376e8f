package synth

import (
	"testing"

	"nxvk/ops"
)

// Views of one tensor take a parameter each: a kernel has as many as there is room
// for, and the next goes on.
func TestFuseManyViews(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		g := newSketch(t)
		x := g.param(ops.F32, 100, 8)
		row := func(i int) ops.Operand {
			s := g.do(ops.Slice, ops.F32, x, attrs{{i, 0}, {1, 8}, {1, 1}})
			return g.do(ops.Reshape, ops.F32, s, ops.Shape{8})
		}
		y := row(0)
		for i := 1; i < 100; i++ {
			y = g.do(ops.Add, ops.F32, g.do(ops.Multiply, ops.F32, y, row(i)), row((i*7)%100))
		}
		g.keep(y)
		units := g.check(target, 1)
		if len(units) < 2 || len(units) > 20 {
			t.Errorf("%d units", len(units))
		}
	})
}

// Scalars that are computed again where they are wanted bring their literals along:
// those for which there is no room lie in memory.
func TestFuseManyLiterals(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		g := newSketch(t)
		x := g.param(ops.F32)
		for i := range 120 {
			x = g.do(ops.Add, ops.F32, g.do(ops.Multiply, ops.F32, x, g.num(ops.F32, 1+float64(i)/512)), g.num(ops.F32, float64(i)/256))
		}
		g.keep(g.do(ops.Tanh, ops.F32, g.do(ops.Add, ops.F32, g.param(ops.F32, 40), x)))
		g.check(target, 1)
	})
}
