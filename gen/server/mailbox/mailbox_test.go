package mailbox

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestMailbox has many goroutines put messages in all ways at once. They are
// handled one at a time, and those of each goroutine in order.
func TestMailbox(t *testing.T) {
	const senders, count = 8, 2000
	var inside atomic.Int32
	next := make([]int, senders)
	var b Mailbox
	b.Handle = func(m any) {
		if inside.Add(1) != 1 {
			t.Error("two messages at a time")
		}
		defer inside.Add(-1)
		switch m := m.(type) {
		case func():
			m()
		case [2]int:
			if next[m[0]] != m[1] {
				t.Errorf("message %d of %d, want %d", m[1], m[0], next[m[0]])
			}
			next[m[0]]++
		}
	}
	var running sync.WaitGroup
	for s := range senders {
		running.Go(func() {
			for i := range count {
				switch i % 3 {
				case 0:
					b.Deliver([2]int{s, i})
				case 1:
					b.Post([2]int{s, i})
				case 2:
					b.Do(func() { handleHere(t, [2]int{s, i}, next) })
				}
			}
		})
	}
	running.Wait()
	b.Do(func() {
		for s, n := range next {
			if n != count {
				t.Errorf("%d messages of %d, want %d", n, s, count)
			}
		}
	})
}

// handleHere is what the handler does with a message that came with do.
func handleHere(t *testing.T, m [2]int, next []int) {
	if next[m[0]] != m[1] {
		t.Errorf("message %d of %d, want %d", m[1], m[0], next[m[0]])
	}
	next[m[0]]++
}

// TestMailboxWithin puts messages from the handler: they wait for their turn.
func TestMailboxWithin(t *testing.T) {
	var got []int
	var b Mailbox
	b.Handle = func(m any) {
		n := m.(int)
		if n < 1000 {
			b.Deliver(n + 1)
			b.Post(n + 1000)
		}
		got = append(got, n)
	}
	b.Deliver(998)
	want := []int{998, 999, 1998, 1000, 1999}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// TestMailboxClose drops what comes after the last message.
func TestMailboxClose(t *testing.T) {
	var b Mailbox
	handled := 0
	b.Handle = func(m any) {
		handled++
		m.(func())()
	}
	closed := false
	b.Deliver(func() {
		go b.Close(func() { closed = true })
		for { // until the end waits in the queue
			b.mu.Lock()
			n := len(b.queue)
			b.mu.Unlock()
			if n == 1 {
				break
			}
		}
		b.Deliver(func() { t.Error("a message after the last one is handled") })
	})
	if !closed || handled != 2 {
		t.Fatalf("closed %v, %d messages handled, want true, 2", closed, handled)
	}
	b.Do(func() { t.Error("a function after the last message is called") })
}

// TestMailboxForgets: a mailbox that is drained keeps neither a large queue nor
// its messages.
func TestMailboxForgets(t *testing.T) {
	var b Mailbox
	b.Handle = func(m any) {
		if f, ok := m.(func()); ok {
			f()
		}
	}
	b.Deliver(func() {
		for i := range 2 * keepQueue {
			b.Deliver(i)
		}
	})
	if n := cap(b.queue) + cap(b.spare); n > keepQueue {
		t.Errorf("room for %d messages is kept, want %d at most", n, keepQueue)
	}
	b.Deliver(1)
	for _, l := range b.spare[:cap(b.spare)] {
		if l.message != nil {
			t.Errorf("%v is kept", l.message)
		}
	}
}
