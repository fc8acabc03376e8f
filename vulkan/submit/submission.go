package submit

import (
	"slices"
	"sync/atomic"
	"time"

	"nxvk/vulkan/vk"
)

// Submission is a batch from Submit on. It reaches a timeline when all submissions that it
// depends on have. A nil submission is complete.
type Submission struct {
	Flow *Flow

	promise  bool          // see NewPromise
	timeline *timeline     // where it was submitted; set before value
	value    atomic.Uint64 // of the timeline when it is complete; 0 until it is submitted to the device
	done     atomic.Bool   // seen complete
	needed   atomic.Bool   // another flow comes after it, or the host reads its results
	void     atomic.Bool   // it stands for its deps: it was cancelled, joins several, or is a promise that was kept
	began    atomic.Int64  // when the device got it, in Unix nanoseconds; 0 before
	err      error         // why it was cancelled; nil where it was not. Set before void

	// Guarded by Scheduler.mu, and constant once the submission is void.
	deps    []*Submission // of other flows; of a void one, those before it in its own as well
	notices []notice      // to deliver at the end, until value is set
}

// New returns the submission of a batch that a flow is about to submit.
func New(f *Flow) *Submission { return &Submission{Flow: f} }

// After sets the submissions of other flows that it comes after, before it is submitted.
func (s *Submission) After(deps []*Submission) { s.deps = deps }

// Join returns a submission that is complete when all of a list are.
func Join(list []*Submission) *Submission { return NewCancelled(nil, nil, list) }

// NewCancelled returns a submission that the device never gets, for work that would have come
// after deps. Submissions that depend on it depend on these.
func NewCancelled(f *Flow, err error, deps []*Submission) *Submission {
	s := &Submission{Flow: f, err: err, deps: deps}
	s.void.Store(true)
	return s
}

// Need notes that another flow comes after s, or that the host reads its results: Cancel keeps it.
func (s *Submission) Need() { s.needed.Store(true) }

// Began returns when the device got the submission, or the last piece of it; the zero time before.
func (s *Submission) Began() time.Time {
	if s == nil || s.began.Load() == 0 {
		return time.Time{}
	}
	return time.Unix(0, s.began.Load())
}

// Err returns why the submission was cancelled, nil where it was not.
func (s *Submission) Err() error {
	if s == nil || !s.void.Load() {
		return nil
	}
	return s.err
}

// Issued reports whether work that is submitted to the device from now on comes after s.
func (s *Submission) Issued() bool {
	if s == nil || s.value.Load() != 0 || s.done.Load() {
		return true
	}
	return s.void.Load() && !slices.ContainsFunc(s.deps, func(d *Submission) bool { return !d.Issued() })
}

// Complete reports whether the device has completed s. Without poll it does not ask the
// driver, and may answer false for a while after the end.
func (s *Submission) Complete(poll bool) bool {
	switch {
	case s == nil || s.done.Load():
		return true
	case s.value.Load() != 0:
		if !s.timeline.reached(s.value.Load(), poll) {
			return false
		}
	case s.void.Load():
		for _, d := range s.deps {
			if !d.Complete(poll) {
				return false
			}
		}
	default:
		return false
	}
	s.done.Store(true)
	return true
}

// waitPoints returns the points of other timelines that come before a submission.
func (s *Submission) waitPoints(on *timeline) []vk.Point {
	var list []vk.Point
	var add func([]*Submission)
	add = func(deps []*Submission) {
		for _, d := range deps {
			switch {
			case d.Complete(false):
			case d.void.Load():
				add(d.deps)
			case d.timeline != on:
				i := slices.IndexFunc(list, func(p vk.Point) bool { return p.Semaphore == d.timeline.semaphore })
				if i < 0 {
					list = append(list, vk.Point{Semaphore: d.timeline.semaphore, Value: d.value.Load()})
				} else {
					list[i].Value = max(list[i].Value, d.value.Load())
				}
			}
		}
	}
	add(s.deps)
	return list
}
