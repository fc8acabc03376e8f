package submit

import (
	"container/heap"
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"nxvk/vulkan/adapter"
	"nxvk/vulkan/logical"
)

// spinFor is how long a goroutine polls the timeline before it sleeps in the driver, which
// costs 17 µs more on an H200. A software device needs the processors for itself, so nobody
// polls it.
const spinFor = 200 * time.Microsecond

// pollPause is the time between two polls: a poll delays goroutines that record or submit.
const pollPause = time.Microsecond

// waiter delivers notices when the batches of a timeline are complete. One goroutine serves a
// timeline, from the first notice on: those who are told do much on its stack, which a new goroutine would have to grow
// each time.
type waiter struct {
	t *timeline

	mu       sync.Mutex
	pending  notices
	awaiting uint64 // the value for which the goroutine may be asleep
	running  bool
	extra    int // goroutines that serve one notice
	closed   bool
	more     sync.Cond // a notice has come, or closed
	stopped  sync.Cond // a goroutine has ended
}

// notice is a function to call when the timeline is at a value.
type notice struct {
	value uint64
	f     func(error)
	at    time.Time
}

// notices is a heap by value.
type notices []notice

func (n notices) Len() int           { return len(n) }
func (n notices) Less(i, j int) bool { return n[i].value < n[j].value }
func (n notices) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }
func (n *notices) Push(x any)        { *n = append(*n, x.(notice)) }
func (n *notices) Pop() any {
	old := *n
	x := old[len(old)-1]
	old[len(old)-1] = notice{}
	*n = old[:len(old)-1]
	return x
}

// Notify calls f once, from another goroutine, when a submission is complete: with nil, with
// the loss of the device, or with the error of a submission that was cancelled. f must not
// block.
func (q *Scheduler) Notify(s *Submission, f func(error)) {
	n := notice{f: f, at: time.Now()}
	q.mu.Lock()
	switch {
	case q.d.Closed():
		go f(logical.ErrClosed)
	case s != nil && s.void.Load() && s.err == nil:
		deps := s.deps
		q.mu.Unlock()
		q.notifyAll(deps, f)
		return
	case s == nil || s.void.Load() || q.d.Lost() != nil:
		go f(q.Err(s))
	case s.value.Load() == 0:
		s.notices = append(s.notices, n)
	default:
		n.value = s.value.Load()
		q.mu.Unlock()
		s.timeline.waiter.add(n)
		return
	}
	q.mu.Unlock()
}

// Err returns how a submission that is complete ended.
func (q *Scheduler) Err(s *Submission) error {
	if err := s.Err(); err != nil {
		return err
	}
	return q.d.Lost()
}

// Done reports whether a submission is complete, which all are on a lost device.
func (q *Scheduler) Done(s *Submission) bool { return s.Complete(true) || q.d.Lost() != nil }

// Wait returns when a submission is complete or the context ends.
func (q *Scheduler) Wait(ctx context.Context, s *Submission) error {
	if q.spin(func() bool { return q.Done(s) }) {
		return q.Err(s)
	}
	done := make(chan error, 1)
	q.Notify(s, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("wait for the device: %w", ctx.Err())
	}
}

// notifyAll calls f when all submissions are complete, with the first error.
func (q *Scheduler) notifyAll(list []*Submission, f func(error)) {
	if len(list) == 0 {
		list = []*Submission{nil}
	}
	var left atomic.Int32
	var failed atomic.Pointer[error]
	left.Store(int32(len(list)))
	for _, s := range list {
		q.Notify(s, func(err error) {
			if err != nil {
				failed.CompareAndSwap(nil, &err)
			}
			if left.Add(-1) > 0 {
				return
			}
			if p := failed.Load(); p != nil {
				f(*p)
				return
			}
			f(nil)
		})
	}
}

// add takes a notice of a batch that the timeline has.
func (w *waiter) add(n notice) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		go n.f(logical.ErrClosed)
		return
	}
	if w.running && n.value < w.awaiting {
		// The goroutine may sleep past it. This is rare.
		w.extra++
		go w.serve(n)
		return
	}
	heap.Push(&w.pending, n)
	if !w.running {
		w.running = true
		go w.run()
		return
	}
	w.more.Signal()
}

// run serves notices until the waiter closes.
func (w *waiter) run() {
	for {
		w.mu.Lock()
		for len(w.pending) == 0 && !w.closed {
			w.awaiting = 0
			w.more.Wait()
		}
		if len(w.pending) == 0 {
			w.running = false
			w.stopped.Broadcast()
			w.mu.Unlock()
			return
		}
		next, closed := w.pending[0].value, w.closed
		w.awaiting = next
		w.mu.Unlock()
		var err error
		if closed {
			err = logical.ErrClosed
		} else {
			err = w.await(next)
		}
		w.deliver(err)
	}
}

// serve serves one notice.
func (w *waiter) serve(n notice) {
	var err error
	for !w.t.reached(n.value, true) && err == nil {
		if err = w.await(n.value); w.isClosed() {
			err = logical.ErrClosed
		}
	}
	w.mu.Lock()
	w.extra--
	w.stopped.Broadcast()
	w.mu.Unlock()
	n.f(err)
}

// await returns when the timeline is at a value, the device is lost, or the waiter closes.
func (w *waiter) await(v uint64) error {
	d := w.t.q.d
	if w.t.q.spin(func() bool { return w.t.reached(v, true) || d.Lost() != nil }) {
		return d.Lost()
	}
	return w.t.sleep(v)
}

// spin polls for spinFor, on a software device once, and reports whether done is true.
func (q *Scheduler) spin(done func() bool) bool {
	if done() {
		return true
	}
	if q.d.Info.Kind == adapter.CPU {
		return false
	}
	start := time.Now()
	for at := start; at.Sub(start) < spinFor; {
		if done() {
			return true
		}
		for polled := at; at.Sub(polled) < pollPause; at = time.Now() {
			runtime.Gosched()
		}
	}
	return done()
}

// deliver serves the notices whose batches are complete; with an error, all notices.
func (w *waiter) deliver(err error) {
	for {
		w.mu.Lock()
		if len(w.pending) == 0 || err == nil && !w.t.reached(w.pending[0].value, true) {
			w.mu.Unlock()
			return
		}
		n := heap.Pop(&w.pending).(notice)
		w.mu.Unlock()
		if err == nil {
			w.t.q.d.Counts.ObserveLatency(time.Since(n.at))
			n.f(w.t.q.d.Lost())
			continue
		}
		n.f(err)
	}
}

// close fails the pending notices, and returns when no goroutine uses the device.
func (w *waiter) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.more.Broadcast()
	for w.running || w.extra > 0 {
		w.stopped.Wait()
	}
}

func (w *waiter) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}
