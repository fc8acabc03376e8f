package partition_test

import (
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// A chain of operations on complex numbers, and of those between them and real ones,
// is one kernel, with broadcasts and views.
func TestFuseComplex(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, d := range []ops.DType{ops.C64, ops.C128} {
			for _, shape := range []ops.Shape{{6, 8}, {5, 7}, {3, 1, 4}} {
				g := synthtest.NewSketch(t)
				z := g.Do(ops.Reverse, d, g.Param(d, shape...), synthtest.Attrs{{0}})
				w, abs := g.Polynomial(z, g.Param(d.Real(), shape[len(shape)-1]))
				g.Return(g.Do(ops.Transpose, d, w, synthtest.Attrs{[]int{1, 0, 2}[:len(shape)]}), abs)
				wantFusions(t, g.Check(target, 1), 2) // the transposition is kept

				g = synthtest.NewSketch(t)
				w, abs = g.Polynomial(g.Param(d, shape...), g.Param(d.Real(), shape...))
				g.Return(w, abs)
				wantFusions(t, g.Check(target, 2), 1)
			}
		}
	})
}

// Sums of complex numbers take in what they fold and what becomes of them, and rows
// are loaded once.
func TestFuseComplexReduction(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, d := range []ops.DType{ops.C64, ops.C128} {
			for _, shape := range []ops.Shape{{5, 256}, {3, 1030}, {3, 7}, {8, 24}, {70, 4}} {
				for axis := range shape {
					g := synthtest.NewSketch(t)
					z, x := g.Param(d, shape...), g.Param(d.Real(), shape...)
					e := g.Do(ops.Multiply, d, g.Do(ops.Conjugate, d, z), g.Do(ops.Tanh, d.Real(), x))
					over := synthtest.Attrs{{axis}, {0}}
					s, n := g.Do(ops.Sum, d, e, over), g.Do(ops.Sum, d.Real(), x, over)
					g.Return(g.Do(ops.Abs, d.Real(), g.Do(ops.Add, d, s, n)), s)
					wantFusions(t, g.Check(target, 3), 1)
				}
			}
			for _, n := range []int{3, 12, 130, 515} {
				g := synthtest.NewSketch(t)
				z := g.Param(d, 12, n)
				mean := g.Do(ops.Multiply, d, g.Do(ops.Sum, d, z, synthtest.Attrs{{1}, {1}}), g.Num(ops.F32, 1/float64(n)))
				c := g.Do(ops.Subtract, d, z, mean)
				g.Return(g.Do(ops.Add, d, c, g.Do(ops.Product, d, c, synthtest.Attrs{{1}, {1}})))
				wantFusions(t, g.Check(target, 4), 1)
			}
		}
	})
}
