package packet

import (
	"fmt"
	"net"
	"sync"
	"time"

	"nxvk/gen/etf"
	"nxvk/node/dist/quota"
	"nxvk/node/dist/socket"
)

const (
	// fragmentSize is how many bytes of a long message go out at a time before the
	// others get their turn. A BEAM cuts at 64 KiB, but takes any size. A fragment
	// of this size delays others by about 10 ms.
	fragmentSize = 16 << 20
	// wholeTime is for how long a message in one piece may delay others. A BEAM
	// copies fragments together when it has them all, but leaves a large binary
	// where it arrived if that came in one piece.
	wholeTime = 250 * time.Millisecond
	// maxWhole bounds a message in one piece also where the socket is faster.
	maxWhole = 128 << 20
	// paceSize is the smallest write that tells how fast the socket is.
	paceSize = 4 << 20
	// tryPause is how long after a write the next sender may write by itself.
	tryPause = 15 * time.Microsecond
	// tryLimit is how much a sender writes by itself at most: to copy more
	// takes longer than to wake the writer.
	tryLimit = 128 << 10
	// messageOverhead is how many bytes a message that waits takes beside its own.
	messageOverhead = 64
	// keepBuffer is the largest buffer that is kept for the next batch.
	keepBuffer = 1 << 20
)

// Writer sends what actors and the reader queue. Short messages gather in a
// batch that goes out in one write. Long ones wait in line and go out fragment
// by fragment between the batches, so that a download of gigabytes delays
// nobody. The bytes of large binaries are never copied.
type Writer struct {
	WriterOptions
	dst net.Conn
	try *socket.TryWriter // nil where the connection has none

	mu       sync.Mutex
	wake     *sync.Cond
	closed   bool
	ending   bool // nothing more is taken; Run ends when all is written
	batch    batch
	spare    batch           // the other of two buffers
	line     []*entry        // long messages and what must stay behind them
	inLine   map[etf.Pid]int // how many messages of a sender are in line
	queued   int             // bytes that wait
	terms    int             // the bytes that are not large binaries
	sequence uint64
	whole    int         // up to which size messages go out in one piece
	idle     bool        // Run waits for something to do
	parts    net.Buffers // work space of tryWrite
	tried    time.Time   // when a sender last wrote by itself
}

// WriterOptions say what the peer takes, and what may wait for it.
type WriterOptions struct {
	Header    bool // the peer takes distribution headers
	Fragments bool // and messages in fragments
	// MaxQueue bounds the bytes that wait. Replies may exceed it by their large
	// binaries.
	MaxQueue int
	Account  *quota.Account  // pays for what waits, large binaries apart; nil for none
	Sent     func(bytes int) // is told of each write
}

// NewWriter returns a writer to a connection. Run has to be called.
func NewWriter(dst net.Conn, o WriterOptions) *Writer {
	w := &Writer{
		WriterOptions: o,
		dst:           dst,
		try:           socket.NewTryWriter(dst),
		inLine:        make(map[etf.Pid]int),
		whole:         fragmentSize,
	}
	w.Fragments = w.Fragments && w.Header
	w.wake = sync.NewCond(&w.mu)
	return w
}

// Queue takes an encoded control message and payload, and the cuts in them. Signals
// between two processes arrive in the order in which they were sent, so a sender's short
// message waits behind its long one. A bounded message is refused with ErrBusy when too
// much waits. After an error the encoder still holds the message.
func (w *Writer) Queue(from etf.Pid, e *etf.Encoder, bounded bool) error {
	done, err := w.add(from, e, bounded)
	for _, release := range done {
		release()
	}
	return err
}

// add is Queue under the lock. It returns the functions that release what is written.
func (w *Writer) add(from etf.Pid, e *etf.Encoder, bounded bool) (done []func(), err error) {
	n, terms := e.Len(), len(e.Buffer())+messageOverhead
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.admit(n, terms, bounded); err != nil {
		return nil, err
	}
	w.queued += n
	long := w.Fragments && n > w.whole
	if long || w.inLine[from] > 0 {
		w.enterLine(from, e, terms, long)
	} else {
		w.batch.frame(w.Header, e)
		w.batch.charged += terms
		written := false
		if w.idle {
			done, written = w.tryWrite()
		}
		if written {
			return done, nil
		}
	}
	w.wake.Signal()
	return done, nil
}

