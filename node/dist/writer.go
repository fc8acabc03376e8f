package dist

import (
	"fmt"
	"net"
	"sync"
	"time"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
)

const (
	// fragmentSize is how much of a long message goes out at a time before the
	// others get their turn. A BEAM cuts at 64 KiB, but takes any size. Of this
	// size they delay others by about 10 ms.
	fragmentSize = 16 << 20
	// wholeTime is for how long a message may delay others that goes out in
	// one piece. A BEAM copies fragments together when it has them all, but
	// leaves a large binary where it arrived if that is in one piece.
	wholeTime = 250 * time.Millisecond
	// maxWhole bounds a message in one piece also where the socket is faster.
	maxWhole = 128 << 20
	// paceSize is from which size a write tells how fast the socket is.
	paceSize = 4 << 20
	// pokePause is how long after a write the next sender may write by itself.
	pokePause = 15 * time.Microsecond
	// pokeLimit is how much a sender writes by itself at most: to copy more
	// takes longer than to wake the writer.
	pokeLimit = 128 << 10
	// messageOverhead is what a message that waits takes beside its bytes.
	messageOverhead = 64
	// keepBuffer is the largest buffer that is kept for the next batch.
	keepBuffer = 1 << 20
)

// writer sends what actors and the reader queue. Short messages gather in a
// batch that goes out in one write. Long ones wait in line and go out fragment
// by fragment between the batches, so that a download of gigabytes delays
// nobody. The bytes of large binaries are never copied.
type writer struct {
	dst       net.Conn
	header    bool // the peer takes distribution headers
	fragments bool // and fragments
	maxQueue  int
	sent      func(bytes int)
	account   *account   // pays for own; nil for none
	raw       *rawSocket // nil where the connection has none

	mu       sync.Mutex
	wake     *sync.Cond
	closed   bool
	ending   bool // nothing more is taken; run ends when all is written
	batch    batch
	spare    batch           // the other of two buffers
	line     []*long         // long messages and what must stay behind them
	behind   map[gen.PID]int // senders that have messages in line
	queued   int             // bytes that wait
	own      int             // those of them that are no large binaries
	sequence uint64
	whole    int         // up to which size messages go out in one piece
	idle     bool        // run waits for something to do
	parts    net.Buffers // work space of poke
	poked    time.Time   // when a sender last wrote by itself
}

func newWriter(dst net.Conn, peerFlags uint64, maxQueue int, sent func(int)) *writer {
	w := &writer{
		dst:       dst,
		header:    peerFlags&flagDistHdrAtomCache != 0,
		fragments: peerFlags&flagDistHdrAtomCache != 0 && peerFlags&flagFragments != 0,
		maxQueue:  maxQueue,
		sent:      sent,
		raw:       newRawSocket(dst),
		behind:    make(map[gen.PID]int),
		whole:     fragmentSize,
	}
	w.wake = sync.NewCond(&w.mu)
	return w
}

// queue takes an encoded message of control and payload and the cuts in it.
// Signals between two processes arrive in the order in which they were sent,
// so a sender's short message waits behind its long one. Only messages that
// are bounded are refused when too much waits. After an error the encoder still
// holds the message.
func (w *writer) queue(from gen.PID, e *etf.Encoder, bounded bool) error {
	done, err := w.enter(from, e, bounded)
	for _, release := range done {
		release()
	}
	return err
}

// enter is queue under the lock. It returns what is to be released.
func (w *writer) enter(from gen.PID, e *etf.Encoder, bounded bool) (done []func(), err error) {
	n, own := e.Len(), len(e.Buffer())+messageOverhead
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.admit(n, own, bounded); err != nil {
		return nil, err
	}
	w.queued += n
	isLong := w.fragments && n > w.whole
	if isLong || w.behind[from] > 0 {
		w.enlist(from, e, own, isLong)
	} else {
		w.batch.frame(w.header, e)
		w.batch.paid += own
		written := false
		if w.idle {
			done, written = w.poke()
		}
		if written {
			return done, nil
		}
	}
	w.wake.Signal()
	return done, nil
}

// admit says whether a message of n bytes may wait here, own of them beside its
// large binaries, and charges it. Those that are not bounded wait until the peer has
// to be cut off, which is ErrSlow.
func (w *writer) admit(n, own int, bounded bool) error {
	switch {
	case w.closed || w.ending:
		return ErrClosed
	case bounded && w.queued > 0 && w.queued+n > w.maxQueue:
		return ErrBusy
	case w.own > 0 && w.own+own > w.maxQueue:
		return fmt.Errorf("%w: %d bytes wait", ErrSlow, w.queued)
	}
	if err := w.account.take(queueing, int64(own)); err != nil {
		return fmt.Errorf("%w: %d bytes wait: %w", ErrSlow, w.queued, err)
	}
	w.own += own
	return nil
}

// pay settles what a batch was charged that is written. The caller holds mu.
func (w *writer) pay(paid int) {
	w.own -= paid
	w.account.give(queueing, int64(paid))
}

