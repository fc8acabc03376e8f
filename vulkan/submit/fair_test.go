package submit

import (
	"math"
	"math/rand/v2"
	"testing"
)

// simulated is a flow on a simulated device.
type simulated struct {
	account
	piece  func() float64 // seconds of the next piece
	error  float64        // times that what is expected of it
	served float64        // seconds
}

// TestFairShares serves flows with batches of different lengths, whose expected times are wrong by up
// to a factor of eight: each flow gets its share by weight, and one that asks for little now and then is
// served next.
func TestFairShares(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 12))
		var clock virtualClock
		var all []*simulated
		weights, longest := 0.0, 0.0
		for range 2 + rnd.IntN(9) {
			size := math.Exp(rnd.Float64()*4) * 1e-4
			s := &simulated{error: math.Exp2(rnd.Float64()*6 - 3), piece: func() float64 { return size * (0.5 + rnd.Float64()) }}
			s.weight = float64(1 + rnd.IntN(3))
			weights, longest = weights+s.weight, max(longest, 1.5*size)
			clock.activate(&s.account)
			all = append(all, s)
		}
		little := &simulated{error: 1}
		little.weight = 1
		now, next, arrived, waits := 0.0, 0.01, 0.0, false
		for now < 20 {
			if now >= next && !waits {
				waits, arrived = true, now
				clock.activate(&little.account)
			}
			var first *simulated
			for _, s := range all {
				if first == nil || s.before(&first.account, 1, 1) {
					first = s
				}
			}
			if waits && little.before(&first.account, 1e-5, 1) {
				first = little
			}
			var seconds float64
			if first == little {
				seconds = 1e-5
			} else {
				seconds = first.piece()
			}
			first.charge(seconds * first.error)
			now += seconds
			first.charge(seconds - seconds*first.error) // what it took is known now
			first.served += seconds
			if first == little {
				if w := now - seconds - arrived; w > longest {
					t.Fatalf("seed %d: who asks for little waited %v for its turn, pieces take up to %v", seed, w, longest)
				}
				waits = false
				clock.deactivate(&little.account)
				next = now + rnd.Float64()*0.02
			}
		}
		total := now - little.served
		for i, s := range all {
			if want := total * s.weight / weights; math.Abs(s.served-want) > 0.05*want {
				t.Errorf("seed %d: stream %d of weight %v had %v seconds of %v, want %v", seed, i, s.weight, s.served, total, want)
			}
		}
	}
}

// TestNobodySavesUp lets a flow be idle for long: from then on it gets the same share as others, and
// not the time that it has missed.
func TestNobodySavesUp(t *testing.T) {
	var c virtualClock
	a, b := &account{weight: 1}, &account{weight: 1}
	c.activate(a)
	for range 1000 {
		a.charge(1)
	}
	c.activate(b)
	if b.before(a, 1, 1) || a.before(b, 1, 1) {
		t.Errorf("a has %v, b begins at %v", a.tag, b.tag)
	}
	b.charge(1)
	if !a.before(b, 1, 1) {
		t.Error("b has another turn before a")
	}
	c.deactivate(a)
	c.deactivate(b)
	c.activate(a)
	if a.tag > 1001 || a.tag < 1000 {
		t.Errorf("a goes on at %v", a.tag)
	}
}
