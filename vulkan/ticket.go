package vulkan

import (
	"context"
	"time"

	"nxvk/vulkan/submit"
)

// Ticket names a submission. The submissions of a stream complete in order, those of several
// streams in any order. The zero Ticket is complete.
type Ticket struct{ s *submit.Submission }

// Done reports whether a submission is complete, which all are on a lost device. It never
// waits.
func (d *Device) Done(t Ticket) bool { return d.queue.Done(t.s) }

// Began returns when the device got a submission, which may have had to wait for its turn and for
// the submissions before it; the zero time before that.
func (d *Device) Began(t Ticket) time.Time { return t.s.Began() }

// Wait returns when a submission is complete, with an error when the device is lost, the
// submission was discarded, or the context ends first.
func (d *Device) Wait(ctx context.Context, t Ticket) error { return d.queue.Wait(ctx, t.s) }

// Notify calls f once, from another goroutine, when a submission is complete: with nil, with
// the loss of the device, or with the reason why the submission was discarded. f must not
// block.
func (d *Device) Notify(t Ticket, f func(error)) { d.queue.Notify(t.s, f) }

// Submitted returns the ticket of everything that has been submitted.
func (d *Device) Submitted() Ticket { return Ticket{d.queue.Submitted()} }
