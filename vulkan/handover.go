package vulkan

import (
	"sync"
	"time"

	"nxvk/vulkan/vk"
)

const (
	// promptSize is how many commands the caller of Submit hands over itself:
	// whoever submits little may be waiting for it. More are handed over by a
	// goroutine while the caller records on, since it takes as long to make a
	// command buffer as to record the commands.
	promptSize = 16
	// maxWaiting bounds the batches that wait for the goroutine.
	maxWaiting = 8
)

// handover is how batches reach the device: one at a time, in order of their
// tickets. It is guarded by queue.mu.
type handover struct {
	waiting []batch
	handing bool      // somebody hands batches over
	moved   sync.Cond // a batch was handed over
	lists   []*lists  // to spare
}

// batch is recorded commands that have a ticket.
type batch struct {
	ticket  Ticket
	cmds    []vk.Cmd // of lists
	lists   *lists
	last    bool // no other batch uses lists
	queries int
}

// lists hold recorded commands and what they refer to.
type lists struct {
	cmds  []vk.Cmd
	push  []byte
	binds []vk.Bind
}

// take returns empty lists.
func (q *queue) take() *lists {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.lists); n > 0 {
		l := q.lists[n-1]
		q.lists = q.lists[:n-1]
		return l
	}
	return &lists{}
}

// hand gives a batch a ticket and sees to it that the device gets it. A batch
// that cannot be handed over has no ticket, and an error; where others follow
// it already, the device is lost.
func (q *queue) hand(b batch) (Ticket, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) >= maxWaiting && q.d.Lost() == nil {
		q.moved.Wait()
	}
	if f := q.d.opts.Fault.Lost; f != nil && f() {
		q.drop(&b)
		return 0, q.d.lose("submit", errInjected)
	}
	q.submitted++
	b.ticket = q.submitted
	if q.handing || len(b.cmds) > promptSize {
		q.waiting = append(q.waiting, b)
		if !q.handing {
			q.handing = true
			go q.handAll()
		}
		return b.ticket, nil
	}
	q.handing = true
	err := q.handOne(&b)
	if len(q.waiting) > 0 {
		go q.handAll()
		if err != nil {
			err = q.d.lose("submit", err)
		}
		return b.ticket, err
	}
	q.handing = false
	if err != nil {
		q.submitted--
		return 0, err
	}
	return b.ticket, nil
}

// handAll hands over what waits until nothing does.
func (q *queue) handAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > 0 {
		b := q.waiting[0]
		q.waiting = append(q.waiting[:0], q.waiting[1:]...)
		if q.d.Lost() != nil {
			q.drop(&b)
		} else if err := q.handOne(&b); err != nil {
			q.d.lose("submit", err)
		}
		q.moved.Broadcast()
	}
	q.handing = false
	q.moved.Broadcast()
}

// handOne finds or makes a command buffer of a batch and submits it. mu is held before
// and after, and not meanwhile.
func (q *queue) handOne(b *batch) error {
	q.mu.Unlock()
	start := time.Now()
	rec, err := q.carry(b)
	q.d.counts.submitNanos.Add(int64(time.Since(start)))
	q.mu.Lock()
	if err == nil {
		q.busy = append(q.busy, busyRecorder{b.ticket, rec, time.Now()})
		q.d.counts.submits.Add(1)
	}
	q.drop(b)
	return err
}

func (q *queue) carry(b *batch) (*recorder, error) {
	rec, said, err := q.recorder(b)
	if err != nil {
		return nil, err
	}
	if !said {
		err = q.record(rec, b)
	}
	if err == nil {
		if r := vk.QueueSubmit(q.d.dev, rec.vk, q.timeline, uint64(b.ticket)); r != vk.Success {
			err = q.d.fail("submit", r)
		}
	}
	if err != nil {
		q.giveBack(rec)
		return nil, err
	}
	return rec, nil
}

// record makes a command buffer say what a batch says.
func (q *queue) record(rec *recorder, b *batch) error {
	epoch := q.epoch.Load()
	rec.cmds = rec.cmds[:0]
	if f := q.d.opts.Fault.Record; f != nil && f() {
		return q.d.fail("record commands", vk.ErrorOutOfHostMemory)
	}
	if r := vk.Replay(q.d.dev, rec.vk, b.cmds, b.lists.push, b.lists.binds, b.queries, !b.repeatable()); r != vk.Success {
		return q.d.fail("record commands", r)
	}
	rec.note(b, epoch)
	q.d.counts.recordings.Add(1)
	return nil
}

// drop takes lists back after their last batch.
func (q *queue) drop(b *batch) {
	if b.last {
		l := b.lists
		l.cmds, l.push, l.binds = l.cmds[:0], l.push[:0], l.binds[:0]
		q.lists = append(q.lists, l)
	}
}

// drain returns when nothing is being handed over.
func (q *queue) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.handing {
		q.moved.Wait()
	}
}
