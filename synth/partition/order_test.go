package partition_test

import (
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// TestOrder: a fusion of early and late instructions depends on what is made in between, and so does whoever reads an early
// one. The two numbers t and d are no fusion: what d is computed into is read by the last instruction, which is one kernel
// with the first, which t is computed of. Values between were not computed before.
func TestOrder(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		g := synthtest.NewSketch(t)
		p, c := g.Param(ops.F32, 64), g.Param(ops.F32)
		early := g.Do(ops.Exp, ops.F32, p)
		best := g.Do(ops.ArgMax, ops.S32, early, synthtest.Attrs{{0}, {0}, {0}})
		n := g.Do(ops.Tanh, ops.F32, best)
		d := g.Do(ops.Sigmoid, ops.F32, c)
		sums := g.Do(ops.CumulativeSum, ops.F32, g.Do(ops.BroadcastTo, ops.F32, d, ops.Shape{64}, synthtest.Attrs{{}}), synthtest.Attrs{{0}, {0}})
		late := g.Do(ops.Add, ops.F32, early, sums)
		g.Return(early, late, n, d)
		g.Check(target, 3)
	})
}
