package mailbox

import (
	"sync"
	"sync/atomic"
	"time"

	"nxvk/node/dist"
)

// Mailbox is the queue of messages of a device server. Messages are handled one at a time,
// in order. The goroutine that puts a message into an idle mailbox handles it, and the
// messages that others put there meanwhile. So a message wakes no goroutine, and the state of
// the server needs no lock.
type Mailbox struct {
	Handle func(message any) // calls a message that is a func(); does not panic

	// OnWaited gets the time of each message in the queue; AfterMessage is called after each
	// message. Both may be nil.
	OnWaited     func(time.Duration)
	AfterMessage func()

	Came   time.Duration // by Clock: when the current message was put here
	Began  atomic.Int64  // by Clock: when the current message began to be handled; 0 between two messages
	Queued atomic.Int64  // messages that wait

	ended bool // the message of Close has been handled

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

// Uncounted is a function whose waiting and running time is not measured, such as a snapshot
// for the metrics.
type Uncounted func()

// Func is a function that another goroutine has the server call. Gone is called in its place if the
// mailbox is closed.
type Func struct{ F, Gone func() }

// started is the zero of Clock.
var started = time.Now()

// Clock returns a monotonic time that is never 0.
func Clock() time.Duration { return time.Since(started) + 1 }

// waitedCall is a function that another goroutine waits for.
type waitedCall struct {
	f    func()
	last bool // no message is handled after it
	done chan struct{}
}

// keepQueue is the capacity, in messages, of the largest array that an empty mailbox keeps.
const keepQueue = 1024

// Put implements dist.Inbox.
func (b *Mailbox) Put(message any) (run bool) {
	l := envelope{message, Clock()}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, l)
	b.Queued.Add(1)
	run = !b.running
	b.running = true
	return run
}

// Run handles messages until there are none. Call it after Put has returned true.
func (b *Mailbox) Run() {
	for {
		taken := b.take()
		if len(taken) == 0 {
			return
		}
		for i, l := range taken {
			taken[i] = envelope{}
			b.begin(l)
			b.handleOne(l.message)
			if b.AfterMessage != nil && !b.ended {
				b.AfterMessage()
			}
			b.Began.Store(0)
		}
	}
}

// begin notes the start of a message.
func (b *Mailbox) begin(l envelope) {
	b.Queued.Add(-1)
	if _, ok := l.message.(Uncounted); ok {
		return
	}
	now := Clock()
	b.Came = l.came
	b.Began.Store(int64(now))
	if b.OnWaited != nil {
		b.OnWaited(now - l.came)
	}
}

// Busy returns the time since the current message began to be handled; 0 between messages.
func (b *Mailbox) Busy() time.Duration {
	if began := b.Began.Load(); began != 0 {
		return Clock() - time.Duration(began)
	}
	return 0
}

func (b *Mailbox) handleOne(message any) {
	t, waited := message.(*waitedCall)
	switch {
	case waited:
		if !b.ended {
			b.ended = t.last
			b.Handle(t.f)
		}
		close(t.done)
	case !b.ended:
		b.Handle(message)
		dist.Handled(message)
	default:
		if m, ok := message.(Func); ok {
			m.Gone()
		}
		dist.Handled(message)
	}
}

// take empties the queue. If the queue is empty, it ends Run.
func (b *Mailbox) take() []envelope {
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

// Deliver handles a message on this goroutine, unless another one handles messages.
func (b *Mailbox) Deliver(message any) {
	if b.Put(message) {
		b.Run()
	}
}

// Post has a message handled on another goroutine.
func (b *Mailbox) Post(message any) {
	if b.Put(message) {
		go b.Run()
	}
}

// Do calls f as a message and waits for its end. If the mailbox is closed, it does nothing.
// It must not be called while a message is handled.
func (b *Mailbox) Do(f func()) { b.wait(&waitedCall{f: f}) }

// Close calls last as a message and waits for its end. Later messages are dropped.
func (b *Mailbox) Close(last func()) { b.wait(&waitedCall{f: last, last: true}) }

func (b *Mailbox) wait(t *waitedCall) {
	t.done = make(chan struct{})
	b.Deliver(t)
	<-t.done
}
