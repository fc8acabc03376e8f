package partition_test

import (
	"testing"

	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
	"nxvk/test/fewtest"
)

// Whatever comes into one kernel, the bits are those of one instruction after the
// other.
func TestFuseRandom(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		kernels, instrs := 0, 0
		for seed := range uint64(fewtest.Of(80, 40)) {
			g := synthtest.Grow(t, seed, 4+int(seed)%20, seed%2 == 1)
			instrs += len(g.Body)
			kernels += len(g.Check(target, seed))
		}
		if 2*kernels > instrs {
			t.Errorf("%d fusions for %d instructions", kernels, instrs)
		}
	})
}
