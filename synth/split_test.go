package synth_test

import (
	"fmt"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/graph/notation"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// TestSplitPays: a large product of f32 and bf16 is two products where there is matrix hardware for bf16. A small one,
// one of few terms with a large result, and any without such hardware or without the pass stay.
func TestSplitPays(t *testing.T) {
	hardware := *synthtest.GPU
	hardware.Addresses, hardware.SubgroupSize, hardware.SharedMemory, hardware.MaxInvocations = true, 32, 48<<10, 1024
	hardware.Matrices = []synth.Matrix{{Type: ops.BF16, M: 16, N: 16, K: 16}}
	plain := hardware
	plain.Matrices = nil
	off := hardware
	off.Off = lowering.RuleSplit
	for _, c := range []struct {
		target  *synth.Target
		m, k, n int
		dots    int
	}{
		{&hardware, 4096, 768, 768, 2},
		{&hardware, 768, 4096, 3072, 2},
		{&hardware, 4096, 50257, 768, 2},
		{&hardware, 64, 64, 64, 1},
		{&hardware, 4096, 16, 4096, 1},
		{&plain, 4096, 768, 768, 1},
		{&off, 4096, 768, 768, 1},
	} {
		r, err := notation.Parse(fmt.Sprintf(`(%%1:f32[%d,%d], %%2:bf16[%d,%d]) {
  %%3:f32[%d,%d] = dot %%1, %%2 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
  give %%3
}
`, c.m, c.k, c.k, c.n, c.m, c.n))
		if err != nil {
			t.Fatal(err)
		}
		if text := notation.Print(synth.Rewrite(r, c.target)); strings.Count(text, " dot ") != c.dots {
			t.Errorf("%d×%d×%d becomes\n%s", c.m, c.k, c.n, text)
		}
	}
}
