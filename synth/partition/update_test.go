package partition_test

import (
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// updateCase builds a put_slice into a parameter; grow makes the slice of another one.
func updateCase(t *testing.T, target *lowering.Target, seed uint64, d ops.DType, grow func(g *synthtest.Sketch, x ops.Operand) ops.Operand) (*synthtest.Sketch, []synth.Fusion) {
	g := synthtest.NewSketch(t)
	tensor, at := g.Param(d, 2, 9, 4, 6), g.Param(ops.S32)
	y := grow(g, g.Param(d, 2, 3, 2, 6))
	g.Return(g.Do(ops.PutSlice, d, tensor, y, g.Num(ops.S32, 0), at, g.Num(ops.S32, 1), g.Num(ops.S32, 0), synthtest.Attrs{{}}))
	return g, g.Check(target, seed)
}

// What a put_slice writes is computed where it is written: elementwise operations, views, and a
// repetition along an axis. Where the tensor is given up, that is one kernel.
func TestFuseUpdate(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for name, grow := range map[string]func(d ops.DType) func(g *synthtest.Sketch, x ops.Operand) ops.Operand{
			"elementwise": func(d ops.DType) func(g *synthtest.Sketch, x ops.Operand) ops.Operand {
				return func(g *synthtest.Sketch, x ops.Operand) ops.Operand {
					return g.Do(ops.Multiply, d, g.Do(ops.Add, d, x, g.Param(d, 2, 3, 2, 6)), x)
				}
			},
			"repetition": func(d ops.DType) func(g *synthtest.Sketch, x ops.Operand) ops.Operand {
				return func(g *synthtest.Sketch, x ops.Operand) ops.Operand {
					x = g.Do(ops.BroadcastTo, d, x, ops.Shape{2, 3, 2, 2, 6}, synthtest.Attrs{{0, 1, 2, 4}})
					return g.Do(ops.Reshape, d, x, ops.Shape{2, 3, 4, 6})
				}
			},
			"repetition of what is computed": func(d ops.DType) func(g *synthtest.Sketch, x ops.Operand) ops.Operand {
				return func(g *synthtest.Sketch, x ops.Operand) ops.Operand {
					y := g.Do(ops.Add, d, g.Do(ops.Multiply, d, x, g.Param(d, 1, 3, 1, 6)), g.Do(ops.Multiply, d, g.Do(ops.Reverse, d, x, synthtest.Attrs{{3}}), g.Param(d, 2, 3, 2, 6)))
					y = g.Do(ops.BroadcastTo, d, g.Do(ops.Reshape, d, y, ops.Shape{2, 3, 2, 1, 6}), ops.Shape{2, 3, 2, 2, 6}, synthtest.Attrs{{0, 1, 2, 3, 4}})
					return g.Do(ops.Reshape, d, y, ops.Shape{2, 3, 4, 6})
				}
			},
			"concatenation": func(d ops.DType) func(g *synthtest.Sketch, x ops.Operand) ops.Operand {
				return func(g *synthtest.Sketch, x ops.Operand) ops.Operand {
					return g.Do(ops.Concatenate, d, g.Do(ops.Negate, d, x), x, synthtest.Attrs{{2}})
				}
			},
			"transposition": func(d ops.DType) func(g *synthtest.Sketch, x ops.Operand) ops.Operand {
				return func(g *synthtest.Sketch, x ops.Operand) ops.Operand {
					return g.Do(ops.Transpose, d, g.Do(ops.Reshape, d, x, ops.Shape{2, 2, 3, 6}), synthtest.Attrs{{0, 2, 1, 3}})
				}
			},
		} {
			for i, d := range []ops.DType{ops.F32, ops.BF16, ops.S8, ops.C64, ops.U64} {
				t.Run(name, func(t *testing.T) {
					g, fusions := updateCase(t, target, uint64(i), d, grow(d))
					wantFusions(t, fusions, 1)
					wantFusions(t, synth.Explain(&g.Graph, target), 1)
					p, err := synth.LowerFusion(&fusions[0], func(id ops.ID) ops.Type { return g.Types[id] }, target)
					if err != nil {
						t.Fatal(err)
					}
					if p.InPlace == nil {
						t.Fatal("the tensor is not updated in place")
					}
					if n := len(p.WithoutCopies().Steps); n != 1 && !target.CPU {
						t.Errorf("%d kernels in place, want 1", n)
					}
				})
			}
		}
	})
}

