package dist

import (
	"errors"
	"sync/atomic"
	"time"
)

const (
	// patience is how long a reader may handle messages before another
	// goroutine reads on: at least this, at most twice as long. With much less
	// the processor would set its timer anew whenever the reader waits.
	patience = 20 * time.Millisecond
	// lightMessage is up to how many bytes of terms, large binaries apart, a
	// message is handled by the reader. Work on a longer one takes longer than
	// to wake a goroutine, and then the next one is decoded meanwhile.
	lightMessage = smallPacket
)

// errRelieved ends a reader whose place another goroutine has taken.
var errRelieved = errors.New("another goroutine reads")

// relay passes the reading of a connection on. The goroutine that reads also
// handles what it has read. Where that takes longer than patience, a new one
// reads on from the next packet, and the old one ends when it has handled what
// it is at. So there is always one reader, and nothing that a message asks for
// holds up those behind it for long.
//
// To look at a clock for each message would cost more than some of them. A
// timer runs while messages are handled instead, and looks whether it is still
// the same one as the time before.
type relay struct {
	read  func()        // what a reader does
	turn  atomic.Uint64 // odd while the reader handles a message
	timed atomic.Bool   // the timer runs
	timer *time.Timer
	seen  uint64 // turn, when the timer last looked
}

// start makes the first reader.
func (r *relay) start(read func()) {
	r.read = read
	r.timer = time.AfterFunc(time.Hour, r.look)
	r.timer.Stop()
	go read()
}

// hand puts a message into an inbox and sees to it that it is handled.
// errRelieved says that somebody else reads since, so the caller must not.
func (r *relay) hand(in Inbox, message any, size int) error {
	if !in.Put(message) {
		return nil
	}
	if size > lightMessage {
		go in.Run()
		return nil
	}
	turn := r.turn.Add(1)
	if !r.timed.Load() && !r.timed.Swap(true) {
		r.timer.Reset(patience)
	}
	in.Run()
	if !r.turn.CompareAndSwap(turn, turn+1) {
		return errRelieved
	}
	return nil
}

// look relieves a reader that is still at what it was at last time. It stops
// the timer when there was nothing to see.
func (r *relay) look() {
	turn := r.turn.Load()
	switch {
	case turn != r.seen:
		r.seen = turn
	case turn%2 == 1:
		if r.turn.CompareAndSwap(turn, turn+1) {
			go r.read()
		}
	default:
		r.timed.Store(false)
		// A message that came just now may have found the timer running.
		if r.turn.Load() == turn || r.timed.Swap(true) {
			return
		}
	}
	r.timer.Reset(patience)
}
