package synth

import (
	"testing"

	"nxvk/ops"
)

// padConfigs are ways to pad two dimensions: before, after and between the elements of
// each, also below zero.
var padConfigs = [][]int{
	{1, 1, 0, 2, 0, 0}, {0, 0, 0, 1, 3, 0}, {-1, 2, 0, 1, -1, 0},
	{0, 0, 1, 0, 0, 2}, {1, 0, 2, -2, 1, 1}, {-3, 5, 1, 4, -3, 3}, {0, 0, 0, -9, 12, 0}, {2, 1, 0, 0, 0, 0},
}

// Padding is part of the kernel that reads it, and so is what is padded.
func TestFusePad(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, d := range []ops.DType{ops.F32, ops.S8, ops.BF16, ops.C64, ops.U64} {
			for _, cfg := range padConfigs {
				g := newSketch(t)
				x, value := g.param(d, 6, 8), g.param(d)
				y := g.do(ops.Pad, d, g.do(ops.Negate, d, x), value, attrs{cfg})
				y = g.do(ops.Multiply, d, y, g.param(d, g.typeOf(y).Shape...))
				y = g.do(ops.Subtract, d, y, g.do(ops.Pad, d, x, g.num(ops.S32, 2), attrs{cfg}))
				g.keep(y)
				wantUnits(t, g.check(target, 1), 1)
			}
		}
	})
}

// Views of padding, padding of views and of padding, and what only crops are part of
// the kernel as well; what becomes of a NaN is not.
func TestFusePadViews(t *testing.T) {
	f := ops.F32
	crop := attrs{{-1, 0, 0, 0, -2, 0}}
	for name, grow := range map[string]func(g *sketch, x ops.Operand) ops.Operand{
		"slice": func(g *sketch, x ops.Operand) ops.Operand {
			p := g.do(ops.Pad, f, x, g.num(f, 7), attrs{{2, 1, 1, 1, 1, 0}})
			return g.do(ops.Slice, f, p, attrs{{1, 0}, {9, 9}, {2, 3}})
		},
		"reverse and transposition": func(g *sketch, x ops.Operand) ops.Operand {
			p := g.do(ops.Pad, f, g.do(ops.Transpose, f, x, attrs{{1, 0}}), g.num(f, 7), attrs{{2, 1, 0, 1, 1, 2}})
			return g.do(ops.Reverse, f, g.do(ops.Transpose, f, p, attrs{{1, 0}}), attrs{{0}})
		},
		"padding": func(g *sketch, x ops.Operand) ops.Operand {
			p := g.do(ops.Pad, f, g.do(ops.Reverse, f, x, attrs{{0, 1}}), g.num(f, 7), attrs{{2, 1, 0, 1, 1, 1}})
			return g.do(ops.Pad, f, p, g.num(f, 5), attrs{{-1, 1, 1, 0, 3, 0}})
		},
		"crop": func(g *sketch, x ops.Operand) ops.Operand { return g.do(ops.Pad, f, x, g.num(f, 7), crop) },
		"rows that are repeated": func(g *sketch, x ops.Operand) ops.Operand {
			p := g.do(ops.Pad, f, x, g.num(f, 7), attrs{{2, 1, 0, 1, 1, 0}})
			return g.do(ops.BroadcastTo, f, p, ops.Shape{3, 9, 10}, attrs{{1, 2}})
		},
		"numbers": func(g *sketch, x ops.Operand) ops.Operand {
			i := g.do(ops.Iota, f, ops.Shape{6, 8}, attrs{{1}})
			p := g.do(ops.Pad, f, i, g.num(f, 7), attrs{{2, 1, 0, 1, 1, 0}})
			return g.do(ops.Multiply, f, p, g.do(ops.Pad, f, x, g.num(f, 7), attrs{{2, 1, 0, 1, 1, 0}}))
		},
		"bits": func(g *sketch, x ops.Operand) ops.Operand {
			nan := g.do(ops.Bitcast, f, g.do(ops.Add, ops.U32, g.do(ops.AsType, ops.U32, x), g.num(ops.U32, 0x7fc00010)))
			p := g.do(ops.Pad, f, g.do(ops.Reshape, f, nan, ops.Shape{48}), g.num(f, 7), attrs{{2, 1, 0}})
			return g.do(ops.BitwiseXor, ops.U32, g.do(ops.Bitcast, ops.U32, p), g.num(ops.U32, 3))
		},
	} {
		t.Run(name, func(t *testing.T) {
			forTargets(t, func(t *testing.T, target *Target) {
				g := newSketch(t)
				y := grow(g, g.param(f, 6, 8))
				d := g.typeOf(y).DType
				g.keep(g.do(ops.Multiply, d, y, y))
				wantUnits(t, g.check(target, 1), 1)
			})
		})
	}
}

// Rows of which only the first dimension is padded are loaded in fours all the same.
func TestFusePadGroups(t *testing.T) {
	for last, want := range map[int]int{0: 4, 1: 1} {
		g := newSketch(t)
		p := g.do(ops.Pad, ops.F32, g.param(ops.F32, 6, 8), g.num(ops.F32, 0), attrs{{1, 1, 0, 4 * last, 0, 0}})
		g.keep(g.do(ops.Negate, ops.F32, p))
		u := g.check(gpu, 1)[0]
		tr, err := fusedTrace(&u, func(id ops.ID) ops.Type { return g.types[id] })
		if err != nil {
			t.Fatal(err)
		}
		j := tr.mapJob(&u, gpu)
		if j.programs(gpu); j.group != want {
			t.Errorf("padding of dimension %d: %d points a step, want %d", last, j.group, want)
		}
	}
}

// A slice that begins where operands say is part of the kernel, and stays within its
// operand whatever they are.
func TestFuseSlide(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, d := range []ops.DType{ops.S32, ops.U8, ops.S64} {
			for seed := range uint64(6) {
				g := newSketch(t)
				x, i, j := g.param(ops.F32, 6, 9), g.param(d), g.param(d)
				y := g.do(ops.Slice, ops.F32, g.do(ops.Reverse, ops.F32, x, attrs{{1}}), i, j, attrs{{}, {4, 5}, {1, 2}})
				y = g.do(ops.Add, ops.F32, g.do(ops.Transpose, ops.F32, y, attrs{{1, 0}}), g.param(ops.F32, 3, 4))
				g.keep(y)
				wantUnits(t, g.check(target, seed), 1)
			}
		}
	})
}
