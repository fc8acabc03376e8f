//go:build unix

package socket

import (
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// spinReader reads from a socket, and spins and polls before it sleeps.
type spinReader struct {
	raw     syscall.RawConn
	attempt func(fd uintptr) bool
	poll    func(fd uintptr) // waits until there is something to read, for pollTime at most

	into []byte // what the read under way fills
	n    int    // what it has read
	err  error
	last time.Time     // when data last arrived
	gap  time.Duration // between the last two arrivals

	sent     *atomic.Uint64
	seen     uint64        // sent, when the read under way began
	answered bool          // sent has grown since the read before began
	wait     time.Duration // from the last answer to the arrival after it
}

func newSpinReader(_ net.Conn, raw syscall.RawConn, sent *atomic.Uint64) io.Reader {
	r := &spinReader{raw: raw, poll: poll, sent: sent}
	r.attempt = r.try
	return r
}

// Read is that of io.Reader, for one goroutine.
func (r *spinReader) Read(p []byte) (int, error) {
	r.into, r.n, r.err = p, 0, nil
	began, sent := time.Now(), r.sent.Load()
	r.answered, r.seen = sent != r.seen, sent
	err := r.raw.Read(r.attempt)
	r.into = nil
	now := time.Now()
	r.gap, r.last = now.Sub(r.last), now
	if r.answered {
		r.wait = now.Sub(began)
	}
	switch {
	case err != nil: // closed, or too late
		return 0, err
	case r.err != nil:
		return 0, r.err
	case r.n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return r.n, nil
}

// spinTime returns how long the reader spins before it waits: only while data arrives in
// quick succession, or comes soon after each answer.
func (r *spinReader) spinTime() time.Duration {
	switch {
	case r.answered && r.wait <= answerWait:
		return answerSpin
	case r.gap <= spinGap:
		return spinTime
	}
	return 0
}

// polls reports whether data arrives often enough that the reader's thread waits for it.
func (r *spinReader) polls() bool { return r.gap <= pollGap }

// try reads what there is. It returns false where there is nothing and the reader is
// to sleep.
func (r *spinReader) try(fd uintptr) bool {
	var until time.Time
	polled := false
	for {
		n, err := syscall.Read(int(fd), r.into)
		switch err {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
		default:
			r.n, r.err = max(n, 0), err
			return true
		}
		if spin := r.spinTime(); spin > 0 {
			now := time.Now()
			if until.IsZero() {
				until = now.Add(spin)
			}
			if !now.After(until) {
				continue
			}
		}
		if polled || !r.polls() {
			return false
		}
		polled = true
		r.poll(fd)
	}
}

// poll waits until there is something to read, for pollTime at most. The thread is this
// goroutine's own meanwhile: the runtime gives its processor to other goroutines.
func poll(fd uintptr) {
	until := time.Now().Add(pollTime)
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		left := time.Until(until)
		if _, err := unix.Poll(fds, int(left.Round(time.Millisecond)/time.Millisecond)); err != unix.EINTR || left <= 0 {
			return
		}
	}
}
