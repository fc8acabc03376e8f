package submit

import (
	"bytes"
	"slices"
	"time"

	"nxvk/vulkan/pipeline"
	"nxvk/vulkan/vk"
)

// Flow is a stream as the scheduler sees it: its share of the device, and its batches in
// order. (Fair queueing calls any sequence of requests that has a share a flow.)
type Flow struct {
	account
	mixed    pipeline.Rate // of pieces in which no kernel takes most of the time
	pending  []Batch       // that wait for their turn
	timeline *timeline     // of the latest batch
	issued   *Submission   // the latest that the device has
	last     *Submission   // the latest of all
	inFlight int           // batches that the device has, not seen complete, and the one that it is being given
	seconds  float64       // expected of these
	copies   int           // on which of the queues that copy its batches are, from 1 on; 0: they compute
	parked   bool          // it has batches, the next of which waits for a promise, and no part in the turns
	aside    bool          // they compute on a queue of its own, and take no turns with other flows
	family   *Family       // nil where it has none
}

// Family is flows whose use of the same memory somebody else orders.
type Family struct{ _ byte }

// NewFlow returns a flow without work.
func NewFlow() *Flow { return &Flow{account: account{weight: 1}} }

// NewAsideFlow returns a flow without work, for little work that takes no turns with other flows: it is on a queue of its
// own, where the device has one.
func (q *Scheduler) NewAsideFlow() *Flow {
	f := NewFlow()
	f.aside = q.aside != nil
	return f
}

// Join makes a flow one of a family, before its first batch.
func (f *Flow) Join(family *Family) { f.family = family }

// Sibling reports whether somebody else orders what two flows do with the same memory.
func (f *Flow) Sibling(g *Flow) bool {
	return f != nil && g != nil && f.family != nil && f.family == g.family
}

// apart returns the timeline of a flow that takes no turns with others; nil where it does.
func (q *Scheduler) apart(f *Flow) *timeline {
	switch {
	case f.copies > 0:
		return q.timelines[q.computing+f.copies-1]
	case f.aside:
		return q.aside
	}
	return nil
}

// Apart reports whether flows that NewAsideFlow returns have a queue of their own.
func (q *Scheduler) Apart() bool { return q.aside != nil }

// NewCopyFlow returns a flow without work, for batches that only copy, on one of the queues for that. It takes no
// turns with flows that compute.
func (q *Scheduler) NewCopyFlow(queue int) *Flow {
	f := NewFlow()
	if n := q.d.Info.CopyQueues; n > 0 {
		f.copies = queue%n + 1
	}
	return f
}

// Batch is recorded commands to submit.
type Batch struct {
	Submission *Submission
	Lists      *Lists
	Timestamps int    // that it takes; such a batch is never cut
	Writes     Wanted // nil where nobody reads what it writes

	cmds    []vk.Cmd // of Lists
	divided bool     // it is a piece, or known to be one piece
	seconds float64  // expected
	rate    float64  // by which seconds was corrected
	main    *pipeline.Pipeline
	hasPart bool // it has a part of a dispatch
	at      time.Time
}

// Wanted is the memory that a batch writes.
type Wanted interface {
	// Wanted reports whether anybody still holds a buffer in that memory.
	Wanted() bool
}

// Lists hold recorded commands and the data that they refer to.
type Lists struct {
	Cmds  []vk.Cmd
	Push  []byte
	Binds []vk.Bind
	Costs []Cost

	users int // batches that have them: the pieces of one
}

// Cost is the expected time of a dispatch.
type Cost struct {
	Cmd      int // index of the dispatch in Cmds
	Pipeline *pipeline.Pipeline
	Seconds  float64 // before the rate of the pipeline corrects it
	part     bool    // it is a part of a dispatch
}

// Lists returns empty lists to record into. Submit takes them over; Return takes back lists
// that were not submitted.
func (q *Scheduler) Lists() *Lists {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.lists)
	if n == 0 {
		return &Lists{}
	}
	l := q.lists[n-1]
	q.lists = q.lists[:n-1]
	return l
}

// Return takes back lists.
func (q *Scheduler) Return(l *Lists) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.keep(l)
}

// keep clears lists for the next use. mu is held.
func (q *Scheduler) keep(l *Lists) {
	l.Cmds, l.Push, l.Binds = l.Cmds[:0], l.Push[:0], l.Binds[:0]
	clear(l.Costs)
	l.Costs = l.Costs[:0]
	q.lists = append(q.lists, l)
}

// drop lets go of the lists of a batch. One piece may be recorded while those behind it are
// cancelled, so the lists are for the next use when the last of all lets go. mu is held.
func (q *Scheduler) drop(b *Batch) {
	if b.Lists.users--; b.Lists.users == 0 {
		q.keep(b.Lists)
	}
}

// repeatable reports whether it may pay to keep the command buffer of the batch.
func (b *Batch) repeatable() bool {
	return len(b.cmds) <= smallBatch && len(b.cmds) == len(b.Lists.Cmds) && b.Timestamps == 0
}

// matches reports whether a command buffer has the commands of a batch.
func (c *commandBuffer) matches(b *Batch, epoch uint64) bool {
	return len(c.cmds) > 0 && c.epoch == epoch && slices.Equal(c.cmds, b.cmds) &&
		bytes.Equal(c.push, b.Lists.Push) && slices.Equal(c.binds, b.Lists.Binds)
}

// estimate corrects the expected time by what the kernel has taken since the batch was
// submitted.
func (b *Batch) estimate() {
	r := b.Submission.Flow.mixed.Value()
	if b.main != nil {
		r = b.main.Rate.Value()
	}
	b.seconds, b.rate = b.seconds*r/b.rate, r
}

// ready reports whether the device has everything that a batch depends on.
func (b *Batch) ready() bool {
	return !slices.ContainsFunc(b.Submission.deps, func(s *Submission) bool { return !s.Issued() })
}
