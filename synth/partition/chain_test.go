package partition_test

import (
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// A layer for one position takes no dispatches but those of its products, of the rotated heads and of the updates: the
// norms and the gate are in the kernels that read them.
func TestChains(t *testing.T) {
	g := synthtest.NewBlock(t, ops.BF16, 1024, 3072, 16, 128, 288)
	count := func(target *lowering.Target) (n int) {
		for _, u := range synth.Fuse(&g.Graph, target) {
			p, err := synth.LowerFusion(&u, func(id ops.ID) ops.Type { return g.Types[id] }, target)
			if err != nil {
				t.Fatal(err)
			}
			if p.Alias < 0 {
				n += len(p.Steps)
			}
			if p.InPlace != nil {
				n -= p.InPlace.Copies
			}
		}
		return n
	}
	with, without := count(synthtest.GPU), count(synthtest.Without(synthtest.GPU, lowering.RuleChains))
	if with != 10 || without != 14 {
		t.Errorf("%d dispatches, and %d without chains; want 10 and 14", with, without)
	}
	if n := count(synthtest.CPU); n < without {
		t.Errorf("%d dispatches on a processor, want at least %d", n, without)
	}
}
