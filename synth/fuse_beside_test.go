package synth

import (
	"testing"

	"nxvk/ops"
)

// optimiser updates tensors of a shape with Adam.
func optimiser(t *testing.T, count int, shape ...int) *sketch {
	g := newSketch(t)
	step := g.param(ops.S32)
	for range count {
		p := func() ops.Operand { return g.param(ops.F32, shape...) }
		g.keep(g.adam(p(), p(), p(), p(), step)...)
	}
	return g
}

// Updates of small tensors of one shape share kernels, as far as these have room
// for their buffers; those of large ones do not, nor where the rule is off.
func TestFuseBeside(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		roomy := *target
		roomy.MaxPush = 256
		target = &roomy
		alone := roomy
		alone.Off = RuleBeside
		few := optimiser(t, 10, 7, 9).check(target, 3)
		many := optimiser(t, 10, 7, 9).check(&alone, 3)
		if len(many) < 10 {
			t.Errorf("%d units for 10 updates with the rule off", len(many))
		}
		if 2*len(few) > len(many)+2 {
			t.Errorf("%d units for 10 updates, %d where each is alone:\n%s", len(few), len(many), show(few))
		}
		large := optimiser(t, 4, maxBeside+1)
		if got, want := len(Units(&large.Graph, target)), len(Units(&large.Graph, &alone)); got != want {
			t.Errorf("%d units for large tensors, want %d", got, want)
		}
	})
}

// What depends on the other, by way of something else, is not beside it.
func TestFuseBesideOrder(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		g := newSketch(t)
		x, y := g.param(ops.F32, 5, 8), g.param(ops.F32, 5, 8)
		a := g.do(ops.Tanh, ops.F32, x)
		s := g.do(ops.CumulativeSum, ops.F32, a, attrs{{1}, {0}})
		b := g.do(ops.Tanh, ops.F32, g.do(ops.Add, ops.F32, s, y))
		c := g.do(ops.Tanh, ops.F32, y)
		g.keep(a, b, c)
		wantUnits(t, g.check(target, 2), 3)
	})
}