// admit charges a message of n bytes, terms of them beside its large binaries. An error
// says that it may not wait here: ErrSlow that the peer has to be cut off.
func (w *Writer) admit(n, terms int, bounded bool) error {
	switch {
	case w.closed || w.ending:
		return ErrClosed
	case bounded && w.queued > 0 && w.queued+n > w.MaxQueue:
		return ErrBusy
	case w.terms > 0 && w.terms+terms > w.MaxQueue:
		return fmt.Errorf("%w: %d bytes wait", ErrSlow, w.queued)
	}
	if err := w.Account.Take(quota.Queue, int64(terms)); err != nil {
		return fmt.Errorf("%w: %d bytes wait: %w", ErrSlow, w.queued, err)
	}
	w.terms += terms
	return nil
}

// pay returns what a batch that is written was charged. The caller holds mu.
func (w *Writer) pay(paid int) {
	w.terms -= paid
	w.Account.Give(quota.Queue, int64(paid))
}

// tryWrite has the sender write by itself, as far as that goes without waiting: to wake
// another goroutine takes as long as half a call. ok says that everything is written;
// done releases what is. Messages in quick succession are left to gather.
func (w *Writer) tryWrite() (done []func(), ok bool) {
	if w.try == nil || w.batch.rest() > tryLimit {
		return nil, false
	}
	now := time.Now()
	if now.Sub(w.tried) < tryPause {
		return nil, false
	}
	w.tried = now
	w.parts = w.batch.parts(w.parts[:0])
	n := w.try.TryWrite(w.parts)
	w.Sent(n)
	w.queued = max(0, w.queued-n)
	w.parts, done = w.batch.take(n, w.parts[:0], nil)
	clear(w.parts)
	if ok = w.batch.rest() == 0; ok {
		w.pay(w.batch.charged)
		w.batch = batch{buf: w.batch.buf[:0]}
	}
	return done, ok
}

// enterLine puts a message at the end of the line.
func (w *Writer) enterLine(from etf.Pid, e *etf.Encoder, terms int, long bool) {
	m := &entry{from: from, short: !long, batch: batch{charged: terms}}
	if long {
		w.sequence++
		m.sequence = w.sequence
		m.left = uint64((e.Len() + fragmentSize - 1) / fragmentSize)
		m.append(e)
	} else {
		m.frame(w.Header, e)
	}
	w.inLine[from]++
	w.line = append(w.line, m)
}

// Tick queues a keep-alive, unless something waits anyway.
func (w *Writer) Tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed && !w.ending && len(w.batch.buf) == 0 && len(w.line) == 0 {
		w.batch.buf = append(w.batch.buf, 0, 0, 0, 0)
		w.queued += 4
		w.wake.Signal()
	}
}

// Run writes until the connection breaks or is closed. It returns nil when it
// was asked to finish and has written everything.
func (w *Writer) Run() error {
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
		var m *entry
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
func (w *Writer) write(out net.Buffers) (int, error) {
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
func (w *Writer) measure(n int, d time.Duration) {
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
func (w *Writer) wrote(short batch, m *entry, finished bool, n int) {
	w.Sent(n)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queued = max(0, w.queued-n)
	w.pay(short.charged)
	if cap(short.buf) <= keepBuffer {
		w.spare = batch{buf: short.buf[:0]}
	}
	if !finished || w.closed {
		return
	}
	w.pay(m.charged)
	w.line[0] = nil
	w.line = w.line[1:]
	if w.inLine[m.from]--; w.inLine[m.from] == 0 {
		delete(w.inLine, m.from)
	}
	if len(w.line) == 0 {
		w.queued = len(w.batch.buf)
	}
}

// Finish takes no more messages and ends Run when those that wait are written.
func (w *Writer) Finish() {
	w.mu.Lock()
	w.ending = true
	w.mu.Unlock()
	w.wake.Signal()
}

// Close ends Run and releases the batch that waits. Releases are the senders'
// code, which may send again, so they are called without the lock.
func (w *Writer) Close() {
	w.mu.Lock()
	waiting := w.batch
	w.batch, w.closed = batch{}, true
	w.mu.Unlock()
	w.wake.Signal()
	waiting.drop()
}

// Drain releases what is in line. It comes after Run, which may be writing
// from those binaries until it returns.
func (w *Writer) Drain() {
	w.mu.Lock()
	line := w.line
	w.line, w.inLine = nil, nil
	w.pay(w.terms)
	w.mu.Unlock()
	for _, m := range line {
		m.drop()
	}
}

// Waiting returns the bytes that wait to be written.
func (w *Writer) Waiting() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int64(w.queued)
}

// Closed reports whether the writer takes no more messages.
func (w *Writer) Closed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed || w.ending
}
