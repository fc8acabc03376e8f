package partition_test

import (
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// A kernel writes its results into their concatenation, if the parts begin at
// the alignment of buffers, or if the device reaches them by address.
func TestConcatenated(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		crooked, columns := 2, 2
		if target.Addresses {
			crooked = 1
		}
		if !target.CPU {
			columns = 1
		}
		for _, c := range []struct {
			name    string
			build   func(g *synthtest.Sketch)
			fusions int
			copies  bool
		}{
			{"parts", func(g *synthtest.Sketch) {
				x := g.Param(ops.F32, 64)
				a, b := g.Do(ops.Exp, ops.F32, x), g.Do(ops.Tanh, ops.F32, x)
				g.Return(g.Do(ops.Concatenate, ops.F32, a, b, synthtest.Attrs{{0}}))
			}, 1, false},
			{"rows, and another result", func(g *synthtest.Sketch) {
				x, y := g.Param(ops.U32, 1, 128, 2), g.Param(ops.U32, 1, 128, 2)
				a := g.Do(ops.Add, ops.U32, x, y)
				b := g.Do(ops.BitwiseXor, ops.U32, a, y)
				c := g.Do(ops.Multiply, ops.U32, b, y)
				g.Return(g.Do(ops.Concatenate, ops.U32, c, a, synthtest.Attrs{{1}}), b)
			}, 1, false},
			{"a part that is kept", func(g *synthtest.Sketch) {
				x := g.Param(ops.F32, 64)
				a, b := g.Do(ops.Exp, ops.F32, x), g.Do(ops.Tanh, ops.F32, x)
				g.Return(g.Do(ops.Concatenate, ops.F32, a, b, synthtest.Attrs{{0}}), a)
			}, 2, true},
			{"a part twice", func(g *synthtest.Sketch) {
				x := g.Param(ops.F32, 64)
				a, b := g.Do(ops.Exp, ops.F32, x), g.Do(ops.Tanh, ops.F32, x)
				g.Return(g.Do(ops.Concatenate, ops.F32, a, b, a, synthtest.Attrs{{0}}))
			}, 2, true},
			{"crooked", func(g *synthtest.Sketch) {
				x := g.Param(ops.F32, 65)
				a, b := g.Do(ops.Exp, ops.F32, x), g.Do(ops.Tanh, ops.F32, x)
				g.Return(g.Do(ops.Concatenate, ops.F32, a, b, synthtest.Attrs{{0}}))
			}, crooked, !target.Addresses},
			{"parts within rows, of many operations", func(g *synthtest.Sketch) {
				x, w := g.Param(ops.F32, 8, 32), g.Param(ops.F32, 8, 32)
				a := g.Do(ops.Tanh, ops.F32, g.Do(ops.Multiply, ops.F32, x, g.Num(ops.F32, 3)))
				b := g.Do(ops.Tanh, ops.F32, w)
				g.Return(g.Do(ops.Concatenate, ops.F32, a, b, synthtest.Attrs{{1}}))
			}, columns, target.CPU},
			{"several, each after the one before", func(g *synthtest.Sketch) {
				from := g.Num(ops.F32, 1)
				for range 4 {
					x := g.Do(ops.Add, ops.F32, g.Param(ops.F32, 64), from)
					a, b := g.Do(ops.Exp, ops.F32, x), g.Do(ops.Tanh, ops.F32, x)
					all := g.Do(ops.Concatenate, ops.F32, a, b, synthtest.Attrs{{0}})
					from = g.Do(ops.Sum, ops.F32, all, synthtest.Attrs{{0}, {0}})
				}
				g.Return(from)
			}, 8, false},
			{"columns", func(g *synthtest.Sketch) {
				x := g.Param(ops.F32, 4, 64)
				a, b := g.Do(ops.Exp, ops.F32, x), g.Do(ops.Tanh, ops.F32, x)
				g.Return(g.Do(ops.Concatenate, ops.F32, a, b, synthtest.Attrs{{1}}))
			}, columns, target.CPU},
		} {
			t.Run(c.name, func(t *testing.T) {
				g := synthtest.NewSketch(t)
				c.build(g)
				fusions := g.Check(synthtest.Without(target, lowering.RuleChains), 8)
				wantFusions(t, fusions, c.fusions)
				alone := slices.ContainsFunc(fusions, func(u fusion.Fusion) bool { return len(u.Body) == 1 && u.Body[0].Op == ops.Concatenate })
				if alone != c.copies {
					t.Errorf("the concatenation has a fusion of its own: %v, want %v", alone, c.copies)
				}
			})
		}
	})
}
