package synth

import (
	"slices"
	"testing"

	"nxvk/ops"
)

// What one kernel makes lies where its concatenation will be, if the parts begin
// where buffers may.
func TestConcatenated(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, c := range []struct {
			name   string
			build  func(g *sketch)
			units  int
			copies bool
		}{
			{"parts", func(g *sketch) {
				x := g.param(ops.F32, 64)
				a, b := g.do(ops.Exp, ops.F32, x), g.do(ops.Tanh, ops.F32, x)
				g.keep(g.do(ops.Concatenate, ops.F32, a, b, attrs{{0}}))
			}, 1, false},
			{"rows, and another result", func(g *sketch) {
				x, y := g.param(ops.U32, 1, 128, 2), g.param(ops.U32, 1, 128, 2)
				a := g.do(ops.Add, ops.U32, x, y)
				b := g.do(ops.BitwiseXor, ops.U32, a, y)
				c := g.do(ops.Multiply, ops.U32, b, y)
				g.keep(g.do(ops.Concatenate, ops.U32, c, a, attrs{{1}}), b)
			}, 1, false},
			{"a part that is kept", func(g *sketch) {
				x := g.param(ops.F32, 64)
				a, b := g.do(ops.Exp, ops.F32, x), g.do(ops.Tanh, ops.F32, x)
				g.keep(g.do(ops.Concatenate, ops.F32, a, b, attrs{{0}}), a)
			}, 2, true},
			{"a part twice", func(g *sketch) {
				x := g.param(ops.F32, 64)
				a, b := g.do(ops.Exp, ops.F32, x), g.do(ops.Tanh, ops.F32, x)
				g.keep(g.do(ops.Concatenate, ops.F32, a, b, a, attrs{{0}}))
			}, 2, true},
			{"crooked", func(g *sketch) {
				x := g.param(ops.F32, 65)
				a, b := g.do(ops.Exp, ops.F32, x), g.do(ops.Tanh, ops.F32, x)
				g.keep(g.do(ops.Concatenate, ops.F32, a, b, attrs{{0}}))
			}, 2, true},
			{"columns", func(g *sketch) {
				x := g.param(ops.F32, 4, 64)
				a, b := g.do(ops.Exp, ops.F32, x), g.do(ops.Tanh, ops.F32, x)
				g.keep(g.do(ops.Concatenate, ops.F32, a, b, attrs{{1}}))
			}, 2, true},
		} {
			t.Run(c.name, func(t *testing.T) {
				g := newSketch(t)
				c.build(g)
				units := g.check(target, 8)
				wantUnits(t, units, c.units)
				alone := slices.ContainsFunc(units, func(u Unit) bool { return len(u.Body) == 1 && u.Body[0].Op == ops.Concatenate })
				if alone != c.copies {
					t.Errorf("the concatenation has a unit of its own: %v, want %v", alone, c.copies)
				}
			})
		}
	})
}
