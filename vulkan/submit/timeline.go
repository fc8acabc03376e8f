package submit

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"nxvk/vulkan/logical"
	"nxvk/vulkan/vk"
)

// waitSlice bounds one wait inside the driver, so that the loss of the device is noticed.
const waitSlice = 200 * time.Millisecond

// timeline is a queue of the device with its timeline semaphore. The batches of one timeline
// complete in order; those of several run side by side, where the device can do that.
type timeline struct {
	q         *Scheduler
	index     int
	queue     int // of the device
	semaphore vk.Semaphore
	using     sync.RWMutex  // held by who asks the driver for the semaphore, and by Close, which destroys it
	sent      atomic.Uint64 // highest value that a submission may signal
	done      atomic.Uint64 // highest value seen
	doneAt    atomic.Int64  // when it was first seen, in Unix nanoseconds
	waiter    waiter

	// Guarded by Scheduler.mu.
	submitted uint64    // the latest value
	busy      []running // in order of values
	seconds   float64   // expected of these
	freed     time.Time // when the batch before them was seen to end
	waking    bool      // the scheduler resumes when the first of them ends
}

func newTimeline(q *Scheduler, index int) (*timeline, error) {
	t := &timeline{q: q, index: index, queue: index % int(q.d.Raw.Queues)}
	if n := len(q.d.Raw.CopyQueues); index >= q.computing && n > 0 { // those that copy
		t.queue = int(q.d.Raw.Queues) + (index-q.computing)%n
	}
	t.waiter.t, t.waiter.stopped.L, t.waiter.more.L = t, &t.waiter.mu, &t.waiter.mu
	var r vk.Result
	if t.semaphore, r = vk.CreateTimeline(q.d.VK); r != vk.Success {
		return nil, fmt.Errorf("create a timeline: %w", r)
	}
	return t, nil
}

// reached reports whether the timeline has been seen at a value; with poll it asks the driver.
func (t *timeline) reached(v uint64, poll bool) bool {
	if v <= t.done.Load() {
		return true
	}
	if !poll {
		return false
	}
	now, err := t.poll()
	return err == nil && v <= now
}

// poll reads the semaphore. Where a device is lost, NVIDIA's driver gives the greatest number there is and
// calls that a success, so a value that nobody signals is the loss of the device.
func (t *timeline) poll() (uint64, error) {
	if err := t.q.d.Lost(); err != nil {
		return 0, err
	}
	v, r, open := t.value()
	if !open {
		return 0, logical.ErrClosed
	}
	if r == vk.Success && v > t.sent.Load() {
		r = vk.ErrorDeviceLost
	}
	if r != vk.Success {
		return 0, t.q.d.Fail("read the timeline", r)
	}
	for {
		old := t.done.Load()
		if old >= v {
			return old, nil
		}
		if t.done.CompareAndSwap(old, v) {
			t.doneAt.Store(time.Now().UnixNano())
			return v, nil
		}
	}
}

// value asks the driver for the semaphore's value, while the scheduler is open.
func (t *timeline) value() (v uint64, r vk.Result, open bool) {
	t.using.RLock()
	defer t.using.RUnlock()
	if t.q.closed.Load() {
		return 0, vk.Success, false
	}
	v, r = vk.GetSemaphoreCounterValue(t.q.d.VK, t.semaphore)
	return v, r, true
}

// sleep blocks in the driver until the timeline is at a value, or for waitSlice.
func (t *timeline) sleep(v uint64) error {
	r := vk.WaitSemaphores(t.q.d.VK, t.semaphore, v, uint64(waitSlice))
	switch {
	case r == vk.Timeout && !t.reached(v, true) && t.stalled():
		return t.q.d.Stall()
	case r != vk.Success && r != vk.Timeout:
		return t.q.d.Fail("wait for the timeline", r)
	}
	return t.q.d.Lost()
}

// stalled reports whether the oldest batch has run for longer than the watchdog allows.
func (t *timeline) stalled() bool {
	q := t.q
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range t.busy {
		if t.reached(r.value, true) {
			continue
		}
		began := time.Unix(0, max(r.at.UnixNano(), t.doneAt.Load()))
		return q.watchdog > 0 && time.Since(began) > q.watchdog
	}
	return false
}
