package vulkan

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Ticket names a submission. Those of a stream complete in order, those of several in
// any order. The zero Ticket is complete.
type Ticket struct{ s *submission }

// submission is a batch from Submit on. It reaches a queue of the device when those
// have that it depends on.
type submission struct {
	flow     *flow
	line     *line         // where it went; set before value
	value    atomic.Uint64 // of the line's timeline when it is complete; 0 until it is on its way
	done     atomic.Bool   // seen complete
	followed atomic.Bool   // another stream has submitted, or reads, what comes after it
	void     atomic.Bool   // it stands for what it would have waited for, since it was discarded
	err      error         // why; nil where it is several others. Set before void

	// Guarded by queue.mu, and constant once the submission is void.
	deps    []*submission // of other streams, and for a void one what came before in its own
	notices []notice      // who wants to know of the end, until value is there
}

// handed reports whether whatever the device is given from now on comes after s.
func (s *submission) handed() bool {
	if s == nil || s.value.Load() != 0 || s.done.Load() {
		return true
	}
	if !s.void.Load() {
		return false
	}
	for _, d := range s.deps {
		if !d.handed() {
			return false
		}
	}
	return true
}

// complete reports whether the device is done with s, as far as that has been seen;
// with poll it looks.
func (s *submission) complete(poll bool) bool {
	switch {
	case s == nil || s.done.Load():
		return true
	case s.value.Load() != 0:
		if !s.line.reached(s.value.Load(), poll) {
			return false
		}
	case s.void.Load():
		for _, d := range s.deps {
			if !d.complete(poll) {
				return false
			}
		}
	default:
		return false
	}
	s.done.Store(true)
	return true
}

// Done reports whether a submission is complete, which all are on a lost
// device. It never waits.
func (d *Device) Done(t Ticket) bool { return t.s.complete(true) || d.Lost() != nil }

// Wait returns when a submission is complete, with an error when the device is
// lost, the submission was discarded, or the context ends first.
func (d *Device) Wait(ctx context.Context, t Ticket) error {
	if d.spin(func() bool { return d.Done(t) }) {
		return t.err(d)
	}
	done := make(chan error, 1)
	d.Notify(t, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("wait for the device: %w", ctx.Err())
	}
}

// err is how a submission that is complete ended.
func (t Ticket) err(d *Device) error {
	if t.s != nil && t.s.void.Load() && t.s.err != nil {
		return t.s.err
	}
	return d.Lost()
}

// uses are the submissions that used memory last: the one that wrote it, and those
// that have read it since, the latest of each stream. They are guarded by memory.mu.
type uses struct {
	wrote *submission
	reads []*submission
}

// write notes a submission that comes after all others.
func (u *uses) write(s *submission) {
	u.wrote = s
	clear(u.reads)
	u.reads = u.reads[:0]
}

// forget notes that nobody wants what memory holds: it is given to somebody else. Whoever
// uses it still comes after a submission that was cancelled, but that one's error is not of
// what the memory will hold.
func (u *uses) forget() {
	if w := u.wrote; w != nil && w.void.Load() {
		u.wrote, u.reads = nil, append(u.reads, w)
	}
}

// read notes a submission that comes after the one that wrote.
func (u *uses) read(s *submission) {
	kept := u.reads[:0]
	for _, r := range u.reads {
		if r.flow != s.flow && !r.complete(false) {
			kept = append(kept, r)
		}
	}
	u.reads = append(kept, s)
}

// each calls f with all of them until it returns false, and reports whether it never did.
func (u *uses) each(f func(*submission) bool) bool {
	if u.wrote != nil && !f(u.wrote) {
		return false
	}
	for _, r := range u.reads {
		if !f(r) {
			return false
		}
	}
	return true
}

// idle reports whether the device is done with the memory.
func (u *uses) idle() bool {
	return u.each(func(s *submission) bool { return s.complete(true) })
}

// free reports whether a stream can use the memory without waiting for another one: for
// its turn, or on the device, where that has several lines.
func (u *uses) free(f *flow, lines int) bool {
	return u.each(func(s *submission) bool { return s.flow == f || s.complete(true) || lines == 1 && s.handed() })
}

// and are the uses of memory made of two pieces, but for those that are over.
func (u *uses) and(v *uses) uses {
	var out uses
	for _, list := range []*uses{u, v} {
		list.each(func(s *submission) bool {
			if !s.complete(false) {
				out.reads = append(out.reads, s)
			}
			return true
		})
	}
	return out
}
