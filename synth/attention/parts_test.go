package attention_test

import (
	"testing"

	"nxvk/ops"
	"nxvk/synth/attention"
)

// TestParts holds which attentions on matrix hardware divide their keys: those whose tiles leave a device empty, and that
// take long enough for a second kernel.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		heads, length, size int
		mask                string
		parts               bool
	}{
		{2, 2048, 32, "no mask", true}, {2, 2048, 32, "causal", true}, {1, 2048, 64, "biases", true}, {1, 8000, 64, "no mask", true}, {8, 512, 256, "no mask", true},
		{4, 3072, 64, "causal", false}, {1, 16384, 64, "no mask", false}, {4, 3072, 64, "no mask", false},
		{16, 2048, 64, "no mask", false}, {128, 2048, 128, "causal", false}, {32, 180, 128, "no mask", false}, {12, 128, 64, "causal", false},
		{1, 64, 64, "no mask", false}, {2, 2048, 30, "no mask", false}, // columns that are no whole fours
	} {
		for _, d := range []ops.DType{ops.BF16, ops.F16} {
			x := attention.NewExample(d, c.heads, c.length, c.size, c.mask)
			p, err := attention.Lower(x.Instr, x.Types, hardware())
			if err != nil {
				t.Fatal(err)
			}
			if last := &p.Steps[len(p.Steps)-1]; (last.Kernel.Spec == nil) != c.parts {
				t.Errorf("%d heads, %d positions, %s: divided is %v, want %v", c.heads, c.length, x.Name, !c.parts, c.parts)
			}
		}
	}
}
