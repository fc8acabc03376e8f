package gate

import (
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestGate shuts the gate while some are inside: nobody enters any more, and Shut
// returns when they have left.
func TestGate(t *testing.T) {
	var g Gate
	var left atomic.Int32
	const inside = 5
	for range inside {
		if !g.Enter() {
			t.Fatal("an open gate lets nobody in")
		}
	}
	done := make(chan int32)
	go func() {
		g.Shut()
		done <- left.Load()
	}()
	for !g.IsShut() {
		runtime.Gosched()
	}
	if g.Enter() {
		t.Error("a gate that is shut lets somebody in")
	}
	for range inside {
		left.Add(1)
		g.Leave()
	}
	if n := <-done; n != inside {
		t.Errorf("%d had left when the gate was shut, want %d", n, inside)
	}
}

// TestPending adds more sockets than there may be: the oldest are closed.
func TestPending(t *testing.T) {
	p := Pending{Max: 3}
	var sockets []net.Conn
	var remove []func()
	for range 5 {
		c, _ := net.Pipe()
		sockets = append(sockets, c)
		remove = append(remove, p.Add(c))
	}
	for i, c := range sockets {
		closed := c.SetDeadline(time.Time{}) != nil
		if closed != (i < 2) {
			t.Errorf("socket %d of 5 is closed: %v", i, closed)
		}
	}
	remove[4]()
	remove[0]() // it gave its place to another one
	if n := p.sockets.Len(); n != 2 {
		t.Errorf("%d sockets are pending, want 2", n)
	}
}
