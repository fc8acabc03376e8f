package dist

import (
	"encoding/binary"
	"net"
	"sync"
	"time"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
)

const (
	// fragmentSize is how much of a long message goes out at a time before the
	// others get their turn. A BEAM cuts at 64 KiB, but takes any size, and it
	// copies fragments together when it has them all: the fewer the faster. Of
	// this size they delay others by about 10 ms.
	fragmentSize = 16 << 20
	// pokePause is how long after a write the next sender may write by itself.
	pokePause = 15 * time.Microsecond
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
	raw       *rawSocket // nil where the connection has none

	mu       sync.Mutex
	wake     *sync.Cond
	closed   bool
	batch    batch
	spare    batch           // the other of two buffers
	line     []*long         // long messages and what must stay behind them
	behind   map[gen.PID]int // senders that have messages in line
	queued   int             // bytes that wait
	sequence uint64
	idle     bool      // run waits for something to do
	poked    time.Time // when a sender last wrote by itself
}

// batch is bytes to write with binaries to be inserted at the cuts.
type batch struct {
	buf  []byte
	cuts []etf.Cut
}

// long is a message that goes out in fragments, or a batch of short ones that
// its sender sent after a long one.
type long struct {
	from     gen.PID
	sequence uint64
	left     uint64 // fragments to go
	short    bool
	batch
	at int // bytes of buf that are written
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
	n := e.Len()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.admit(n, bounded); err != nil {
		return err
	}
	w.queued += n
	isLong := w.fragments && n > fragmentSize
	if isLong || w.behind[from] > 0 {
		w.enlist(from, e, isLong)
	} else {
		w.batch.frame(w.header, e)
		if w.idle && w.poke() {
			return nil
		}
	}
	w.wake.Signal()
	return nil
}

// admit says whether a message of n bytes may wait here.
func (w *writer) admit(n int, bounded bool) error {
	switch {
	case w.closed:
		return ErrClosed
	case bounded && w.queued > 0 && w.queued+n > w.maxQueue:
		return ErrBusy
	}
	return nil
}

// poke has the sender write by itself, as far as that goes without waiting,
// because waking another goroutine takes as long as half a call. It says
// whether everything is written. Messages in quick succession are left to
// gather.
func (w *writer) poke() bool {
	if w.raw == nil || len(w.batch.cuts) > 0 || len(w.batch.buf) > smallPacket {
		return false
	}
	now := time.Now()
	if now.Sub(w.poked) < pokePause {
		return false
	}
	n := w.raw.write(w.batch.buf)
	w.poked = now
	w.sent(n)
	w.queued = max(0, w.queued-n)
	w.batch.buf = append(w.batch.buf[:0], w.batch.buf[n:]...)
	return len(w.batch.buf) == 0
}

// enlist puts a message at the end of the line.
func (w *writer) enlist(from gen.PID, e *etf.Encoder, isLong bool) {
	m := &long{from: from, short: !isLong}
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
	if !w.closed && len(w.batch.buf) == 0 && len(w.line) == 0 {
		w.batch.buf = append(w.batch.buf, 0, 0, 0, 0)
		w.queued += 4
		w.wake.Signal()
	}
}

// frame appends a message as one packet.
func (b *batch) frame(header bool, e *etf.Encoder) {
	if header {
		b.buf = binary.BigEndian.AppendUint32(b.buf, uint32(e.Len()+3))
		b.buf = append(b.buf, etf.Version, kindHeader, 0)
	} else {
		b.buf = binary.BigEndian.AppendUint32(b.buf, uint32(e.Len()+1))
		b.buf = append(b.buf, passThrough)
	}
	b.append(e)
}

func (b *batch) append(e *etf.Encoder) {
	base := len(b.buf)
	b.buf = append(b.buf, e.Buffer()...)
	for _, c := range e.Cuts() {
		c.At += base
		b.cuts = append(b.cuts, c)
	}
	e.Reset()
}

// take moves the next n bytes of b to the end of out, cuts in their places,
// and appends what is to be released once they are written.
func (b *batch) take(at *int, n int, out net.Buffers, done []func()) (net.Buffers, []func()) {
	for n > 0 {
		if len(b.cuts) > 0 && b.cuts[0].At == *at {
			c := &b.cuts[0]
			m := min(n, len(c.Bytes))
			out = append(out, c.Bytes[:m])
			c.Bytes = c.Bytes[m:]
			n -= m
			if len(c.Bytes) == 0 {
				if c.Release != nil {
					done = append(done, c.Release)
				}
				b.cuts = b.cuts[1:]
			}
			continue
		}
		end := len(b.buf)
		if len(b.cuts) > 0 {
			end = b.cuts[0].At
		}
		m := min(n, end-*at)
		if m == 0 {
			break
		}
		out = append(out, b.buf[*at:*at+m])
		*at += m
		n -= m
	}
	return out, done
}

// run writes until the connection breaks or is closed.
func (w *writer) run() error {
	var out net.Buffers
	var done []func()
	for {
		w.mu.Lock()
		for !w.closed && len(w.batch.buf) == 0 && len(w.line) == 0 {
			w.idle = true
			w.wake.Wait()
		}
		w.idle = false
		if w.closed {
			w.mu.Unlock()
			return ErrClosed
		}
		short := w.batch
		w.batch, w.spare = w.spare, batch{}
		var m *long
		if len(w.line) > 0 {
			m = w.line[0]
		}
		w.mu.Unlock()

		at := 0
		out, done = short.take(&at, 1<<62, out[:0], done[:0])
		finished := false
		if m != nil {
			out, done, finished = m.next(out, done)
		}
		n, err := w.write(out)
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

// next appends m's next fragment to out, or all of it where it is short.
func (m *long) next(out net.Buffers, done []func()) (net.Buffers, []func(), bool) {
	if m.short {
		out, done = m.take(&m.at, 1<<62, out, done)
		return out, done, true
	}
	n := min(fragmentSize, m.rest())
	head := make([]byte, 0, 24)
	size := 18 + n
	kind := byte(kindFragments)
	if m.at == 0 {
		kind = kindFragment
		size++
	}
	head = binary.BigEndian.AppendUint32(head, uint32(size))
	head = append(head, etf.Version, kind)
	head = binary.BigEndian.AppendUint64(head, m.sequence)
	head = binary.BigEndian.AppendUint64(head, m.left)
	if kind == kindFragment {
		head = append(head, 0) // no atom cache references
	}
	m.left--
	out, done = m.take(&m.at, n, append(out, head), done)
	return out, done, m.left == 0
}

// rest returns the bytes that are still to go out.
func (b *long) rest() int {
	n := len(b.buf) - b.at
	for _, c := range b.cuts {
		n += len(c.Bytes)
	}
	return n
}

// wrote puts the buffer back and takes a finished message out of the line.
func (w *writer) wrote(short batch, m *long, finished bool, n int) {
	w.sent(n)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queued = max(0, w.queued-n)
	if cap(short.buf) <= keepBuffer {
		w.spare = batch{buf: short.buf[:0]}
	}
	if !finished || w.closed {
		return
	}
	w.line[0] = nil
	w.line = w.line[1:]
	if w.behind[m.from]--; w.behind[m.from] == 0 {
		delete(w.behind, m.from)
	}
	if len(w.line) == 0 {
		w.queued = len(w.batch.buf)
	}
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
	w.mu.Unlock()
	for _, m := range line {
		m.drop()
	}
}

func (b *batch) drop() {
	for _, c := range b.cuts {
		if c.Release != nil {
			c.Release()
		}
	}
	b.buf, b.cuts = nil, nil
}
