package queue

import (
	"testing"
	"time"
)

// stream is a client that sends as far ahead as it is told, and a device that takes so long for an instruction.
type stream struct {
	flow   Flow
	time   time.Time
	behind int64 // the greatest number of instructions that waited since the last call of run
	told   int64
	next   int64 // id
}

func newStream() *stream {
	s := &stream{time: time.Unix(1e9, 0), told: 16, next: 1}
	s.flow.clock = func() time.Time { return s.time }
	s.flow.Tell = func(id, _ int64) { s.told = id }
	return s
}

// run carries out n instructions, in bursts as they leave a queue.
func (s *stream) run(n, burst int, each time.Duration) {
	s.behind = 0
	for i := range n {
		s.behind = max(s.behind, s.told-s.next)
		if i%burst == 0 {
			s.time = s.time.Add(time.Duration(burst) * each)
		}
		s.flow.Carry(s.next, s.told > s.next)
		s.next++
	}
}

// TestFlow: a client is never stopped for good, and what waits takes about as long as it should, whatever
// instructions take and in what bursts they are carried out.
func TestFlow(t *testing.T) {
	for _, each := range []time.Duration{time.Microsecond, 20 * time.Microsecond, 200 * time.Microsecond, 2 * time.Millisecond, 50 * time.Millisecond} {
		for _, burst := range []int{1, 8, 32} {
			s := newStream()
			s.run(20_000, burst, each)
			s.run(20_000, burst, each)
			if s.told < s.next {
				t.Errorf("%v in bursts of %d: the client may send up to %d, and %d have been carried out", each, burst, s.told, s.next)
			}
			want := min(max(int64(flowTime/each), leastWindow), mostWindow)
			if s.behind > want*3/2+int64(burst) || s.behind < want/2 {
				t.Errorf("%v in bursts of %d: up to %d wait, want about %d", each, burst, s.behind, want)
			}
		}
	}
}

// TestFlowAdapts: instructions that take longer than those before do not make a long queue for longer than that of
// the first of them.
func TestFlowAdapts(t *testing.T) {
	s := newStream()
	s.run(20_000, 1, time.Microsecond)
	s.run(2*mostWindow, 1, 2*time.Millisecond)
	s.run(1000, 1, 2*time.Millisecond)
	if s.behind > 40 {
		t.Errorf("%d instructions of 2 ms wait", s.behind)
	}
	s.run(20_000, 1, time.Microsecond)
	if s.run(1000, 1, time.Microsecond); s.behind < mostWindow/2 {
		t.Errorf("%d instructions of 1 µs wait", s.behind)
	}
}

// TestFlowCompiles: the time of a compilation does not count.
func TestFlowCompiles(t *testing.T) {
	s := newStream()
	s.run(5000, 1, 10*time.Microsecond)
	before := s.flow.window
	for range 20 {
		s.flow.Compile()
		s.run(100, 1, 10*time.Millisecond)
	}
	if s.flow.window < before/2 {
		t.Errorf("the window is %d after compilations, was %d", s.flow.window, before)
	}
}

// TestFlowAlone: where nothing waits the client may be farther and farther ahead, and one that does not want to know is
// told nothing.
func TestFlowAlone(t *testing.T) {
	s := newStream()
	for id := range int64(5000) {
		s.flow.Carry(id+1, false)
	}
	if s.told < 5000+mostWindow/2 {
		t.Errorf("told %d", s.told)
	}
	var f Flow
	f.Carry(1, true)
}
