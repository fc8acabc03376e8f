package node

import (
	"testing"

	"nxvk/ops"
	"nxvk/synth"
)

func TestMatrix(t *testing.T) {
	for way, want := range map[string]int{"": 1, MatrixHardware: 1, MatrixOrdered: 0} {
		c := Config{Matrix: way}
		target := synth.Target{Matrices: []synth.Matrix{{Type: ops.BF16, M: 16, N: 16, K: 16}}}
		if c.restrict(&target); len(target.Matrices) != want {
			t.Errorf("%q leaves %d shapes of matrices, want %d", way, len(target.Matrices), want)
		}
		if _, err := c.probe(nil, nil); err != nil {
			t.Errorf("%q: %v", way, err)
		}
	}
	c := Config{Matrix: "orderly"}
	if _, err := c.probe(nil, nil); err == nil {
		t.Error("an unknown way is accepted")
	}
}
