package queue

import (
	"math"
	"testing"
)

// Queues that always have more have turns by their weights, also where one weight is that of
// several queues together.
func TestTurns(t *testing.T) {
	weights := []float64{0.1, 1, 2.5, 10}
	var posted []func()
	var turns Turns[int]
	had, shares := make([]int, len(weights)), make([]Share, len(weights))
	wait := func(q int) { turns.Wait(q, &shares[q%len(weights)], weights[q%len(weights)]) }
	turns = NewTurns(func(f func()) { posted = append(posted, f) }, func(q int) {
		had[q%len(weights)]++
		wait(q)
	})
	for q := range 2 * len(weights) {
		wait(q)
		if !turns.Waits(q) {
			t.Errorf("queue %d does not wait", q)
		}
	}
	for had[0] < 40 {
		f := posted[0]
		posted = posted[1:]
		f()
	}
	for i, w := range weights {
		if got := float64(had[i]) / float64(had[1]); math.Abs(got/w-1) > 0.1 {
			t.Errorf("weight %v has %v times the turns of weight 1", w, got)
		}
	}
	if len(posted) != 1 {
		t.Errorf("%d turns are posted, want one", len(posted))
	}
}
