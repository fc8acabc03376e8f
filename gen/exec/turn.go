package exec

import (
	"slices"
	"time"

	"nxvk/gen/exec/queue"
)

// A lane is served for some time, and then others have their turn, whatever else it has
// in hand: lanes that have more wait in line, and the one that has been served least goes
// on first (start-time fair queueing, as for processors in package sched).

// turnTime is how long a lane is served at a time.
const turnTime = 500 * time.Microsecond

// lookEvery is how many steps a lane takes between two looks at the clock.
const lookEvery = 16

// turns is whose turn it is.
type turns struct {
	nested int       // calls that serve a lane, one within the other
	since  time.Time // the outermost one
	steps  int       // since the last look at the clock
	line   []*Lane   // those that wait for another turn
	posted bool      // next will be called
	clock  time.Duration
}

// begin notes that a lane is served; the end of that is a call of what it returns.
func (t *turns) begin() (end func()) {
	if t.nested++; t.nested == 1 {
		t.since, t.steps = time.Now(), 0
	}
	return t.end
}

func (t *turns) end() { t.nested-- }

// over reports whether a lane has been served long enough. cost is that of the latest
// step, in elements of about a nanosecond.
func (t *turns) over(cost int) bool {
	if t.steps += 1 + cost/(1<<12); t.steps < lookEvery {
		return false
	}
	t.steps = 0
	return time.Since(t.since) >= turnTime
}

// rest has a lane wait for its next turn.
func (e *Executor) rest(l *Lane) {
	t := &e.turns
	home := l.home()
	home.served = max(home.served, t.clock) + home.turnCost()
	e.park(l, queue.ForTurn)
	t.line = append(t.line, l)
	if !t.posted {
		t.posted = true
		e.cfg.Post(e.nextTurn)
	}
}

// turnCost is what a turn costs a session: less where it has more weight than others.
func (l *Lane) turnCost() time.Duration {
	return time.Duration(float64(turnTime) / l.Session.Weight)
}

// SetWeight sets the share of a session beside the shares of others, of which 1 is the
// usual one: of the processors, of the device and of the goroutine of the Executor.
func (e *Executor) SetWeight(l *Lane, weight float64) {
	l.Session.Weight = weight
	if l.worker != nil {
		l.worker.SetWeight(weight)
	}
	if l.feed != nil {
		l.feed.stream.SetWeight(weight)
	}
}

// nextTurn serves the lane of the line that has been served least.
func (e *Executor) nextTurn() {
	t := &e.turns
	t.posted = false
	if len(t.line) == 0 {
		return
	}
	first := 0
	for i, l := range t.line {
		if l.home().served < t.line[first].home().served {
			first = i
		}
	}
	l := t.line[first]
	t.line = slices.Delete(t.line, first, first+1)
	t.clock = l.home().served - l.home().turnCost()
	e.Resume(l)
	if len(t.line) > 0 && !t.posted {
		t.posted = true
		e.cfg.Post(e.nextTurn)
	}
}
