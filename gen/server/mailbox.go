package server

import (
	"sync"
	"sync/atomic"
	"time"

	"nxvk/node/dist"
)

// mailbox is what a device server has yet to handle: one message at a time, in
// the order in which they came. Whoever puts a message into an idle mailbox
// handles it, and what others put there meanwhile. So no goroutine has to wake
// up for a message, and what the messages change needs no lock.
type mailbox struct {
	handle func(message any) // calls what is a func(); does not panic
	ended  bool              // the last message is handled
	came   time.Duration     // when the message that is being handled was put here

	// waited is told how long each message was in the queue, and turned when it has been
	// handled; nil where nobody asks.
	waited func(time.Duration)
	turned func()
	began  atomic.Int64 // when the message that is being handled began to be, 0 between two
	queued atomic.Int64 // messages that nobody has begun to handle

	mu      sync.Mutex
	queue   []letter
	spare   []letter // the array of the messages being handled, for the queue after next
	running bool
}

// letter is a message and when it came.
type letter struct {
	message any
	came    time.Duration
}

// aside is a function that does no work for anybody: the time that it waits and takes
// counts for nothing.
type aside func()

// started is when clock began.
var started = time.Now()

// clock is a time that never goes back and is never 0.
func clock() time.Duration { return time.Since(started) + 1 }

// turn is a function that somebody waits for.
type turn struct {
	f    func()
	last bool // nothing is handled after it
	done chan struct{}
}

// keepQueue is the largest queue that is kept when all of it is handled.
const keepQueue = 1024

// Put is that of dist.Inbox.
func (b *mailbox) Put(message any) (run bool) {
	l := letter{message, clock()}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, l)
	b.queued.Add(1)
	run = !b.running
	b.running = true
	return run
}

// Run handles messages until there are none. It is for whom Put told to.
func (b *mailbox) Run() {
	for {
		letters := b.take()
		if len(letters) == 0 {
			return
		}
		for i, l := range letters {
			letters[i] = letter{}
			b.begin(l)
			b.one(l.message)
			if b.turned != nil && !b.ended {
				b.turned()
			}
			b.began.Store(0)
		}
	}
}

// begin notes that a message is about to be handled.
func (b *mailbox) begin(l letter) {
	b.queued.Add(-1)
	if _, ok := l.message.(aside); ok {
		return
	}
	now := clock()
	b.came = l.came
	b.began.Store(int64(now))
	if b.waited != nil {
		b.waited(now - l.came)
	}
}

// busy returns for how long the message that is being handled has been, 0 where
// none is.
func (b *mailbox) busy() time.Duration {
	if began := b.began.Load(); began != 0 {
		return clock() - time.Duration(began)
	}
	return 0
}

func (b *mailbox) one(message any) {
	t, waited := message.(*turn)
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
		dist.Handled(message)
	}
}

// take empties the queue, or ends Run where it is empty.
func (b *mailbox) take() []letter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		b.running = false
		if cap(b.queue)+cap(b.spare) > keepQueue {
			b.queue, b.spare = nil, nil
		}
		return nil
	}
	letters := b.queue
	b.queue, b.spare = b.spare[:0], letters
	return letters
}

// deliver handles a message here, unless somebody is handling others.
func (b *mailbox) deliver(message any) {
	if b.Put(message) {
		b.Run()
	}
}

// post has a message handled elsewhere: by whoever is handling others, or by a
// goroutine of its own.
func (b *mailbox) post(message any) {
	if b.Put(message) {
		go b.Run()
	}
}

// do calls f in its turn and waits for it, unless the mailbox is closed. It
// must not be called from there.
func (b *mailbox) do(f func()) { b.wait(&turn{f: f}) }

// close calls last in its turn and waits for it. Messages after that are
// dropped.
func (b *mailbox) close(last func()) { b.wait(&turn{f: last, last: true}) }

func (b *mailbox) wait(t *turn) {
	t.done = make(chan struct{})
	b.deliver(t)
	<-t.done
}
