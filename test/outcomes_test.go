package test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestOutcomes has the outcomes of steps become what test2json reads.
func TestOutcomes(t *testing.T) {
	awk, err := exec.LookPath("awk")
	if err != nil {
		t.Skip("no awk on this machine")
	}
	for _, c := range []struct{ name, in, want string }{
		{"a step that passes", "said\n::pass go vet\n",
			"=== RUN   go_vet\n    said\n--- PASS: go_vet (0.00s)\nPASS\n"},
		{"one that fails has its output", "--- FAIL: x\n::fail build\n::pass next\n",
			"=== RUN   build\n    --- FAIL: x\n--- FAIL: build (0.00s)\n=== RUN   next\n--- PASS: next (0.00s)\nFAIL\n"},
		{"one that is skipped has its reason", "::skip the Nx suite: no Hex: offline\n",
			"=== RUN   the_Nx_suite\n    no Hex: offline\n--- SKIP: the_Nx_suite (0.00s)\nPASS\n"},
		{"a slash makes no subtest", "::fail axon axon/layers_test: 1 failed\n",
			"=== RUN   axon_axon.layers_test:_1_failed\n--- FAIL: axon_axon.layers_test:_1_failed (0.00s)\nFAIL\n"},
		{"output that no outcome follows", "::pass a\nrest\n", "=== RUN   a\n--- PASS: a (0.00s)\n    rest\nPASS\n"},
	} {
		cmd := exec.Command(awk, "-f", "outcomes.awk")
		cmd.Stdin = strings.NewReader(c.in)
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != c.want {
			t.Errorf("%s: %v, got\n%swant\n%s", c.name, err, out, c.want)
		}
	}
}
