package queue

import (
	"slices"
	"time"
)

// turnTime is how long a queue is served at a time, where nobody says otherwise.
const turnTime = 500 * time.Microsecond

// lookEvery is how many steps a queue takes between two looks at the clock.
const lookEvery = 16

// Share is what a session has had of the turns. Its queues share one.
type Share struct {
	served time.Duration // on the clock of turns
	cost   time.Duration // of the turn that is waited for
}

// Turns says whose turn it is among queues of a type. It is for one goroutine.
type Turns[Q comparable] struct {
	Time time.Duration // how long a queue is served at a time

	post   func(func()) // runs a function on that goroutine
	resume func(Q)      // goes on with a queue

	nested  int       // calls that serve a queue, one within the other
	since   time.Time // the outermost one
	steps   int       // since the last look at the clock
	waiting []waiter[Q]
	posted  bool          // next will be called
	clock   time.Duration // what the queue that was served last had been served before
}

type waiter[Q comparable] struct {
	queue Q
	share *Share
}

// NewTurns returns the turns of queues. post runs a function on the goroutine of the queues,
// where resume then goes on with one of them.
func NewTurns[Q comparable](post func(func()), resume func(Q)) Turns[Q] {
	return Turns[Q]{Time: turnTime, post: post, resume: resume}
}

// Begin notes that a queue is served, and End the end of that.
func (t *Turns[Q]) Begin() {
	if t.nested++; t.nested == 1 {
		t.since, t.steps = time.Now(), 0
	}
}

// End is the end of what Begin began.
func (t *Turns[Q]) End() { t.nested-- }

// Over reports, after a step, whether the queue has been served for long enough.
func (t *Turns[Q]) Over() bool {
	if t.steps++; t.steps < lookEvery {
		return false
	}
	t.steps = 0
	return time.Since(t.since) >= t.Time
}

// Charge counts the latest step as so many more. Look is so many that the clock is looked at
// next.
func (t *Turns[Q]) Charge(steps int) { t.steps += steps }

// Look is how many steps there are between two looks at the clock.
const Look = lookEvery

// Wait has a queue wait for another turn, by the weight of its session.
func (t *Turns[Q]) Wait(q Q, s *Share, weight float64) {
	s.cost = time.Duration(float64(turnTime) / weight)
	s.served = max(s.served, t.clock) + s.cost
	t.waiting = append(t.waiting, waiter[Q]{q, s})
	t.ask()
}

// Waits reports whether a queue waits for its turn.
func (t *Turns[Q]) Waits(q Q) bool {
	return slices.ContainsFunc(t.waiting, func(w waiter[Q]) bool { return w.queue == q })
}

func (t *Turns[Q]) ask() {
	if len(t.waiting) > 0 && !t.posted {
		t.posted = true
		t.post(t.next)
	}
}

// next goes on with the queue that has been served least.
func (t *Turns[Q]) next() {
	t.posted = false
	if len(t.waiting) == 0 {
		return
	}
	first := 0
	for i, w := range t.waiting {
		if w.share.served < t.waiting[first].share.served {
			first = i
		}
	}
	w := t.waiting[first]
	t.waiting = slices.Delete(t.waiting, first, first+1)
	t.clock = w.share.served - w.share.cost
	t.resume(w.queue)
	t.ask()
}