// A slice that is computed from the tensor, or that others read, and a tensor that is updated twice or
// read again, give what the instructions give one by one.
func TestUpdatesApart(t *testing.T) {
	f := ops.F32
	starts := func(i int) synthtest.Attrs { return synthtest.Attrs{{i, 1}} }
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for name, c := range map[string]struct {
			build   func(g *synthtest.Sketch, x, y ops.Operand)
			fusions int
		}{
			"of itself": {func(g *synthtest.Sketch, x, y ops.Operand) {
				part := g.Do(ops.Slice, f, x, synthtest.Attrs{{0, 0}, {3, 4}, {1, 1}})
				g.Return(g.Do(ops.PutSlice, f, x, g.Do(ops.Add, f, part, y), starts(1)))
			}, 1},
			"a slice that is kept": {func(g *synthtest.Sketch, x, y ops.Operand) {
				z := g.Do(ops.Exp, f, g.Do(ops.Add, f, y, y))
				g.Return(z, g.Do(ops.PutSlice, f, x, z, starts(0)))
			}, 2},
			"twice": {func(g *synthtest.Sketch, x, y ops.Operand) {
				x = g.Do(ops.PutSlice, f, x, g.Do(ops.Negate, f, y), starts(0))
				g.Return(g.Do(ops.PutSlice, f, x, g.Do(ops.Exp, f, y), starts(2)))
			}, 2},
			"of as many elements": {func(g *synthtest.Sketch, x, y ops.Operand) {
				z := g.Do(ops.PutSlice, f, y, g.Do(ops.Negate, f, y), starts(0))
				g.Return(g.Do(ops.Add, f, z, y), z)
			}, 2},
			"often repeated": {func(g *synthtest.Sketch, _, _ ops.Operand) {
				x, y := g.Param(f, 20, 7), g.Do(ops.Exp, f, g.Do(ops.Add, f, g.Param(f, 1, 5), g.Param(f, 1, 5)))
				y = g.Do(ops.BroadcastTo, f, y, ops.Shape{9, 5}, synthtest.Attrs{{0, 1}})
				g.Return(g.Do(ops.PutSlice, f, x, y, starts(3)))
			}, 2},
			"a start that is computed": {func(g *synthtest.Sketch, x, y ops.Operand) {
				at := g.Do(ops.Add, ops.S32, g.Param(ops.S32), g.Num(ops.S32, 1))
				g.Return(g.Do(ops.PutSlice, f, x, g.Do(ops.Negate, f, y), at, at, synthtest.Attrs{{}}))
			}, 2},
			"one element": {func(g *synthtest.Sketch, _, _ ops.Operand) {
				x, at := g.Param(ops.S32, 5), g.Do(ops.Multiply, ops.S32, g.Param(ops.S32), g.Num(ops.S32, 2))
				y := g.Do(ops.Reshape, ops.S32, g.Do(ops.Negate, ops.S32, at), ops.Shape{1})
				g.Return(g.Do(ops.PutSlice, ops.S32, x, y, at, synthtest.Attrs{{}}))
			}, 2},
		} {
			t.Run(name, func(t *testing.T) {
				g := synthtest.NewSketch(t)
				c.build(g, g.Param(f, 6, 7), g.Param(f, 3, 4))
				target := synthtest.Without(target, lowering.RuleChains)
				fusions := g.Check(target, 3)
				wantFusions(t, fusions, c.fusions)
				for i := range fusions {
					p, err := synth.LowerFusion(&fusions[i], func(id ops.ID) ops.Type { return g.Types[id] }, target)
					if err != nil {
						t.Fatal(err)
					}
					if name == "of itself" && p.InPlace != nil {
						t.Error("the tensor is updated while it is read")
					}
				}
			})
		}
	})
}
