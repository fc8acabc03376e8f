package partition_test

import (
	"testing"

	"nxvk/ops"
	"nxvk/synth/fused"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// padConfigs are ways to pad two dimensions: before, after and between the elements of
// each, also below zero.
var padConfigs = [][]int{
	{1, 1, 0, 2, 0, 0}, {0, 0, 0, 1, 3, 0}, {-1, 2, 0, 1, -1, 0},
	{0, 0, 1, 0, 0, 2}, {1, 0, 2, -2, 1, 1}, {-3, 5, 1, 4, -3, 3}, {0, 0, 0, -9, 12, 0}, {2, 1, 0, 0, 0, 0},
}

// Padding is part of the kernel that reads it, and so is what is padded.
func TestFusePad(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, d := range []ops.DType{ops.F32, ops.S8, ops.BF16, ops.C64, ops.U64} {
			for _, cfg := range padConfigs {
				g := synthtest.NewSketch(t)
				x, value := g.Param(d, 6, 8), g.Param(d)
				y := g.Do(ops.Pad, d, g.Do(ops.Negate, d, x), value, synthtest.Attrs{cfg})
				y = g.Do(ops.Multiply, d, y, g.Param(d, g.TypeOf(y).Shape...))
				y = g.Do(ops.Subtract, d, y, g.Do(ops.Pad, d, x, g.Num(ops.S32, 2), synthtest.Attrs{cfg}))
				g.Return(y)
				wantFusions(t, g.Check(target, 1), 1)
			}
		}
	})
}

// Views of padding, padding of views and of padding, and what only crops are part of
// the kernel as well; what becomes of a NaN is not.
func TestFusePadViews(t *testing.T) {
	f := ops.F32
	crop := synthtest.Attrs{{-1, 0, 0, 0, -2, 0}}
	for name, grow := range map[string]func(g *synthtest.Sketch, x ops.Operand) ops.Operand{
		"slice": func(g *synthtest.Sketch, x ops.Operand) ops.Operand {
			p := g.Do(ops.Pad, f, x, g.Num(f, 7), synthtest.Attrs{{2, 1, 1, 1, 1, 0}})
			return g.Do(ops.Slice, f, p, synthtest.Attrs{{1, 0}, {9, 9}, {2, 3}})
		},
		"reverse and transposition": func(g *synthtest.Sketch, x ops.Operand) ops.Operand {
			p := g.Do(ops.Pad, f, g.Do(ops.Transpose, f, x, synthtest.Attrs{{1, 0}}), g.Num(f, 7), synthtest.Attrs{{2, 1, 0, 1, 1, 2}})
			return g.Do(ops.Reverse, f, g.Do(ops.Transpose, f, p, synthtest.Attrs{{1, 0}}), synthtest.Attrs{{0}})
		},
		"padding": func(g *synthtest.Sketch, x ops.Operand) ops.Operand {
			p := g.Do(ops.Pad, f, g.Do(ops.Reverse, f, x, synthtest.Attrs{{0, 1}}), g.Num(f, 7), synthtest.Attrs{{2, 1, 0, 1, 1, 1}})
			return g.Do(ops.Pad, f, p, g.Num(f, 5), synthtest.Attrs{{-1, 1, 1, 0, 3, 0}})
		},
		"crop": func(g *synthtest.Sketch, x ops.Operand) ops.Operand { return g.Do(ops.Pad, f, x, g.Num(f, 7), crop) },
		"rows that are repeated": func(g *synthtest.Sketch, x ops.Operand) ops.Operand {
			p := g.Do(ops.Pad, f, x, g.Num(f, 7), synthtest.Attrs{{2, 1, 0, 1, 1, 0}})
			return g.Do(ops.BroadcastTo, f, p, ops.Shape{3, 9, 10}, synthtest.Attrs{{1, 2}})
		},
		"numbers": func(g *synthtest.Sketch, x ops.Operand) ops.Operand {
			i := g.Do(ops.Iota, f, ops.Shape{6, 8}, synthtest.Attrs{{1}})
			p := g.Do(ops.Pad, f, i, g.Num(f, 7), synthtest.Attrs{{2, 1, 0, 1, 1, 0}})
			return g.Do(ops.Multiply, f, p, g.Do(ops.Pad, f, x, g.Num(f, 7), synthtest.Attrs{{2, 1, 0, 1, 1, 0}}))
		},
		"bits": func(g *synthtest.Sketch, x ops.Operand) ops.Operand {
			nan := g.Do(ops.Bitcast, f, g.Do(ops.Add, ops.U32, g.Do(ops.AsType, ops.U32, x), g.Num(ops.U32, 0x7fc00010)))
			p := g.Do(ops.Pad, f, g.Do(ops.Reshape, f, nan, ops.Shape{48}), g.Num(f, 7), synthtest.Attrs{{2, 1, 0}})
			return g.Do(ops.BitwiseXor, ops.U32, g.Do(ops.Bitcast, ops.U32, p), g.Num(ops.U32, 3))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
				g := synthtest.NewSketch(t)
				y := grow(g, g.Param(f, 6, 8))
				d := g.TypeOf(y).DType
				g.Return(g.Do(ops.Multiply, d, y, y))
				wantFusions(t, g.Check(target, 1), 1)
			})
		})
	}
}

// A step has four points, whichever dimension is padded.
func TestFusePadGroups(t *testing.T) {
	for last := range 2 {
		g := synthtest.NewSketch(t)
		p := g.Do(ops.Pad, ops.F32, g.Param(ops.F32, 6, 8), g.Num(ops.F32, 0), synthtest.Attrs{{1, 1, 0, 4 * last, 0, 0}})
		g.Return(g.Do(ops.Negate, ops.F32, p))
		u := g.Check(synthtest.GPU, 1)[0]
		dag, err := fusion.NewDAG(&u, func(id ops.ID) ops.Type { return g.Types[id] })
		if err != nil {
			t.Fatal(err)
		}
		j := fused.ElementwiseJob(dag, &u, synthtest.GPU)
		if j.Programs(synthtest.GPU); j.Group != 4 {
			t.Errorf("padding of dimension %d: %d points a step, want 4", last, j.Group)
		}
	}
}

// A slice that begins where operands say is part of the kernel, and stays within its
// operand whatever they are.
func TestFuseSlide(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, d := range []ops.DType{ops.S32, ops.U8, ops.S64} {
			for seed := range uint64(6) {
				g := synthtest.NewSketch(t)
				x, i, j := g.Param(ops.F32, 6, 9), g.Param(d), g.Param(d)
				y := g.Do(ops.Slice, ops.F32, g.Do(ops.Reverse, ops.F32, x, synthtest.Attrs{{1}}), i, j, synthtest.Attrs{{}, {4, 5}, {1, 2}})
				y = g.Do(ops.Add, ops.F32, g.Do(ops.Transpose, ops.F32, y, synthtest.Attrs{{1, 0}}), g.Param(ops.F32, 3, 4))
				g.Return(y)
				wantFusions(t, g.Check(target, seed), 1)
			}
		}
	})
}
