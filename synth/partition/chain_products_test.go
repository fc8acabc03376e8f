package partition_test

import (
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/synthtest"
	"nxvk/test/fewtest"
)

// TestGated: a product that only the epilogue of another one reads is in its kernel, where both are of one vector.
func TestGated(t *testing.T) {
	drawn, joined := 0, 0
	for seed := range uint64(fewtest.Of(30, 6)) {
		for _, d := range []ops.DType{ops.BF16, ops.F32, ops.F16} {
			g := synthtest.DrawGated(t, seed, d)
			fusions := synth.Fuse(&g.Graph, synthtest.GPU)
			if err := synth.Verify(&g.Graph, fusions); err != nil {
				t.Fatalf("seed %d, %v: %v", seed, d, err)
			}
			last := &fusions[len(fusions)-1]
			g.Planned(t, last, synthtest.GPU)
			drawn++
			if n := len(last.Stages); n > 1 && last.Stages[n-2].Contraction() != nil {
				joined++
			}
		}
	}
	if t.Logf("%d of %d", joined, drawn); joined < drawn/4 {
		t.Errorf("%d of %d gates are in one kernel", joined, drawn)
	}
}
