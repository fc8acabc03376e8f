package partition_test

import (
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// TestUpdateOfSmall: the tensor of an update is in memory, where it is copied or updated, however small the fusion is that
// makes it. The slice and the starts of one may be computed by the kernel that writes it.
func TestUpdateOfSmall(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for name, draw := range map[string]func(g *synthtest.Sketch, x, y, at ops.Operand) ops.Operand{
			"tensor": func(g *synthtest.Sketch, x, y, at ops.Operand) ops.Operand {
				wide := g.Do(ops.Pad, ops.F32, x, g.Num(ops.F32, 0), synthtest.Attrs{{0, 2, 0, 0, 0, 0}})
				return g.Do(ops.PutSlice, ops.F32, wide, g.Do(ops.Exp, ops.F32, y), at, g.Num(ops.S32, 0), synthtest.Attrs{{}})
			},
			"tensor alone": func(g *synthtest.Sketch, x, y, at ops.Operand) ops.Operand {
				return g.Do(ops.PutSlice, ops.F32, g.Do(ops.Tanh, ops.F32, x), y, at, g.Num(ops.S32, 0), synthtest.Attrs{{}})
			},
			"slice": func(g *synthtest.Sketch, x, y, at ops.Operand) ops.Operand {
				sums := g.Do(ops.Sum, ops.F32, g.Do(ops.Exp, ops.F32, y), synthtest.Attrs{{1}, {1}})
				return g.Do(ops.PutSlice, ops.F32, x, sums, at, g.Num(ops.S32, 1), synthtest.Attrs{{}})
			},
			"slice of sums": func(g *synthtest.Sketch, x, y, at ops.Operand) ops.Operand {
				sums := g.Do(ops.Sum, ops.F32, g.Do(ops.Exp, ops.F32, y), synthtest.Attrs{{1}, {1}})
				return g.Do(ops.PutSlice, ops.F32, x, g.Do(ops.Subtract, ops.F32, y, sums), at, g.Num(ops.S32, 0), synthtest.Attrs{{}})
			},
			"slice of a view that is the tensor": func(g *synthtest.Sketch, x, y, at ops.Operand) ops.Operand {
				turned := g.Do(ops.Reverse, ops.F32, g.Do(ops.Tanh, ops.F32, x), synthtest.Attrs{{0, 1}})
				part := g.Do(ops.Slice, ops.F32, turned, synthtest.Attrs{{0, 0}, {2, 16}, {1, 1}})
				return g.Do(ops.PutSlice, ops.F32, turned, g.Do(ops.Exp, ops.F32, part), at, g.Num(ops.S32, 0), synthtest.Attrs{{}})
			},
			"slice of a view of a parameter": func(g *synthtest.Sketch, x, y, at ops.Operand) ops.Operand {
				turned := g.Do(ops.Reverse, ops.F32, x, synthtest.Attrs{{0, 1}})
				part := g.Do(ops.Slice, ops.F32, turned, synthtest.Attrs{{0, 0}, {2, 16}, {1, 1}})
				return g.Do(ops.PutSlice, ops.F32, turned, g.Do(ops.Exp, ops.F32, part), at, g.Num(ops.S32, 0), synthtest.Attrs{{}})
			},
			"start that the slice is computed of": func(g *synthtest.Sketch, x, y, at ops.Operand) ops.Operand {
				next := g.Do(ops.Add, ops.S32, at, g.Num(ops.S32, 1))
				return g.Do(ops.PutSlice, ops.F32, x, g.Do(ops.Add, ops.F32, y, next), next, g.Num(ops.S32, 0), synthtest.Attrs{{}})
			},
			"start": func(g *synthtest.Sketch, x, y, at ops.Operand) ops.Operand {
				best := g.Do(ops.AsType, ops.S32, g.Do(ops.ReduceMax, ops.F32, y, synthtest.Attrs{{0, 1}, {0}}))
				return g.Do(ops.PutSlice, ops.F32, x, y, best, g.Num(ops.S32, 0), synthtest.Attrs{{}})
			},
			"tensor and slice of one": func(g *synthtest.Sketch, x, y, at ops.Operand) ops.Operand {
				a, b := g.Do(ops.Exp, ops.F32, y), g.Do(ops.Tanh, ops.F32, y)
				sums := g.Do(ops.Sum, ops.F32, g.Do(ops.Add, ops.F32, a, b), synthtest.Attrs{{1}, {1}})
				return g.Do(ops.PutSlice, ops.F32, g.Do(ops.Divide, ops.F32, a, sums), g.Do(ops.Divide, ops.F32, b, sums), at, g.Num(ops.S32, 0), synthtest.Attrs{{}})
			},
		} {
			t.Run(name, func(t *testing.T) {
				g := synthtest.NewSketch(t)
				x, y, at := g.Param(ops.F32, 5, 16), g.Param(ops.F32, 2, 16), g.Param(ops.S32)
				g.Return(draw(g, x, y, at))
				g.Check(target, 5)
			})
		}
	})
}
