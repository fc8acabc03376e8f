package sweep

import (
	"context"
	"strings"
	"testing"
)

// TestTurns has two machines measure cases in turns, one of which fails on both.
func TestTurns(t *testing.T) {
	good := *copying(1 << 12)
	good.Family, good.Name = "unary", "negate"
	var out strings.Builder
	err := Run(context.Background(), &out, Config{Device: "host", Against: "host", Cases: []Case{good, bad(1)}})
	if err == nil || !strings.Contains(out.String(), "FAILED: take 1 take outside") {
		t.Errorf("the failure is not told: %v\n%s", err, &out)
	}
	if n := strings.Count(out.String(), "negate"); n != 2 { // in the table, and with its first result
		t.Errorf("the case that succeeds is listed %d times:\n%s", n, &out)
	}
}
