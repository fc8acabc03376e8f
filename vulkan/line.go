package vulkan

import (
	"fmt"
	"sync/atomic"
	"time"

	"nxvk/vulkan/vk"
)

// line is one of the device's queues with its timeline. What it is given runs in order;
// what several are given runs side by side, where the device can.
type line struct {
	d        *Device
	index    int
	queue    int // of the device
	timeline vk.Semaphore
	done     atomic.Uint64 // highest value seen on the timeline
	doneAt   atomic.Int64  // when it was first seen, in Unix nanoseconds
	waiter   waiter

	// Guarded by queue.mu.
	submitted uint64         // the latest value
	busy      []busyRecorder // in order of values
	seconds   float64        // that it is expected to take for these
	freed     time.Time      // when the one before them was seen to end
	kicked    bool           // who hands over is told when the first of them ends
}

// busyRecorder is a command buffer on its way, and what it was expected to take.
type busyRecorder struct {
	sub     *submission
	value   uint64
	r       *recorder
	at      time.Time
	waited  time.Duration // for its turn
	seconds float64
	main    *Pipeline // takes most of it, or nil
	cut     bool      // a part of a dispatch
}

func (l *line) init(d *Device, index int) error {
	l.d, l.index, l.queue = d, index, index%int(d.raw.Queues)
	l.waiter.l = l
	var r vk.Result
	if l.timeline, r = vk.CreateTimeline(d.dev); r != vk.Success {
		return fmt.Errorf("create a timeline: %w", r)
	}
	return nil
}

// reached reports whether the timeline is at a value, as far as has been seen; with
// poll it looks.
func (l *line) reached(v uint64, poll bool) bool {
	if v <= l.done.Load() {
		return true
	}
	if !poll {
		return false
	}
	now, err := l.poll()
	return err == nil && v <= now
}

// poll reads the timeline.
func (l *line) poll() (uint64, error) {
	if err := l.d.Lost(); err != nil {
		return 0, err
	}
	if l.d.queue.closed.Load() {
		return 0, ErrClosed
	}
	v, r := vk.GetSemaphoreCounterValue(l.d.dev, l.timeline)
	if r != vk.Success {
		return 0, l.d.fail("read the timeline", r)
	}
	for {
		old := l.done.Load()
		if old >= v {
			return old, nil
		}
		if l.done.CompareAndSwap(old, v) {
			l.doneAt.Store(time.Now().UnixNano())
			return v, nil
		}
	}
}

// sleep blocks in the driver until the timeline is at a value or a slice of time is
// over.
func (l *line) sleep(v uint64) error {
	r := vk.WaitSemaphores(l.d.dev, l.timeline, v, uint64(waitSlice))
	switch {
	case r == vk.Timeout && !l.reached(v, true) && l.stalled():
		return l.d.stall()
	case r != vk.Success && r != vk.Timeout:
		return l.d.fail("wait for the timeline", r)
	}
	return l.d.Lost()
}

// stalled reports whether the oldest submission has run for longer than the
// watchdog allows.
func (l *line) stalled() bool {
	q := &l.d.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, b := range l.busy {
		if l.reached(b.value, true) {
			continue
		}
		began := time.Unix(0, max(b.at.UnixNano(), l.doneAt.Load()))
		return q.watchdog > 0 && time.Since(began) > q.watchdog
	}
	return false
}
