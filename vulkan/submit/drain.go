package submit

import (
	"slices"

	"nxvk/vulkan/logical"
	"nxvk/vulkan/vk"
)

// InFlight returns how many batches are not complete.
func (q *Scheduler) InFlight() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.reap()
	n := q.inUse
	for _, f := range q.backlog {
		n += len(f.pending)
	}
	return n
}

// Submitted returns a submission that is complete when everything submitted so far is.
func (q *Scheduler) Submitted() *Submission {
	q.mu.Lock()
	defer q.mu.Unlock()
	var list []*Submission
	for _, t := range q.timelines {
		for i := range t.busy {
			list = append(list, t.busy[i].submission)
		}
	}
	for _, f := range q.backlog {
		list = append(list, f.last)
	}
	if q.carried != nil {
		list = append(list, q.carried)
	}
	return Join(list)
}

// Last returns the latest submission of a flow, nil where there was none.
func (q *Scheduler) Last(f *Flow) *Submission {
	q.mu.Lock()
	defer q.mu.Unlock()
	return f.last
}

// Drain returns when no batch waits or is being submitted, or the device is lost. It discards what waits for promises.
func (q *Scheduler) Drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.issuing || len(q.backlog) > 0 {
		if !q.issuing && !q.runnable() {
			q.discardAll(logical.ErrClosed)
			return
		}
		if err := q.d.Lost(); err != nil && !q.issuing {
			q.discardAll(err)
			return
		}
		q.changed.Wait()
	}
}

// WaitAll returns when all batches are complete, but for those that wait for promises, or the device is lost.
func (q *Scheduler) WaitAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.d.Gone() == nil {
		q.reap()
		i := slices.IndexFunc(q.timelines, func(t *timeline) bool { return len(t.busy) > 0 })
		switch {
		case i >= 0:
			t, value := q.timelines[i], q.timelines[i].busy[0].value
			q.mu.Unlock()
			err := t.sleep(value)
			q.mu.Lock()
			if err != nil {
				return
			}
		case !q.issuing && !q.runnable():
			return
		default:
			q.changed.Wait()
		}
	}
}

// StopNotices fails the notices that are pending, and returns when no goroutine waits for the
// device.
func (q *Scheduler) StopNotices() {
	for _, t := range q.timelines {
		t.waiter.close()
	}
}

// Close destroys command buffers and timelines. The device must have completed all work.
func (q *Scheduler) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed.Store(true)
	for _, t := range q.timelines {
		for _, r := range t.busy {
			vk.DestroyRecorder(q.d.VK, r.buffer.vk)
		}
		t.busy = nil
		t.done.Store(t.submitted)
		t.using.Lock()
		vk.DestroySemaphore(q.d.VK, t.semaphore)
		t.using.Unlock()
	}
	for _, c := range q.spare {
		vk.DestroyRecorder(q.d.VK, c.vk)
	}
	q.spare = nil
}
