package submit

import (
	"slices"
	"time"

	"nxvk/vulkan/vk"
)

// issueAll submits the batches that wait until there are none, or the device has enough.
func (q *Scheduler) issueAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.backlog) > 0 && !q.held() {
		if err := q.d.Lost(); err != nil {
			q.discardAll(err)
			break
		}
		f, t := q.next()
		if t == nil {
			break
		}
		if err := q.issue(f, t); err != nil {
			q.d.Lose("submit", err)
		}
		q.changed.Broadcast()
	}
	q.issuing = false
	if len(q.backlog) > 0 {
		q.wakeLater()
	}
	q.changed.Broadcast()
}

// issue submits the next batch of a flow to a timeline. mu is held before and after, and not
// meanwhile.
func (q *Scheduler) issue(f *Flow, t *timeline) error {
	b := f.pending[0]
	if f.pending = slices.Delete(f.pending, 0, 1); len(f.pending) == 0 {
		q.backlog = slices.DeleteFunc(q.backlog, func(g *Flow) bool { return g == f })
	}
	f.charge(b.seconds)
	after := b.Submission.waitPoints(t)
	f.timeline = t
	f.inFlight++ // it has work meanwhile, whatever comes and ends
	value := t.submitted + 1
	q.carried = b.Submission
	q.mu.Unlock()
	start := time.Now()
	buffer, err := q.send(&b, t, value, after)
	q.d.Counts.SubmitNanos.Add(int64(time.Since(start)))
	q.mu.Lock()
	q.carried = nil
	if err != nil {
		f.inFlight--
		q.discard(&b, err)
		q.deactivate(f)
		return err
	}
	q.issued(&b, t, running{submission: b.Submission, value: value, buffer: buffer, seconds: b.seconds, main: b.main, hasPart: b.hasPart})
	return nil
}

// issued notes that a timeline has a batch. mu is held.
func (q *Scheduler) issued(b *Batch, t *timeline, r running) {
	f, s := b.Submission.Flow, b.Submission
	t.submitted = r.value
	t.seconds += b.seconds
	f.issued, f.seconds = s, f.seconds+b.seconds
	q.inUse++
	r.at = time.Now()
	r.waited = r.at.Sub(b.at)
	t.busy = append(t.busy, r)
	s.deps = nil
	s.timeline = t
	s.began.Store(r.at.UnixNano())
	s.value.Store(r.value)
	for _, n := range s.notices {
		n.value = r.value
		t.waiter.add(n)
	}
	s.notices = nil
	q.drop(b)
}

// handOver gives a command buffer to the driver.
func (q *Scheduler) handOver(t *timeline, c *commandBuffer, value uint64, after []vk.Point) error {
	if q.d.Info.PipelinesApart {
		q.d.Making.Lock()
		defer q.d.Making.Unlock()
	}
	if r := vk.QueueSubmit(q.d.VK, t.queue, c.vk, t.semaphore, value, after); r != vk.Success {
		return q.d.Fail("submit", r)
	}
	return nil
}

// send records a batch, unless a command buffer has its commands already, and submits it.
func (q *Scheduler) send(b *Batch, t *timeline, value uint64, after []vk.Point) (*commandBuffer, error) {
	c, recorded, err := q.commandBuffer(b)
	if err != nil {
		return nil, err
	}
	if !recorded {
		err = q.record(c, b)
	}
	if err == nil {
		t.sent.Store(value)
		err = q.handOver(t, c, value, after)
	}
	if err != nil {
		q.giveBack(c)
		return nil, err
	}
	q.d.Counts.Submits.Add(1)
	return c, nil
}
