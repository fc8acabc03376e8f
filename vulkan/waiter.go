package vulkan

import (
	"container/heap"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// spinFor is how long the waiter polls the timeline before it sleeps in the
// driver, which costs 17 µs more on an H200. A software device needs the
// processors for itself, so there it does not poll.
const spinFor = 200 * time.Microsecond

// pollPause is how long the waiter leaves the driver alone between two polls:
// a poll delays who records or submits at the same time.
const pollPause = time.Microsecond

// waiter tells who asked when submissions of a line are complete. One goroutine serves
// a line, and runs only while somebody waits.
type waiter struct {
	l *line

	mu       sync.Mutex
	pending  notices
	awaiting uint64 // what the goroutine may be asleep for
	running  bool
	extra    int // goroutines that serve one notice
	closed   bool
}

type notice struct {
	value uint64 // of the line's timeline
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

// Notify calls f once, from another goroutine, when a submission is complete:
// with nil, with the loss of the device, or why the submission was discarded. f must
// not block.
func (d *Device) Notify(t Ticket, f func(error)) {
	q, s := &d.queue, t.s
	n := notice{f: f, at: time.Now()}
	q.mu.Lock()
	switch {
	case d.closed.Load():
		go f(ErrClosed)
	case s != nil && s.void.Load() && s.err == nil:
		deps := s.deps
		q.mu.Unlock()
		d.notifyAll(deps, f)
		return
	case s == nil || s.void.Load() || d.Lost() != nil:
		go f(t.err(d))
	case s.value.Load() == 0:
		s.notices = append(s.notices, n)
	default:
		n.value = s.value.Load()
		q.mu.Unlock()
		s.line.waiter.add(n)
		return
	}
	q.mu.Unlock()
}

// notifyAll calls f when all submissions are complete, with the first error.
func (d *Device) notifyAll(list []*submission, f func(error)) {
	if len(list) == 0 {
		list = []*submission{nil}
	}
	var left atomic.Int32
	var failed atomic.Pointer[error]
	left.Store(int32(len(list)))
	for _, s := range list {
		d.Notify(Ticket{s}, func(err error) {
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

// add takes a notice of a submission that is on the line.
func (w *waiter) add(n notice) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		go n.f(ErrClosed)
		return
	}
	if w.running && n.value < w.awaiting {
		// The goroutine may sleep past it. Few ask out of order.
		w.extra++
		go w.serve(n)
		return
	}
	heap.Push(&w.pending, n)
	if !w.running {
		w.running = true
		go w.run()
	}
}

// run serves notices until there are none.
func (w *waiter) run() {
	for {
		w.mu.Lock()
		if len(w.pending) == 0 {
			w.running = false
			w.mu.Unlock()
			return
		}
		next, closed := w.pending[0].value, w.closed
		w.awaiting = next
		w.mu.Unlock()
		var err error
		if closed {
			err = ErrClosed
		} else {
			err = w.await(next)
		}
		w.deliver(err)
	}
}

// serve serves one notice.
func (w *waiter) serve(n notice) {
	var err error
	for !w.l.reached(n.value, true) && err == nil {
		if err = w.await(n.value); w.isClosed() {
			err = ErrClosed
		}
	}
	w.mu.Lock()
	w.extra--
	w.mu.Unlock()
	n.f(err)
}

// await returns when the line is at a value, the device is lost, or the waiter closes.
func (w *waiter) await(v uint64) error {
	d := w.l.d
	if d.spin(func() bool { return w.l.reached(v, true) || d.Lost() != nil }) {
		return d.Lost()
	}
	return w.l.sleep(v)
}

// spin polls for a short time, not at all on a software device, and reports
// whether it is done.
func (d *Device) spin(done func() bool) bool {
	if done() {
		return true
	}
	if d.info.Kind == CPU {
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

// deliver calls those whose submissions are complete; with an error, all.
func (w *waiter) deliver(err error) {
	for {
		w.mu.Lock()
		if len(w.pending) == 0 || err == nil && !w.l.reached(w.pending[0].value, true) {
			w.mu.Unlock()
			return
		}
		n := heap.Pop(&w.pending).(notice)
		w.mu.Unlock()
		if err == nil {
			w.l.d.counts.observe(time.Since(n.at))
			n.f(w.l.d.Lost())
			continue
		}
		n.f(err)
	}
}

// close fails what is pending and keeps the goroutine from the device.
func (w *waiter) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	for w.active() {
		time.Sleep(100 * time.Microsecond)
	}
}

func (w *waiter) active() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running || w.extra > 0
}

func (w *waiter) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}
