package partition_test

import (
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/lowering"
	"nxvk/synth/partition"
	"nxvk/synth/synthtest"
)

// optimiser updates tensors of a shape with Adam.
func optimiser(t *testing.T, count int, shape ...int) *synthtest.Sketch {
	g := synthtest.NewSketch(t)
	step := g.Param(ops.S32)
	for range count {
		p := func() ops.Operand { return g.Param(ops.F32, shape...) }
		g.Return(g.Adam(p(), p(), p(), p(), step)...)
	}
	return g
}

// Updates of small tensors of one shape share kernels, as far as these have room
// for their buffers; those of large ones do not, nor where the rule is off.
func TestFuseHorizontally(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		roomy := *target
		roomy.MaxPush = 256
		target = &roomy
		alone := roomy
		alone.Off = lowering.RuleHorizontal
		few := optimiser(t, 10, 7, 9).Check(target, 3)
		many := optimiser(t, 10, 7, 9).Check(&alone, 3)
		if len(many) < 10 {
			t.Errorf("%d fusions for 10 updates with the rule off", len(many))
		}
		if 2*len(few) > len(many)+2 {
			t.Errorf("%d fusions for 10 updates, %d where each is alone:\n%s", len(few), len(many), synthtest.Show(few))
		}
		large := optimiser(t, 4, partition.MaxHorizontal+1)
		if got, want := len(synth.Fuse(&large.Graph, target)), len(synth.Fuse(&large.Graph, &alone)); got != want {
			t.Errorf("%d fusions for large tensors, want %d", got, want)
		}
	})
}

// What depends on the other, by way of something else, is not beside it.
func TestFuseHorizontallyInOrder(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		g := synthtest.NewSketch(t)
		x, y := g.Param(ops.F32, 5, 8), g.Param(ops.F32, 5, 8)
		a := g.Do(ops.Tanh, ops.F32, x)
		s := g.Do(ops.CumulativeSum, ops.F32, a, synthtest.Attrs{{1}, {0}})
		b := g.Do(ops.Tanh, ops.F32, g.Do(ops.Add, ops.F32, s, y))
		c := g.Do(ops.Tanh, ops.F32, y)
		g.Return(a, b, c)
		wantFusions(t, g.Check(target, 2), 3)
	})
}
