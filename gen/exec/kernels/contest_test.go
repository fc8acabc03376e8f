package kernels

import (
	"math/rand/v2"
	"testing"
	"time"
)

// hour is the time of a way that is not measured.
const hour = time.Hour

// A contest measures all ways that there are and then keeps to the one with the least time, whatever the times are and
// whoever measured first.
func TestContest(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 18))
		var c Contest
		chances := Chances{ByHost: float64(r.IntN(2)), Apart: float64(r.IntN(2))}
		least := [ways]time.Duration{hour, hour, hour}
		note := func(by Way) {
			took := time.Duration(1000 + r.IntN(1000))
			least[by] = min(least[by], took)
			c.Note(by, took)
		}
		if chances[ByHost] > 0 {
			for range r.IntN(6) {
				note(ByHost) // while it was cold
			}
		}
		for range Trials {
			note(c.Next(chances, 0))
		}
		want := ByDevice
		for by, d := range least {
			if d < least[want] {
				want = Way(by)
			}
		}
		for by := range ways {
			if there := by == ByDevice || chances[by] > 0; there != (c.runs[by] >= needed[by]) {
				t.Errorf("seed %d: way %d of %v has been measured %d times", seed, by, chances, c.runs[by])
			}
		}
		if got := c.Next(chances, 0); got != want {
			t.Errorf("seed %d: way %d of %+v, want %d", seed, got, c, want)
		}
	}
}

// The host is not tried where it would take much longer than the device did, and a way that turns out to take much longer
// is tried a few times.
func TestContestWithoutChance(t *testing.T) {
	var c Contest
	for k := range 2 * Trials {
		by := c.Next(Chances{ByHost: 1e9, Apart: 1}, 0)
		if by == ByHost || by == Apart && k >= 2*few {
			t.Fatalf("run %d goes way %d", k, by)
		}
		took := time.Millisecond
		if by == Apart {
			took *= 10
		}
		c.Note(by, took)
	}
	if c.Wants(ByDevice) {
		t.Error("the device is still measured")
	}
}

// A way that looked slow while the machine was busy is found to be the quickest later, and all attempts with slow ways
// cost little.
func TestContestHeals(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 19))
		var times [ways]time.Duration
		for by := range times {
			times[by] = time.Duration(1000 * (1 + r.IntN(50)))
		}
		var c Contest
		all, useful, best := time.Duration(0), time.Duration(0), min(times[0], times[1], times[2])
		for k := range 20000 {
			by := c.Next(Chances{ByHost: 1, Apart: 1}, 0)
			took := times[by]
			if k < Trials && r.IntN(2) == 0 {
				took *= 100
			}
			c.Note(by, took)
			if k > 10000 {
				all, useful = all+took, useful+best
			}
		}
		if all > useful+useful/20 {
			t.Errorf("seed %d: ways of %v take %v where %v is possible", seed, times, all, useful)
		}
	}
}

// TestQuick: work is quick when the host has been measured to take less than handing it over, not before.
func TestQuick(t *testing.T) {
	var c Contest
	if _, ok := c.Quick(); ok {
		t.Error("quick without a measurement")
	}
	c.Note(ByDevice, time.Microsecond)
	c.Note(ByHost, quickly+1)
	if _, ok := c.Quick(); ok {
		t.Error("quick although the host takes longer")
	}
	c.Note(ByHost, 30*time.Microsecond)
	if least, ok := c.Quick(); !ok || least != 30*time.Microsecond {
		t.Errorf("%v, %v", least, ok)
	}
}

// TestAlone: what the host takes with one goroutine alone counts where it has work so, although it takes less with others.
func TestAlone(t *testing.T) {
	var c Contest
	chances := Chances{ByHost: 1}
	for range few {
		c.Note(ByDevice, 60*time.Microsecond)
		c.Note(ByHost, 40*time.Microsecond)
	}
	if by := c.Next(chances, 0); by != ByHost {
		t.Errorf("way %d before the host is alone", by)
	}
	c.NoteHost(90*time.Microsecond, true)
	if by := c.Next(chances, 0); by != ByDevice {
		t.Errorf("way %d, although the host takes longer alone", by)
	}
	if least, ok := c.Quick(); !ok || least != 90*time.Microsecond {
		t.Errorf("%v, %v", least, ok)
	}
}

// Where the host waits for what the device carries out, and the device had nothing else to do, all of that wait counts.
func TestContestOfWaits(t *testing.T) {
	var c Contest
	chances := Chances{ByHost: 1}
	for range few {
		c.NoteDevice(40*time.Microsecond, 500*time.Microsecond)
		c.NoteHost(150*time.Microsecond, true)
	}
	for _, x := range []struct {
		waits float64
		want  Way
	}{{0, ByDevice}, {0.1, ByDevice}, {0.5, ByHost}, {1, ByHost}} {
		if by := c.Next(chances, x.waits); by != x.want {
			t.Errorf("if the host waits for a part of %v, way %d, want %d", x.waits, by, x.want)
		}
	}
}

// As long as the device is not ready, the other ways are measured and the quickest goes on.
func TestContestWithoutDevice(t *testing.T) {
	for _, x := range []struct{ host, apart time.Duration }{{300, 100}, {100, 300}} {
		var c Contest
		took := [ways]time.Duration{ByHost: x.host, Apart: x.apart}
		chances := Chances{ByHost: 1, Apart: 1, ByDevice: NoDevice}
		for range 1000 {
			by := c.Next(chances, 1)
			if by == ByDevice {
				t.Fatal("the device is to go, which is not ready")
			}
			c.Note(by, took[by])
		}
		want := ByHost
		if x.apart < x.host {
			want = Apart
		}
		if by := c.best(&chances); by != want {
			t.Errorf("of %v way %d is the best, want %d", took, by, want)
		}
		if c.runs[ByDevice] > 0 || c.runs[ByHost] < few || c.runs[Apart] < few {
			t.Errorf("runs %v", c.runs)
		}
	}
}

// TestShort: work is not handed over where it is known to be short with all processors.
func TestShort(t *testing.T) {
	c := &Contest{}
	if c.Short() {
		t.Error("work that was not measured is short")
	}
	for _, x := range []struct {
		took  time.Duration
		short bool
	}{{2 * time.Millisecond, false}, {400 * time.Microsecond, true}} {
		if c.NoteHost(x.took, false); c.Short() != x.short {
			t.Errorf("work of %v is short: %v", x.took, c.Short())
		}
	}
}
