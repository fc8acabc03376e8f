package submit

import "slices"

// A batch that waits for its turn can be cancelled. Its submission then stands for those that it would
// have come after: submissions that depend on it still come after them.

// discard cancels the submission of a batch. mu is held.
func (q *Scheduler) discard(b *Batch, err error) {
	q.cancel(b.Submission, err)
	q.drop(b)
}

// cancel makes a submission one that the device never gets. mu is held.
func (q *Scheduler) cancel(s *Submission, err error) {
	f := s.Flow
	if f.issued != nil {
		s.deps = append(s.deps, f.issued)
	}
	if f.last == s {
		f.last = f.issued
	}
	s.err = err
	s.void.Store(true)
	for _, n := range s.notices {
		go n.f(err)
	}
	s.notices = nil
}

// Abandon discards all batches that wait on a device that is lost. It does not wait for a
// batch that is being submitted.
func (q *Scheduler) Abandon() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.discardAll(q.d.Lost())
}

// discardAll discards all batches that wait. mu is held.
func (q *Scheduler) discardAll(err error) {
	for _, f := range q.backlog {
		for i := range f.pending {
			q.discard(&f.pending[i], err)
		}
		f.pending = nil
		q.deactivate(f)
	}
	q.backlog = nil
}

// Cancel discards the batches of a flow that wait, behind the last one that is needed. err is what
// their submissions end with.
func (q *Scheduler) Cancel(f *Flow, err error) {
	q.cancelUnless(f, err, func(b *Batch) bool { return b.Submission.needed.Load() })
}

// CancelUnwanted discards the batches of a flow that wait, behind the last one that is needed or writes memory
// that somebody still holds.
func (q *Scheduler) CancelUnwanted(f *Flow, err error) {
	q.cancelUnless(f, err, func(b *Batch) bool {
		return b.Submission.needed.Load() || b.Writes != nil && b.Writes.Wanted()
	})
}

// cancelUnless discards the batches of a flow that wait, behind the last one to keep.
func (q *Scheduler) cancelUnless(f *Flow, err error, keep func(*Batch) bool) {
	q.mu.Lock()
	pending := slices.Clone(f.pending)
	q.mu.Unlock()
	var last *Submission
	for i := range pending {
		if keep(&pending[i]) {
			last = pending[i].Submission
		}
	}
	q.cancelBehind(f, err, last)
}

// cancelBehind discards the batches of a flow behind a submission, all where that is nil.
func (q *Scheduler) cancelBehind(f *Flow, err error, behind *Submission) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := slices.IndexFunc(f.pending, func(b Batch) bool { return b.Submission == behind }) + 1
	if n == len(f.pending) {
		return
	}
	before := f.issued
	if n > 0 {
		before = f.pending[n-1].Submission
	}
	for i := range f.pending[n:] {
		b := &f.pending[n+i]
		if before != nil {
			b.Submission.deps = append(b.Submission.deps, before)
		}
		q.discard(b, err)
	}
	f.last = before
	clear(f.pending[n:])
	if f.pending = f.pending[:n]; n == 0 {
		q.backlog = slices.DeleteFunc(q.backlog, func(g *Flow) bool { return g == f })
	}
	q.deactivate(f)
	q.changed.Broadcast()
}
