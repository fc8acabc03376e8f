package submit

import (
	"slices"
	"time"
)

// A promise stands for batches that somebody has yet to submit. What depends on it waits for its turn meanwhile. Once kept it
// stands for these batches, as a submission that was cancelled stands for those before it.

// NewPromise returns a submission that no batch has, and that is complete no sooner than what Keep names.
func NewPromise() *Submission { return &Submission{Flow: NewFlow(), promise: true} }

// Keep says which submissions a promise stands for.
func (q *Scheduler) Keep(s *Submission, deps []*Submission) {
	if s.needed.Load() {
		for _, d := range deps {
			d.Need()
		}
	}
	q.mu.Lock()
	s.deps = deps
	s.void.Store(true)
	notices := s.notices
	s.notices = nil
	q.resume()
	q.mu.Unlock()
	for _, n := range notices {
		q.notifyAll(deps, n.f)
	}
}

// promised reports whether s is a promise that has not been kept, or stands for one.
func (s *Submission) promised() bool {
	if s.void.Load() {
		return slices.ContainsFunc(s.deps, (*Submission).promised)
	}
	return s.promise
}

// promised reports whether the batch waits for a promise.
func (b *Batch) promised() bool {
	return slices.ContainsFunc(b.Submission.deps, (*Submission).promised)
}

// park reports whether the next batch of a flow waits for a promise. Such a flow has no part in the turns while the device has
// none of its work: it has no time to catch up on afterwards. mu is held.
func (q *Scheduler) park(f *Flow) bool {
	waits := f.pending[0].promised()
	switch {
	case waits && !f.parked && f.inFlight == 0:
		f.parked = true
		q.clock.deactivate(&f.account)
	case !waits && f.parked:
		f.parked = false
		q.takePart(f, time.Now())
	}
	return waits
}

// runnable reports whether a batch waits for no other one. Without, those that wait do so for promises. mu is held.
func (q *Scheduler) runnable() bool {
	return slices.ContainsFunc(q.backlog, func(f *Flow) bool { return f.pending[0].ready() })
}
