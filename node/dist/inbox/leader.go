package inbox

import (
	"errors"
	"sync/atomic"
	"time"
)

const (
	// promoteAfter is how long a leader may handle messages before another
	// goroutine reads on: at least this, at most twice as long. With much less
	// the processor would set its timer anew whenever the leader waits.
	promoteAfter = 20 * time.Millisecond
	// lightMessage is up to how many bytes of terms, large binaries apart, the leader
	// handles a message itself. Work on a longer one takes longer than to wake a
	// goroutine, and then the next one is decoded meanwhile.
	lightMessage = 16 << 10
)

// ErrPromoted ends a leader in whose place another goroutine reads.
var ErrPromoted = errors.New("another goroutine reads")

// Leader passes the reading of a connection on. One goroutine, the leader, reads, and
// handles what it has read. Where that takes longer than promoteAfter, another goroutine
// is promoted: it reads on from the next packet, and the old leader ends when it has
// handled its message. So there is always one leader, and nothing that a message asks
// for holds up those behind it for long.
//
// To look at a clock for each message would cost more than some of them. A timer runs
// while messages are handled instead, and looks whether the leader is still at the
// message that it was at the time before.
type Leader struct {
	read   func()        // what a leader does
	serial atomic.Uint64 // odd while the leader handles a message
	timed  atomic.Bool   // the timer runs
	timer  *time.Timer
	seen   uint64 // serial, when the timer last looked
}

// Start makes the first leader, a goroutine that calls read. read ends when Handle has
// returned ErrPromoted, and is then under way in another goroutine.
func (l *Leader) Start(read func()) {
	l.read = read
	l.timer = time.AfterFunc(time.Hour, l.check)
	l.timer.Stop()
	go read()
}

// Handle puts a message of so many bytes into an inbox and sees to it that it is
// handled. After ErrPromoted the caller must not read, for another goroutine does.
func (l *Leader) Handle(in Inbox, message any, size int) error {
	if !in.Put(message) {
		return nil
	}
	if size > lightMessage {
		go in.Run()
		return nil
	}
	serial := l.serial.Add(1)
	if !l.timed.Load() && !l.timed.Swap(true) {
		l.timer.Reset(promoteAfter)
	}
	in.Run()
	if !l.serial.CompareAndSwap(serial, serial+1) {
		return ErrPromoted
	}
	return nil
}

// check promotes a goroutine where the leader is still at the message that it was at
// last time. It stops the timer when the leader is at none.
func (l *Leader) check() {
	serial := l.serial.Load()
	switch {
	case serial != l.seen:
		l.seen = serial
	case serial%2 == 1:
		if l.serial.CompareAndSwap(serial, serial+1) {
			go l.read()
		}
	default:
		l.timed.Store(false)
		// A message that came just now may have found the timer running.
		if l.serial.Load() == serial || l.timed.Swap(true) {
			return
		}
	}
	l.timer.Reset(promoteAfter)
}
