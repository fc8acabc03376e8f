package terms

import (
	"strings"
	"testing"

	"nxvk/ops"
)

// TestTerms holds the form of generated files: one term a line, ASCII.
func TestTerms(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(Table(), "\n"), "\n")
	if len(lines) != int(ops.Count)+1 {
		t.Fatalf("%d lines for %d operations", len(lines), ops.Count)
	}
	if want := `{digest, <<"` + Digest() + `">>}.`; lines[0] != want {
		t.Errorf("got %s, want %s", lines[0], want)
	}
	for _, l := range lines {
		if !strings.HasPrefix(l, "{") || !strings.HasSuffix(l, "}.") {
			t.Errorf("no term: %s", l)
		}
		for _, r := range l {
			if r < ' ' || r > '~' {
				t.Errorf("not ASCII: %s", l)
			}
		}
	}
}
