package server

import (
	"sync"

	"nxvk/node/dist"
)

// mailbox is what a device server has yet to handle: one message at a time, in
// the order in which they came. Whoever puts a message into an idle mailbox
// handles it, and what others put there meanwhile. So no goroutine has to wake
// up for a message, and what the messages change needs no lock.
type mailbox struct {
	handle func(message any) // calls what is a func(); does not panic
	ended  bool              // the last message is handled

	mu      sync.Mutex
	queue   []any
	spare   []any // the array of the messages being handled, for the queue after next
	running bool
}

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
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, message)
	run = !b.running
	b.running = true
	return run
}

// Run handles messages until there are none. It is for whom Put told to.
func (b *mailbox) Run() {
	for {
		messages := b.take()
		if len(messages) == 0 {
			return
		}
		for i, m := range messages {
			messages[i] = nil
			b.one(m)
		}
	}
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
func (b *mailbox) take() []any {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		b.running = false
		if cap(b.queue)+cap(b.spare) > keepQueue {
			b.queue, b.spare = nil, nil
		}
		return nil
	}
	messages := b.queue
	b.queue, b.spare = b.spare[:0], messages
	return messages
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
