package kernels

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A contest measures both ways equally often and then keeps to the one with the least time, whatever the
// times are and whoever measured first.
func TestContest(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 18))
		var c Contest
		least := [2]time.Duration{time.Hour, time.Hour}
		note := func(by Way) {
			took := time.Duration(1 + r.IntN(1000))
			least[by] = min(least[by], took)
			c.Note(by, took)
		}
		for range r.IntN(2 * contestRuns) {
			note(ByHost) // while it was cold
		}
		for k := 0; !c.Decided(); k++ {
			if k > Trials {
				t.Fatalf("seed %d: undecided after %d runs: %+v", seed, k, c)
			}
			note(c.Next(1))
		}
		want := ByDevice
		if least[ByHost] < least[ByDevice] {
			want = ByHost
		}
		if got := c.Next(1); got != want {
			t.Errorf("seed %d: way %d of %+v, want %d", seed, got, c, want)
		}
	}
}

// The host is not tried where it would take much longer than the device did.
func TestContestWithoutChance(t *testing.T) {
	var c Contest
	for k := range 2 * Trials {
		if by := c.Next(1e9); by != ByDevice {
			t.Fatalf("run %d is the host's", k)
		}
		c.Note(ByDevice, time.Millisecond)
	}
	if c.Wants(ByDevice) {
		t.Error("the device is still measured")
	}
}
