package dist

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nxvk/gen/etf"
)

// box is an Inbox that notes what it handles, and stops at what gates say.
type box struct {
	mu      sync.Mutex
	queue   []any
	running bool
	got     []int64
	gates   map[int64]chan struct{}
	at      chan int64 // told before a gate
}

func (b *box) Put(message any) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, message)
	run := !b.running
	b.running = true
	return run
}

func (b *box) Run() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) > 0 {
		n := b.queue[0].(int64)
		b.queue = b.queue[1:]
		if gate := b.gates[n]; gate != nil {
			b.mu.Unlock()
			b.at <- n
			<-gate
			b.mu.Lock()
		}
		b.got = append(b.got, n)
	}
	b.running = false
}

func (b *box) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue)
}

// relayed reads a stream of numbers into inboxes and tells when it is at the end.
func relayed(stream io.Reader, inboxOf func(n int64) Inbox) (readers *atomic.Int32, end chan error) {
	var l relay
	readers, end = new(atomic.Int32), make(chan error, 1)
	r := reader{src: stream, maxTerm: 1 << 20, lost: new(atomic.Uint64),
		deliver: func(_ etf.Tuple, content payload, size int) (bool, error) {
			n := content.term.(int64)
			return true, l.hand(inboxOf(n), n, size)
		}}
	l.start(func() {
		readers.Add(1)
		if err := r.run(); err != errRelieved {
			end <- err
		}
	})
	return readers, end
}

func numbers(count int) *bytes.Buffer {
	var stream bytes.Buffer
	for i := range count {
		stream.Write(packets(uint64(i), int64(i), 0)[0])
	}
	return &stream
}

// TestRelay stops at some messages: what comes behind them is read all the
// same, and all of it is handled in order.
func TestRelay(t *testing.T) {
	const count = 1000
	b := &box{at: make(chan int64), gates: map[int64]chan struct{}{
		10: make(chan struct{}), 11: make(chan struct{}), 999: make(chan struct{})}}
	readers, end := relayed(numbers(count), func(int64) Inbox { return b })
	for n := range 2 {
		if at := <-b.at; at != int64(10+n) {
			t.Fatalf("at message %d, want %d", at, 10+n)
		}
		await(t, "the rest is read", func() bool { return b.waiting() == count-11-n })
		close(b.gates[int64(10+n)])
	}
	if err := <-end; err != io.EOF {
		t.Fatal(err)
	}
	<-b.at
	close(b.gates[999])
	await(t, "all is handled", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.got) == count
	})
	if !slices.IsSorted(b.got) {
		t.Errorf("got %v", b.got)
	}
	if n := readers.Load(); n != 2 {
		t.Errorf("%d readers, want 2", n)
	}
}

// TestRelayIsOneReader has many messages that each take longer than a reader
// waits, for as many inboxes: they are read in order, one reader at a time.
func TestRelayIsOneReader(t *testing.T) {
	const count = 20
	var mu sync.Mutex
	var order []int64
	boxes := make([]*box, count)
	for i := range boxes {
		n := int64(i)
		boxes[i] = &box{at: make(chan int64, 1), gates: map[int64]chan struct{}{n: make(chan struct{})}}
	}
	readers, end := relayed(numbers(count), func(n int64) Inbox {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, n)
		return boxes[n]
	})
	if err := <-end; err != io.EOF {
		t.Fatal(err)
	}
	for i, b := range boxes {
		if order[i] != int64(i) {
			t.Fatalf("message %d is read as number %d", order[i], i)
		}
		close(b.gates[int64(i)])
	}
	if n := readers.Load(); n != count+1 {
		t.Errorf("%d readers, want %d", n, count+1)
	}
}

// TestRelayRests wants the timer to stop when nothing comes, and to run again
// for the next message.
func TestRelayRests(t *testing.T) {
	ours, theirs := io.Pipe()
	b := &box{}
	var l relay
	r := reader{src: ours, maxTerm: 1 << 20,
		deliver: func(_ etf.Tuple, content payload, size int) (bool, error) {
			return true, l.hand(b, content.term, size)
		}}
	end := make(chan error, 1)
	l.start(func() { end <- r.run() })
	for i := range 3 {
		theirs.Write(packets(0, int64(i), 0)[0])
		await(t, "the timer stops", func() bool { return l.turn.Load() == uint64(2*i+2) && !l.timed.Load() })
	}
	theirs.Close()
	if err := <-end; err != io.EOF {
		t.Fatal(err)
	}
}

// TestLongMessage is not handled by the reader.
func TestLongMessage(t *testing.T) {
	b := &box{at: make(chan int64), gates: map[int64]chan struct{}{1: make(chan struct{})}}
	var l relay
	l.start(func() {})
	done := make(chan error, 1)
	go func() { done <- l.hand(b, int64(1), lightMessage+1) }()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(waitTime):
		t.Fatal("the reader waits")
	}
	<-b.at
	close(b.gates[1])
}
