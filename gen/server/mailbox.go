package server

import (
	"sync"
	"sync/atomic"
	"time"

	"nxvk/node/dist"
)

// mailbox is the queue of messages of a device server. Messages are handled one at a time,
// in order. The goroutine that puts a message into an idle mailbox handles it, and the
// messages that others put there meanwhile. So a message wakes no goroutine, and the state of
// the server needs no lock.
type mailbox struct {
	handle func(message any) // calls a message that is a func(); does not panic
	ended  bool              // the message of close has been handled
	came   time.Duration     // when the current message was put here

	// onWaited gets the time of each message in the queue; afterMessage is called after each
	// message. Both may be nil.
	onWaited     func(time.Duration)
	afterMessage func()
	began        atomic.Int64 // when the current message began to be handled; 0 between two messages
	queued       atomic.Int64 // messages that wait

	mu      sync.Mutex
	queue   []envelope
	spare   []envelope // the array of the messages in Run, which is the next queue but one
	running bool
}

// envelope is a message and when it came.
type envelope struct {
	message any
	came    time.Duration
}

// uncounted is a function whose waiting and running time is not measured, such as a snapshot
// for the metrics.
type uncounted func()

// started is the zero of clock.
var started = time.Now()

// clock returns a monotonic time that is never 0.
func clock() time.Duration { return time.Since(started) + 1 }

// waitedCall is a function that another goroutine waits for.
type waitedCall struct {
	f    func()
	last bool // no message is handled after it
	done chan struct{}
}

// keepQueue is the capacity, in messages, of the largest array that an empty mailbox keeps.
const keepQueue = 1024

// Put implements dist.Inbox.
func (b *mailbox) Put(message any) (run bool) {
	l := envelope{message, clock()}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, l)
	b.queued.Add(1)
	run = !b.running
	b.running = true
	return run
}

// Run handles messages until there are none. Call it after Put has returned true.
func (b *mailbox) Run() {
	for {
		taken := b.take()
		if len(taken) == 0 {
			return
		}
		for i, l := range taken {
			taken[i] = envelope{}
			b.begin(l)
			b.handleOne(l.message)
			if b.afterMessage != nil && !b.ended {
				b.afterMessage()
			}
			b.began.Store(0)
		}
	}
}

// begin notes the start of a message.
func (b *mailbox) begin(l envelope) {
	b.queued.Add(-1)
	if _, ok := l.message.(uncounted); ok {
		return
	}
	now := clock()
	b.came = l.came
	b.began.Store(int64(now))
	if b.onWaited != nil {
		b.onWaited(now - l.came)
	}
}

// busy returns the time since the current message began to be handled; 0 between messages.
func (b *mailbox) busy() time.Duration {
	if began := b.began.Load(); began != 0 {
		return clock() - time.Duration(began)
	}
	return 0
}

func (b *mailbox) handleOne(message any) {
	t, waited := message.(*waitedCall)
	switch {
	case waited:
		if !b.ended {
			b.ended = t.last
			b.handle(t.f)
		}
		close(t.done)
	case !b.ended:
		b.handle(message)
		dist.Handled(message)
	default:
		if m, ok := message.(sentFunc); ok {
			m.gone()
		}
		dist.Handled(message)
	}
}

// take empties the queue. If the queue is empty, it ends Run.
func (b *mailbox) take() []envelope {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		b.running = false
		if cap(b.queue)+cap(b.spare) > keepQueue {
			b.queue, b.spare = nil, nil
		}
		return nil
	}
	taken := b.queue
	b.queue, b.spare = b.spare[:0], taken
	return taken
}

// deliver handles a message on this goroutine, unless another one handles messages.
func (b *mailbox) deliver(message any) {
	if b.Put(message) {
		b.Run()
	}
}

// post has a message handled on another goroutine.
func (b *mailbox) post(message any) {
	if b.Put(message) {
		go b.Run()
	}
}

// do calls f as a message and waits for its end. If the mailbox is closed, it does nothing.
// It must not be called while a message is handled.
func (b *mailbox) do(f func()) { b.wait(&waitedCall{f: f}) }

// close calls last as a message and waits for its end. Later messages are dropped.
func (b *mailbox) close(last func()) { b.wait(&waitedCall{f: last, last: true}) }

func (b *mailbox) wait(t *waitedCall) {
	t.done = make(chan struct{})
	b.deliver(t)
	<-t.done
}
