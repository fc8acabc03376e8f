package partition_test

import (
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
	"nxvk/test/fewtest"
)

// What reads a tensor at indices is one kernel with its reader, whose check is the gather's.
func TestFuseGather(t *testing.T) {
	f := ops.F32
	for name, grow := range map[string]func(g *synthtest.Sketch) ops.Operand{
		"embedding": func(g *synthtest.Sketch) ops.Operand {
			rows := g.Do(ops.Take, f, g.Param(f, 50, 16), g.Param(ops.S64, 3, 4), synthtest.Attrs{{0}})
			return g.Do(ops.Add, f, rows, g.Param(f, 4, 16))
		},
		"columns": func(g *synthtest.Sketch) ops.Operand {
			x := g.Do(ops.Take, f, g.Param(f, 5, 9), g.Param(ops.U8, 7), synthtest.Attrs{{1}})
			return g.Do(ops.Multiply, f, x, g.Param(f, 5, 7))
		},
		"picks": func(g *synthtest.Sketch) ops.Operand {
			labels := g.Do(ops.Reshape, ops.S32, g.Param(ops.S32, 6), ops.Shape{6, 1})
			return g.Do(ops.Negate, f, g.Do(ops.TakeAlongAxis, f, g.Param(f, 6, 11), labels, synthtest.Attrs{{1}}))
		},
		"rotary tables": func(g *synthtest.Sketch) ops.Operand {
			x, at := g.Param(f, 3, 5, 8), g.Param(ops.S32, 3, 5)
			c := g.Do(ops.Take, f, g.Param(f, 20, 8), at, synthtest.Attrs{{0}})
			s := g.Do(ops.Take, f, g.Param(f, 20, 8), at, synthtest.Attrs{{0}})
			return g.Do(ops.Add, f, g.Do(ops.Multiply, f, x, c), g.Do(ops.Multiply, f, g.Do(ops.Negate, f, x), s))
		},
		"points": func(g *synthtest.Sketch) ops.Operand {
			x := g.Do(ops.Gather, f, g.Param(f, 6, 4, 8), g.Param(ops.S64, 10, 2), synthtest.Attrs{{2, 0}})
			return g.Do(ops.Exp, f, g.Do(ops.Transpose, f, x, synthtest.Attrs{{1, 0}}))
		},
		"an operand that broadcasts": func(g *synthtest.Sketch) ops.Operand {
			wide := g.Do(ops.BroadcastTo, f, g.Param(f, 8), ops.Shape{6, 8}, synthtest.Attrs{{1}})
			return g.Do(ops.Exp, f, g.Do(ops.Take, f, wide, g.Param(ops.S32, 5), synthtest.Attrs{{0}}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
				for seed := range uint64(4) {
					g := synthtest.NewSketch(t)
					g.Return(grow(g))
					fusions := g.Check(target, seed)
					wantFusions(t, fusions, 1)
					checks := 0
					for i := range g.Body {
						if g.Body[i].Op.Info().Kind == ops.Index {
							checks++
						}
					}
					p, err := synth.LowerFusion(&fusions[0], func(id ops.ID) ops.Type { return g.Types[id] }, target)
					if err != nil || len(p.Checks) != checks {
						t.Errorf("got %d checks (%v), want %d", len(p.Checks), err, checks)
					}
				}
			})
		})
	}
}

// Indices that a reader does not look at are checked all the same, so that fusing changes no
// error; and a tensor that is gathered from twice is gathered once.
func TestFuseGatherApart(t *testing.T) {
	f := ops.F32
	for name, grow := range map[string]func(g *synthtest.Sketch, rows ops.Operand) []ops.Operand{
		"a part of the rows": func(g *synthtest.Sketch, rows ops.Operand) []ops.Operand {
			return []ops.Operand{g.Do(ops.Exp, f, g.Do(ops.Slice, f, rows, synthtest.Attrs{{1, 0}, {3, 16}, {1, 1}}))}
		},
		"two readers": func(g *synthtest.Sketch, rows ops.Operand) []ops.Operand {
			return []ops.Operand{g.Do(ops.Exp, f, rows), g.Do(ops.Sum, f, g.Do(ops.Log, f, rows), synthtest.Attrs{{0}, {0}})}
		},
		"a reduction": func(g *synthtest.Sketch, rows ops.Operand) []ops.Operand {
			return []ops.Operand{g.Do(ops.Sum, f, g.Do(ops.Exp, f, rows), synthtest.Attrs{{1}, {0}})}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
				for seed := range uint64(4) {
					g := synthtest.NewSketch(t)
					rows := g.Do(ops.Take, f, g.Param(f, 50, 16), g.Param(ops.S64, 5), synthtest.Attrs{{0}})
					g.Return(grow(g, rows)...)
					g.Check(target, seed)
				}
			})
		})
	}
}

// Graphs that gather, in any order with other instructions, give the bits and the failed
// checks of their instructions one by one.
func TestFuseRandomGathers(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		gathered := 0
		for seed := range uint64(fewtest.Of(120, 48)) {
			g := synthtest.GrowGathers(t, seed, 4+int(seed)%12, seed%2 == 1)
			for _, u := range g.Check(target, seed) {
				for i := range u.Body {
					if len(u.Body) > 1 && u.Body[i].Op.Info().Kind == ops.Index {
						gathered++
					}
				}
			}
		}
		if gathered < fewtest.Of(20, 8) {
			t.Errorf("%d gathers came into fusions", gathered)
		}
	})
}

// What is read at indices for many readers, such as the angles of a position for all layers, is read and checked once.
func TestGatherOfManyReaders(t *testing.T) {
	f := ops.F32
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, c := range []struct{ readers, checks int }{{3, 3}, {9, 1}} {
			g := synthtest.NewSketch(t)
			row := g.Do(ops.AsType, f, g.Do(ops.Take, ops.F16, g.Param(ops.F16, 20, 8), g.Param(ops.S64, 1), synthtest.Attrs{{0}}))
			y := g.Param(f, 1, 8)
			for range c.readers {
				y = g.Do(ops.Dot, f, g.Do(ops.Multiply, f, y, row), g.Param(f, 8, 8), synthtest.Attrs{{1}, {}, {0}, {}})
			}
			g.Return(y)
			checks := 0
			fusions := g.Check(target, 3)
			for i := range fusions {
				p, err := synth.LowerFusion(&fusions[i], func(id ops.ID) ops.Type { return g.Types[id] }, target)
				if err != nil {
					t.Fatal(err)
				}
				checks += len(p.Checks)
			}
			if checks != c.checks {
				t.Errorf("%d checks for %d readers, want %d", checks, c.readers, c.checks)
			}
		}
	})
}
