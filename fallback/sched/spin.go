package sched

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A thread that sleeps begins 50 to 170 µs after it is woken, on virtual machines. A generation on a processor is a row of
// products of 100 to 500 µs, each of which wakes a thread and a helper. So one thread without work spins for a while before it
// sleeps, and so does a loop whose helpers are about to end. Threads spin where those that compute yield to others, and no
// longer than a slot is free: nobody who computes has less for it.

const (
	spinTime   = time.Millisecond
	settleTime = 100 * time.Microsecond
)

// spinner is the thread of a pool that spins.
type spinner struct {
	most time.Duration // how long; 0 where none spins
	busy atomic.Bool   // a thread spins
	used atomic.Int64  // slots
}

// yields reports whether threads that compute yield to others.
var yields = sync.OnceValue(func() bool {
	is := make(chan bool)
	go func() {
		runtime.LockOSThread() // ends with the goroutine, and takes its priority along
		is <- yieldToOthers()
	}()
	return <-is
})

// spinTimeOf is how long a thread of a pool of so many slots spins.
func spinTimeOf(slots int) time.Duration {
	if slots < 2 || !yields() {
		return 0
	}
	return spinTime
}

// spin waits until c has work, or for a while.
func (p *Pool) spin(c <-chan func()) {
	s := &p.spinner
	if s.most == 0 || !s.busy.CompareAndSwap(false, true) {
		return
	}
	for end := time.Now().Add(s.most); len(c) == 0 && s.used.Load() < int64(p.slots) && time.Now().Before(end); {
	}
	s.busy.Store(false)
}

// spinFor waits for the helpers of a loop for a while.
func (p *Pool) spinFor(l *loop) {
	if p.spinner.most == 0 {
		return
	}
	for end := time.Now().Add(settleTime); l.helping.Load() > 0 && time.Now().Before(end); {
	}
}
