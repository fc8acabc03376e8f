package vulkan

import (
	"container/heap"
	"runtime"
	"sync"
	"time"
)

// spinFor is how long the waiter polls the timeline before it sleeps in the
// driver, which costs 17 µs more on an H200. A software device needs the
// processors for itself, so there it does not poll.
const spinFor = 200 * time.Microsecond

// pollPause is how long the waiter leaves the driver alone between two polls:
// a poll delays who records or submits at the same time.
const pollPause = time.Microsecond

// waiter tells who asked when submissions are complete. One goroutine serves a
// device, and runs only while somebody waits.
type waiter struct {
	d *Device

	mu       sync.Mutex
	pending  notices
	awaiting Ticket // what the goroutine may be asleep for
	running  bool
	extra    int // goroutines that serve one notice
	closed   bool
}

type notice struct {
	t  Ticket
	f  func(error)
	at time.Time
}

// notices is a heap by ticket.
type notices []notice

func (n notices) Len() int           { return len(n) }
func (n notices) Less(i, j int) bool { return n[i].t < n[j].t }
func (n notices) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }
func (n *notices) Push(x any)        { *n = append(*n, x.(notice)) }
func (n *notices) Pop() any {
	old := *n
	x := old[len(old)-1]
	old[len(old)-1] = notice{}
	*n = old[:len(old)-1]
	return x
}

func (w *waiter) init(d *Device) { w.d = d }

// Notify calls f once, from another goroutine, when a submission is complete:
// with nil, or with the loss of the device. f must not block.
func (d *Device) Notify(t Ticket, f func(error)) {
	w := &d.waiter
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		go f(ErrClosed)
		return
	}
	if w.running && t < w.awaiting {
		// The goroutine may sleep past t. Few ask out of order.
		w.extra++
		go w.serve(notice{t, f, time.Now()})
		return
	}
	heap.Push(&w.pending, notice{t, f, time.Now()})
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
		next, closed := w.pending[0].t, w.closed
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
	for !w.d.Done(n.t) && err == nil {
		if err = w.await(n.t); w.isClosed() {
			err = ErrClosed
		}
	}
	w.mu.Lock()
	w.extra--
	w.mu.Unlock()
	n.f(err)
}

// await returns when t is complete, the device is lost, or the waiter closes.
func (w *waiter) await(t Ticket) error {
	d := w.d
	if d.spin(t) {
		return d.Lost()
	}
	return d.queue.sleep(t)
}

// spin polls for a short time, not at all on a software device, and reports
// whether t is complete.
func (d *Device) spin(t Ticket) bool {
	if d.Done(t) {
		return true
	}
	if d.info.Kind == CPU {
		return false
	}
	start := time.Now()
	for at := start; at.Sub(start) < spinFor; {
		if d.Done(t) {
			return true
		}
		for polled := at; at.Sub(polled) < pollPause; at = time.Now() {
			runtime.Gosched()
		}
	}
	return d.Done(t)
}

// deliver calls those whose submissions are complete; with an error, all.
func (w *waiter) deliver(err error) {
	for {
		w.mu.Lock()
		if len(w.pending) == 0 || err == nil && !w.d.Done(w.pending[0].t) {
			w.mu.Unlock()
			return
		}
		n := heap.Pop(&w.pending).(notice)
		w.mu.Unlock()
		if err == nil {
			w.d.counts.observe(time.Since(n.at))
			n.f(w.d.Lost())
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
