package attention_test

import (
	"testing"

	"nxvk/ops"
	"nxvk/synth/attention"
	"nxvk/synth/graph/notation"
	"nxvk/synth/synthtest"
	"nxvk/test/fewtest"
)

// TestFewQueries compares attentions of few queries, in which a workgroup has a part of the keys, with their
// instructions on the host. The keys of some have several parts.
func TestFewQueries(t *testing.T) {
	const drawn, longest = 7, 1400
	bindings := *synthtest.GPU
	bindings.Addresses = false
	defer attention.PayAlways()()
	parts := map[int]int{} // attentions by the number of their kernels
	many := 0              // attentions whose workgroups share multiprocessors
	for _, d := range []ops.DType{ops.F32, ops.BF16, ops.F16} {
		for seed := range uint64(fewtest.Of(drawn, 4)) {
			g := synthtest.DrawFewQueries(t, seed, longest, d)
			target := synthtest.GPU
			if seed%2 == 1 {
				target = &bindings
			}
			r := g.Region()
			found := attention.Find(r, target)
			one := indexOfAttention(found)
			if one < 0 {
				t.Errorf("%v, %d: nothing is found in\n%s", d, seed, notation.Print(r))
				continue
			}
			if n := words(t, target, &found.Body[one]); n > mostWords {
				t.Errorf("%v, %d: the kernel has %d words, want at most %d", d, seed, n, mostWords)
			}
			parts[steps(t, target, &found.Body[one])]++
			many += min(1, g.Batch*g.Heads/100)
			data := g.Data()
			check(t, seed, g, all(t, target, found, data)[0], all(t, nil, r, data)[0])
		}
	}
	if many == 0 {
		t.Error("no attention has many queries")
	}
	if parts[1] == 0 || parts[2] == 0 || len(parts) > 2 {
		t.Errorf("attentions by the number of their kernels: %v, want some of 1, some of 2 and no others", parts)
	}
}