// poke has the sender write by itself, as far as that goes without waiting,
// because waking another goroutine takes as long as half a call. It says
// whether everything is written, and returns what is to be released. Messages
// in quick succession are left to gather.
func (w *writer) poke() (done []func(), ok bool) {
	if w.raw == nil || w.batch.rest() > pokeLimit {
		return nil, false
	}
	now := time.Now()
	if now.Sub(w.poked) < pokePause {
		return nil, false
	}
	w.poked = now
	w.parts = w.batch.parts(w.parts[:0])
	n := w.raw.write(w.parts)
	w.sent(n)
	w.queued = max(0, w.queued-n)
	w.parts, done = w.batch.take(n, w.parts[:0], nil)
	clear(w.parts)
	if ok = w.batch.rest() == 0; ok {
		w.pay(w.batch.paid)
		w.batch = batch{buf: w.batch.buf[:0]}
	}
	return done, ok
}

// enlist puts a message at the end of the line.
func (w *writer) enlist(from gen.PID, e *etf.Encoder, own int, isLong bool) {
	m := &long{from: from, short: !isLong, batch: batch{paid: own}}
	if isLong {
		w.sequence++
		m.sequence = w.sequence
		m.left = uint64((e.Len() + fragmentSize - 1) / fragmentSize)
		m.append(e)
	} else {
		m.frame(w.header, e)
	}
	w.behind[from]++
	w.line = append(w.line, m)
}

// tick queues a keep-alive, unless something waits anyway.
func (w *writer) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed && !w.ending && len(w.batch.buf) == 0 && len(w.line) == 0 {
		w.batch.buf = append(w.batch.buf, 0, 0, 0, 0)
		w.queued += 4
		w.wake.Signal()
	}
}

// run writes until the connection breaks or is closed. It returns nil when it
// was asked to finish and has written everything.
func (w *writer) run() error {
	var out net.Buffers
	var done []func()
	for {
		w.mu.Lock()
		nothing := len(w.batch.buf) == 0 && len(w.line) == 0
		for nothing && !w.closed && !w.ending {
			w.idle = true
			w.wake.Wait()
			nothing = len(w.batch.buf) == 0 && len(w.line) == 0
		}
		w.idle = false
		switch {
		case w.closed:
			w.mu.Unlock()
			return ErrClosed
		case nothing:
			w.mu.Unlock()
			return nil
		}
		short := w.batch
		w.batch, w.spare = w.spare, batch{}
		var m *long
		if len(w.line) > 0 {
			m = w.line[0]
		}
		w.mu.Unlock()

		out, done = short.take(1<<62, out[:0], done[:0])
		finished := false
		if m != nil {
			out, done, finished = m.next(out, done)
		}
		start := time.Now()
		n, err := w.write(out)
		w.measure(n, time.Since(start))
		for i, release := range done {
			release()
			done[i] = nil
		}
		w.wrote(short, m, finished, n)
		if err != nil {
			short.drop()
			return err
		}
	}
}

// write writes out. A TLS connection has no gathering write, and one record
// for each little piece would be dear, so small pieces are joined there.
func (w *writer) write(out net.Buffers) (int, error) {
	total := 0
	for _, p := range out {
		total += len(p)
	}
	_, plain := w.dst.(*net.TCPConn)
	if !plain && len(out) > 1 && total <= smallPacket {
		joined := make([]byte, 0, total)
		for _, p := range out {
			joined = append(joined, p...)
		}
		_, err := w.dst.Write(joined)
		return total, err
	}
	_, err := out.WriteTo(w.dst)
	return total, err
}

// measure notes how fast the socket is.
func (w *writer) measure(n int, d time.Duration) {
	if n < paceSize {
		return
	}
	whole := float64(n) / max(d, 1).Seconds() * wholeTime.Seconds()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.whole += (int(min(whole, maxWhole)) - w.whole) / 4
	w.whole = max(w.whole, fragmentSize)
}

// wrote puts the buffer back and takes a finished message out of the line.
func (w *writer) wrote(short batch, m *long, finished bool, n int) {
	w.sent(n)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queued = max(0, w.queued-n)
	w.pay(short.paid)
	if cap(short.buf) <= keepBuffer {
		w.spare = batch{buf: short.buf[:0]}
	}
	if !finished || w.closed {
		return
	}
	w.pay(m.paid)
	w.line[0] = nil
	w.line = w.line[1:]
	if w.behind[m.from]--; w.behind[m.from] == 0 {
		delete(w.behind, m.from)
	}
	if len(w.line) == 0 {
		w.queued = len(w.batch.buf)
	}
}

// finish takes no more messages and ends run when those that wait are written.
func (w *writer) finish() {
	w.mu.Lock()
	w.ending = true
	w.mu.Unlock()
	w.wake.Signal()
}

// close ends run and releases the batch that waits. Releases are the senders'
// code, which may send again, so they are called without the lock.
func (w *writer) close() {
	w.mu.Lock()
	waiting := w.batch
	w.batch, w.closed = batch{}, true
	w.mu.Unlock()
	w.wake.Signal()
	waiting.drop()
}

// drain releases what is in line. It comes after run, which may be writing
// from those binaries until it returns.
func (w *writer) drain() {
	w.mu.Lock()
	line := w.line
	w.line, w.behind = nil, nil
	w.pay(w.own)
	w.mu.Unlock()
	for _, m := range line {
		m.drop()
	}
}

// waiting returns the bytes that wait to be written.
func (w *writer) waiting() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int64(w.queued)
}
