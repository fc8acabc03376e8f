package vulkan

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"nxvk/vulkan/vk"
)

// Ticket names a submission. Tickets of a device complete in order, and the
// zero Ticket is complete.
type Ticket uint64

const (
	// maxInFlight bounds the submissions not completed; one more waits for
	// the oldest.
	maxInFlight = 16
	// waitSlice bounds one wait inside the driver, so that the loss of the
	// device is noticed.
	waitSlice = 200 * time.Millisecond

	watchdogGPU = 30 * time.Second
	watchdogCPU = 5 * time.Minute
)

// queue is the device's one queue, its timeline, the batches on their way to
// it, and the recorders in use and to spare.
type queue struct {
	d        *Device
	timeline vk.Semaphore
	done     atomic.Uint64 // highest value seen on the timeline
	doneAt   atomic.Int64  // when it was first seen, in Unix nanoseconds
	watchdog time.Duration
	epoch    atomic.Uint64 // rises when what command buffers refer to is destroyed

	mu        sync.Mutex
	submitted Ticket         // the latest given out
	busy      []busyRecorder // in order of tickets
	spare     []*recorder    // the one whose use is longest ago first
	handover
}

type busyRecorder struct {
	ticket Ticket
	r      *recorder
	at     time.Time
}

func (q *queue) init(d *Device) error {
	q.d = d
	q.moved.L = &q.mu
	q.watchdog = d.opts.Watchdog
	if q.watchdog == 0 {
		q.watchdog = watchdogGPU
		if d.info.Kind == CPU {
			q.watchdog = watchdogCPU
		}
	}
	var r vk.Result
	if q.timeline, r = vk.CreateTimeline(d.dev); r != vk.Success {
		return fmt.Errorf("create a timeline: %w", r)
	}
	return nil
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, b := range q.busy {
		vk.DestroyRecorder(q.d.dev, b.r.vk)
	}
	for _, r := range q.spare {
		vk.DestroyRecorder(q.d.dev, r.vk)
	}
	q.busy, q.spare = nil, nil
	q.done.Store(uint64(q.submitted))
	vk.DestroySemaphore(q.d.dev, q.timeline)
}

func (q *queue) inFlight() int {
	last := q.last()
	if q.d.Done(last) {
		return 0
	}
	return int(last) - int(q.done.Load())
}

func (q *queue) last() Ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.submitted
}

// poll reads the timeline.
func (q *queue) poll() (Ticket, error) {
	if err := q.d.gone(); err != nil {
		return 0, err
	}
	v, r := vk.GetSemaphoreCounterValue(q.d.dev, q.timeline)
	if r != vk.Success {
		return 0, q.d.fail("read the timeline", r)
	}
	for {
		old := q.done.Load()
		if old >= v {
			return Ticket(old), nil
		}
		if q.done.CompareAndSwap(old, v) {
			q.doneAt.Store(time.Now().UnixNano())
			return Ticket(v), nil
		}
	}
}

// wait blocks in the driver until t is complete.
func (q *queue) wait(t Ticket) error {
	for !q.d.Done(t) {
		if err := q.d.Lost(); err != nil {
			return err
		}
		if err := q.sleep(t); err != nil {
			return err
		}
	}
	return q.d.Lost()
}

// sleep blocks in the driver until t is complete or a slice of time is over.
func (q *queue) sleep(t Ticket) error {
	r := vk.WaitSemaphores(q.d.dev, q.timeline, uint64(t), uint64(waitSlice))
	switch {
	case r == vk.Timeout && !q.d.Done(t) && q.stalled():
		return q.d.stall()
	case r != vk.Success && r != vk.Timeout:
		return q.d.fail("wait for the timeline", r)
	}
	return q.d.Lost()
}

// stalled reports whether the oldest submission has run for longer than the
// watchdog allows.
func (q *queue) stalled() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, b := range q.busy {
		if q.d.Done(b.ticket) {
			continue
		}
		began := time.Unix(0, max(b.at.UnixNano(), q.doneAt.Load()))
		return q.watchdog > 0 && time.Since(began) > q.watchdog
	}
	return false
}

// waitAll waits for all that is submitted.
func (q *queue) waitAll() { _ = q.wait(q.last()) }

// Done reports whether a submission is complete, which all are on a lost
// device. It never waits.
func (d *Device) Done(t Ticket) bool {
	if uint64(t) <= d.queue.done.Load() {
		return true
	}
	now, err := d.queue.poll()
	return err != nil && d.Lost() != nil || err == nil && t <= now
}

// Wait returns when a submission is complete, with an error when the device is
// lost or the context ends first.
func (d *Device) Wait(ctx context.Context, t Ticket) error {
	if d.spin(t) {
		return d.Lost()
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
