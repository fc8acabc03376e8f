package partition_test

import (
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// TestStoredLater: a value that readers recompute is stored after all, since one reads it at indices and has many readers. The
// first reader recomputes it still, of a value that is then made by the same kernel and has to be stored, too.
func TestStoredLater(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		g := synthtest.NewSketch(t)
		x, idx := g.Param(ops.F32, 6, 5), g.Param(ops.U8, 40)
		inside := g.Do(ops.Remainder, ops.U8, idx, g.Num(ops.U8, 6))
		dear := g.Do(ops.Tanh, ops.F32, g.Do(ops.Exp, ops.F32, g.Do(ops.Sin, ops.F32, x)))
		cheap := g.Do(ops.Divide, ops.F32, dear, g.Num(ops.F32, 0.75))
		g.Return(g.Do(ops.Sin, ops.F32, g.Do(ops.Exp, ops.F32, g.Do(ops.Reverse, ops.F32, cheap, synthtest.Attrs{{1}}))))
		rows := g.Do(ops.Take, ops.F32, cheap, inside, synthtest.Attrs{{0}})
		for _, op := range []ops.Op{ops.Sin, ops.Cos, ops.Exp, ops.Tanh, ops.Sigmoid} {
			g.Return(g.Do(ops.Exp, ops.F32, g.Do(ops.Tanh, ops.F32, g.Do(op, ops.F32, rows))))
		}
		g.Check(target, 3)
	})
}
