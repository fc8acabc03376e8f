package inbox

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"ergo.services/ergo/gen"
)

// box is an Inbox that notes which numbers it handles, and stops at those that have
// a gate.
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

func (b *box) handled() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.got)
}

// lead has leaders hand numbers to inboxes, each of them once. end is closed when all
// have been handed on.
func lead(count int64, inboxOf func(n int64) Inbox) (leaders *atomic.Int32, end chan struct{}) {
	var l Leader
	var next int64 // one leader at a time changes it
	leaders, end = new(atomic.Int32), make(chan struct{})
	l.Start(func() {
		leaders.Add(1)
		for next < count {
			n := next
			next++
			if l.Handle(inboxOf(n), n, 1) == ErrPromoted {
				return
			}
		}
		close(end)
	})
	return leaders, end
}

// TestPromotion stops at some messages: what comes behind them is read all the same,
// and all of it is handled in order.
func TestPromotion(t *testing.T) {
	const count = 1000
	b := &box{at: make(chan int64), gates: map[int64]chan struct{}{
		10: make(chan struct{}), 11: make(chan struct{}), 999: make(chan struct{})}}
	leaders, end := lead(count, func(int64) Inbox { return b })
	if at := <-b.at; at != 10 {
		t.Fatalf("at message %d, want 10", at)
	}
	<-end // the rest is read
	for _, n := range []int64{10, 11, 999} {
		if n > 10 {
			if at := <-b.at; at != n {
				t.Fatalf("at message %d, want %d", at, n)
			}
		}
		if got, want := b.waiting(), count-1-int(n); got != want {
			t.Errorf("at message %d %d wait, want %d", n, got, want)
		}
		close(b.gates[n])
	}
	for b.handled() < count {
		runtime.Gosched()
	}
	if !slices.IsSorted(b.got) {
		t.Errorf("got %v", b.got)
	}
	if n := leaders.Load(); n != 2 {
		t.Errorf("%d leaders, want 2", n)
	}
}

// TestOneLeader has many messages that each take longer than a leader waits, for as
// many inboxes: they are read in order, by one leader at a time.
func TestOneLeader(t *testing.T) {
	const count = 20
	var mu sync.Mutex
	var order []int64
	boxes := make([]*box, count)
	for i := range boxes {
		n := int64(i)
		boxes[i] = &box{at: make(chan int64, 1), gates: map[int64]chan struct{}{n: make(chan struct{})}}
	}
	leaders, end := lead(count, func(n int64) Inbox {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, n)
		return boxes[n]
	})
	<-end
	for i, b := range boxes {
		if order[i] != int64(i) {
			t.Fatalf("message %d is read as number %d", order[i], i)
		}
		close(b.gates[int64(i)])
	}
	if n := leaders.Load(); n != count+1 {
		t.Errorf("%d leaders, want %d", n, count+1)
	}
}

// TestLeaderRests wants the timer to stop when nothing comes, and to run again for
// the next message.
func TestLeaderRests(t *testing.T) {
	b := &box{}
	var l Leader
	l.Start(func() {})
	for i := range uint64(3) {
		if err := l.Handle(b, int64(i), 1); err != nil {
			t.Fatal(err)
		}
		for l.timed.Load() {
			runtime.Gosched()
		}
		if got := l.serial.Load(); got != 2*i+2 {
			t.Errorf("after %d messages the serial number is %d, want %d", i+1, got, 2*i+2)
		}
	}
}

// TestLongMessage is not handled by the leader.
func TestLongMessage(t *testing.T) {
	b := &box{at: make(chan int64), gates: map[int64]chan struct{}{1: make(chan struct{})}}
	var l Leader
	l.Start(func() {})
	if err := l.Handle(b, int64(1), lightMessage+1); err != nil { // it would wait at the gate
		t.Fatal(err)
	}
	<-b.at
	close(b.gates[1])
}

// TestDirectory enters, replaces and removes inboxes.
func TestDirectory(t *testing.T) {
	var d Directory
	one, two := gen.PID{Node: "a@b", ID: 1}, gen.PID{Node: "a@b", ID: 2}
	if d.ByPID(one) != nil || d.ByName("x") != nil {
		t.Error("an empty directory knows somebody")
	}
	first, second := &box{}, &box{}
	removeFirst := d.Add(one, "x", first)
	removeSecond := d.Add(two, "x", second) // the name is another one's since
	removeFirst()
	if d.ByPID(one) != nil || d.ByPID(two) != Inbox(second) || d.ByName("x") != Inbox(second) {
		t.Error("the directory does not know the second one alone")
	}
	removeSecond()
	if d.ByPID(two) != nil || d.ByName("x") != nil {
		t.Error("the directory knows who was removed")
	}
}
