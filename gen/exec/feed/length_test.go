package feed

import (
	"testing"
	"time"
)

// TestLengths: batches grow while the stream goes on, also where the device is idle between them. They begin anew after
// a read or silence, but not while the device has work.
func TestLengths(t *testing.T) {
	f := &Feed{feeds: &Feeds{}}
	for i, batch := range []struct {
		read     bool // the batch before ended with a read
		inFlight int
		length   int
	}{
		{true, 0, 8}, {false, 0, 16}, {false, 1, 32}, {false, 0, 64}, {false, 0, 64}, {true, 1, 64}, {true, 0, 8}, {true, 0, 8}, {false, 2, 16},
	} {
		f.recorded, f.begins, f.inFlight = 0, batch.read, batch.inFlight
		f.Note()
		if f.length != batch.length {
			t.Errorf("batch %d: length %d, want %d", i, f.length, batch.length)
		}
	}
}

// TestSupplied: while the device has enough to do, by the costs of what it was given, a batch does not end early; it does once
// the device is idle, whatever these said.
func TestSupplied(t *testing.T) {
	f := &Feed{feeds: &Feeds{}}
	now := time.Now()
	f.cost = 1e-3
	f.supplied(now)
	f.inFlight, f.cost = 1, 2e-3
	f.supplied(now.Add(500 * time.Microsecond))
	if want := now.Add(3 * time.Millisecond); !f.until.Equal(want) {
		t.Errorf("it has work until %v, want %v", f.until, want)
	}
	f.supplied(now.Add(5 * time.Millisecond)) // the estimates were too short
	if want := now.Add(7 * time.Millisecond); !f.until.Equal(want) {
		t.Errorf("it has work until %v, want %v", f.until, want)
	}
	f.inFlight = 0
	f.supplied(now.Add(6 * time.Millisecond)) // they were too long
	if want := now.Add(8 * time.Millisecond); !f.until.Equal(want) {
		t.Errorf("it has work until %v, want %v", f.until, want)
	}
}

// TestStarved: an idle device does not wait for a whole batch of long work.
func TestStarved(t *testing.T) {
	f := &Feed{feeds: &Feeds{}, cost: 2 * idleTime}
	if !f.starved() {
		t.Error("long work waits for a batch on an idle device")
	}
	if f.inFlight = 1; f.starved() {
		t.Error("long work does not gather while the device has work")
	}
	if f.inFlight, f.cost = 0, idleTime/2; f.starved() {
		t.Error("short work does not gather")
	}
}

// TestDeep: the device has enough to do with twelve whole batches, with as many seconds, or with very many short submissions; not
// with twelve short ones.
func TestDeep(t *testing.T) {
	for _, test := range []struct {
		inFlight, dispatches int
		cost                 float64
		want                 bool
	}{
		{deep - 1, 1 << 20, 60, false}, {deep, deep * batchBusy, 0, true}, {deep, deep*batchBusy - 1, 0.5, false}, {deep, 12, deep * batchTime, true},
		{Deepest - 1, Deepest, 0, false}, {Deepest, Deepest, 0, true},
	} {
		f := &Feed{inFlight: test.inFlight, progress: progress{sent: []sent{{dispatches: test.dispatches - 1, cost: test.cost}, {dispatches: 1}}}}
		f.progress.count()
		if f.deep() != test.want {
			t.Errorf("%+v: got %v", test, f.deep())
		}
	}
}

// TestFull: who has more waits once a batch has gathered, and also where each dispatch is submitted.
func TestFull(t *testing.T) {
	for _, test := range []struct {
		inFlight, dispatches, recorded int
		want                           bool
	}{
		{deep, deep * batchBusy, 0, false}, {deep, deep * batchBusy, batchBusy, true}, {deep - 1, deep * batchBusy, batchBusy, false},
		{Deepest, Deepest, 0, true}, {Deepest - 1, (deep + 1) * batchBusy, 0, true}, {Deepest - 1, Deepest, 1, false},
	} {
		f := &Feed{inFlight: test.inFlight, recorded: test.recorded, progress: progress{dispatches: test.dispatches}}
		if f.Full() != test.want {
			t.Errorf("%+v: got %v", test, f.Full())
		}
	}
}
