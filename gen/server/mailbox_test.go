package server

import (
	"sync"
	"sync/atomic"
	"testing"

	"nxvk/gen/etf"
	"nxvk/gen/wire"
	"nxvk/node/dist"
	"nxvk/ops"
)

// TestMailbox has many goroutines put messages in all ways at once. They are
// handled one at a time, and those of each goroutine in order.
func TestMailbox(t *testing.T) {
	const senders, count = 8, 2000
	var inside atomic.Int32
	next := make([]int, senders)
	var b mailbox
	b.handle = func(m any) {
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
					b.deliver([2]int{s, i})
				case 1:
					b.post([2]int{s, i})
				case 2:
					b.do(func() { b.handleHere(t, [2]int{s, i}, next) })
				}
			}
		})
	}
	running.Wait()
	b.do(func() {
		for s, n := range next {
			if n != count {
				t.Errorf("%d messages of %d, want %d", n, s, count)
			}
		}
	})
}

// The goroutine that brings a message decodes it, so that long ones do not take turns of the
// server; what cannot be decoded comes as it is.
func TestDecoded(t *testing.T) {
	d := &Device{}
	d.cfg.Reporter = NewReporter("nxvk_0")
	var got []any
	d.mailbox.handle = func(m any) { got = append(got, m) }
	bring := deviceInbox{d}
	stream := tuple{atom("nxvk"), list{add(2, 3, 1, 1), tuple{atom("no_such_op"), list(nil), list(nil), list(nil)}}}
	for _, m := range []any{dist.Message{Term: stream}, dist.Cast{Request: stream},
		dist.Call{Request: tuple{atom("then"), list{add(2, 3, 1, 1)}, atom("sync")}}, dist.Message{Term: atom("hello")}} {
		if !bring.Put(m) {
			t.Fatal("somebody else handles messages")
		}
		bring.Run()
	}
	for i, term := range []etf.Term{got[0].(dist.Message).Term, got[1].(dist.Cast).Request} {
		if s, ok := term.(wire.Stream); !ok || len(s.Instrs) != 2 || s.Instrs[0].Op != ops.Add || s.Instrs[1].Err == nil {
			t.Errorf("message %d comes as %v", i, term)
		}
	}
	if r, ok := got[2].(dist.Call).Request.(request); !ok || r.err != nil || r.Verb != wire.Sync || len(r.First.Instrs) != 1 {
		t.Errorf("the call comes as %v", got[2])
	}
	if got[3].(dist.Message).Term != atom("hello") {
		t.Errorf("another message comes as %v", got[3])
	}
}

// handleHere is what the handler does with a message that came with do.
func (b *mailbox) handleHere(t *testing.T, m [2]int, next []int) {
	if next[m[0]] != m[1] {
		t.Errorf("message %d of %d, want %d", m[1], m[0], next[m[0]])
	}
	next[m[0]]++
}

// TestMailboxWithin puts messages from the handler: they wait for their turn.
func TestMailboxWithin(t *testing.T) {
	var got []int
	var b mailbox
	b.handle = func(m any) {
		n := m.(int)
		if n < 1000 {
			b.deliver(n + 1)
			b.post(n + 1000)
		}
		got = append(got, n)
	}
	b.deliver(998)
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
	var b mailbox
	handled := 0
	b.handle = func(m any) {
		handled++
		m.(func())()
	}
	closed := false
	b.deliver(func() {
		go b.close(func() { closed = true })
		for { // until the end waits in the queue
			b.mu.Lock()
			n := len(b.queue)
			b.mu.Unlock()
			if n == 1 {
				break
			}
		}
		b.deliver(func() { t.Error("a message after the last one is handled") })
	})
	if !closed || handled != 2 {
		t.Fatalf("closed %v, %d messages handled, want true, 2", closed, handled)
	}
	b.do(func() { t.Error("a function after the last message is called") })
}

// TestMailboxForgets: a mailbox that is drained keeps neither a large queue nor
// its messages.
func TestMailboxForgets(t *testing.T) {
	var b mailbox
	b.handle = func(m any) {
		if f, ok := m.(func()); ok {
			f()
		}
	}
	b.deliver(func() {
		for i := range 2 * keepQueue {
			b.deliver(i)
		}
	})
	if n := cap(b.queue) + cap(b.spare); n > keepQueue {
		t.Errorf("room for %d messages is kept, want %d at most", n, keepQueue)
	}
	b.deliver(1)
	for _, l := range b.spare[:cap(b.spare)] {
		if l.message != nil {
			t.Errorf("%v is kept", l.message)
		}
	}
}
