package partition_test

import (
	"fmt"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// The parts of a concatenation or a stack, and what reads it, are one kernel, along any axis.
func TestFuseParts(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, d := range []ops.DType{ops.F32, ops.S8, ops.BF16, ops.C64, ops.U64} {
			for axis := range 3 {
				g := synthtest.NewSketch(t)
				x := g.Param(d, 4, 6, 8)
				half := func(second int) ops.Operand {
					at, size := []int{0, 0, 0}, []int{4, 6, 8}
					size[axis] /= 2
					at[axis] = second * size[axis]
					return g.Do(ops.Slice, d, x, synthtest.Attrs{at, size, {1, 1, 1}})
				}
				y := g.Do(ops.Concatenate, d, g.Do(ops.Negate, d, half(1)), half(0), half(1), synthtest.Attrs{{axis}})
				y = g.Do(ops.Multiply, d, y, g.Param(d, g.TypeOf(y).Shape...))
				z := g.Do(ops.Stack, d, half(1), g.Do(ops.Negate, d, half(0)), synthtest.Attrs{{axis + 1}})
				z = g.Do(ops.Add, d, z, g.Param(d, g.TypeOf(z).Shape...))
				g.Return(y, z)
				wantFusions(t, g.Check(target, uint64(axis)), 2)
			}
		}
	})
}

// Views of a concatenation, and a concatenation of views of others, are part of the kernel.
func TestFusePartsViews(t *testing.T) {
	f := ops.F32
	for name, grow := range map[string]func(g *synthtest.Sketch, c ops.Operand) ops.Operand{
		"transposition": func(g *synthtest.Sketch, c ops.Operand) ops.Operand {
			return g.Do(ops.Transpose, f, c, synthtest.Attrs{{1, 0}})
		},
		"reverse and slice": func(g *synthtest.Sketch, c ops.Operand) ops.Operand {
			return g.Do(ops.Slice, f, g.Do(ops.Reverse, f, c, synthtest.Attrs{{1}}), synthtest.Attrs{{1, 3}, {4, 9}, {2, 3}})
		},
		"rows that are repeated": func(g *synthtest.Sketch, c ops.Operand) ops.Operand {
			return g.Do(ops.BroadcastTo, f, c, ops.Shape{3, 6, 20}, synthtest.Attrs{{1, 2}})
		},
		"dimensions split": func(g *synthtest.Sketch, c ops.Operand) ops.Operand {
			return g.Do(ops.Reshape, f, c, ops.Shape{3, 2, 5, 4})
		},
		"a slice that begins where an operand says": func(g *synthtest.Sketch, c ops.Operand) ops.Operand {
			return g.Do(ops.Slice, f, c, g.Param(ops.S32), g.Num(ops.S32, 2), synthtest.Attrs{{}, {3, 15}, {1, 1}})
		},
		"padding": func(g *synthtest.Sketch, c ops.Operand) ops.Operand {
			return g.Do(ops.Pad, f, c, g.Num(f, 3), synthtest.Attrs{{1, 0, 1, -1, 2, 0}})
		},
		"a concatenation": func(g *synthtest.Sketch, c ops.Operand) ops.Operand {
			return g.Do(ops.Concatenate, f, g.Do(ops.Reverse, f, c, synthtest.Attrs{{1}}), c, synthtest.Attrs{{0}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
				g := synthtest.NewSketch(t)
				x := g.Param(f, 6, 10)
				y := grow(g, g.Do(ops.Concatenate, f, g.Do(ops.Negate, f, x), g.Do(ops.Reverse, f, x, synthtest.Attrs{{0}}), synthtest.Attrs{{1}}))
				g.Return(g.Do(ops.Multiply, f, y, y))
				wantFusions(t, g.Check(target, 1), 1)
			})
		})
	}
}

// A rotary embedding, in both forms that models have, is one kernel for all heads, whatever the axis of
// the heads is.
func TestFuseRotary(t *testing.T) {
	d := ops.BF16
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, interleaved := range []bool{false, true} {
			g := synthtest.NewSketch(t)
			shape := ops.Shape{2, 3, 4, 16}
			x, cos, sin := g.Param(d, shape...), g.Param(d, 1, 3, 1, 16), g.Param(d, 1, 3, 1, 16)
			part := func(at, step int) ops.Operand {
				return g.Do(ops.Slice, d, x, synthtest.Attrs{{0, 0, 0, at}, {2, 3, 4, 16 - 8*(2-step)}, {1, 1, 1, step}})
			}
			var rotated ops.Operand
			if interleaved {
				even, odd := g.Do(ops.Slice, d, x, synthtest.Attrs{{0, 0, 0, 0}, {2, 3, 4, 15}, {1, 1, 1, 2}}), g.Do(ops.Slice, d, x, synthtest.Attrs{{0, 0, 0, 1}, {2, 3, 4, 15}, {1, 1, 1, 2}})
				rotated = g.Do(ops.Reshape, d, g.Do(ops.Stack, d, g.Do(ops.Negate, d, odd), even, synthtest.Attrs{{4}}), shape)
			} else {
				rotated = g.Do(ops.Concatenate, d, g.Do(ops.Negate, d, part(8, 1)), part(0, 1), synthtest.Attrs{{3}})
			}
			y := g.Do(ops.Add, d, g.Do(ops.Multiply, d, x, cos), g.Do(ops.Multiply, d, rotated, sin))
			g.Return(g.Do(ops.Transpose, d, y, synthtest.Attrs{{0, 2, 1, 3}}))
			fusions := g.Check(target, 2)
			if len(fusions) > 2 {
				t.Errorf("interleaved %v: %d fusions, want the embedding and its transposition\n%s", interleaved, len(fusions), synthtest.Show(fusions))
			}
		}
	})
}

// Parts of other types, of literals, and too many of them are copied.
func TestPartsApart(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for i, parts := range [][]ops.DType{{ops.F32, ops.BF16}, {ops.S32, ops.U8}, {ops.F32, ops.F32, ops.F32, ops.F32, ops.F32}} {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				g := synthtest.NewSketch(t)
				var args []any
				out := parts[0]
				for _, d := range parts {
					args, out = append(args, g.Do(ops.Negate, d, g.Param(d, 3, 5))), ops.Merge(out, d)
				}
				y := g.Do(ops.Concatenate, out, append(args, synthtest.Attrs{{1}})...)
				g.Return(g.Do(ops.Negate, out, y))
				if n := len(g.Check(target, 1)); n < 3 {
					t.Errorf("%d fusions: the concatenation is not apart", n)
				}
			})
		}
	})
}
