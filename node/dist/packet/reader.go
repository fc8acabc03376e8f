package packet

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"

	"nxvk/gen/etf"
	"nxvk/node/dist/inbox"
	"nxvk/node/dist/quota"
)

const (
	readBuffer = 128 << 10
	// smallPacket is the largest packet that is handled inside the buffer.
	smallPacket = 16 << 10
	// bulkRead bounds reads into the buffer while a large binary arrives or may
	// be next. Its bytes stay in the socket then, and are read into their block.
	bulkRead = 4 << 10
	// bulkReads is the number of reads after a large binary during which another
	// one may be next: between two of them come a message or two.
	bulkReads = 8
	// maxSequences bounds the fragmented messages in flight on a connection.
	// A BEAM has one for each process that is sending.
	maxSequences = 1 << 16
	// sequenceCost is what such a message takes beside its bytes.
	sequenceCost = 512
	// maxRefused bounds those of them that are refused and go on arriving. A peer
	// that begins more is taking memory rather than sending messages.
	maxRefused = 64
	// decodeRoom is how many bytes the terms of a message may take before its
	// account is asked. Most take less, and the account is asked once for them.
	decodeRoom = 64 << 10
	// frontSize is how many bytes of a message are in the buffer before any of it
	// is charged: enough for the control message and who calls.
	frontSize = 2 << 10
)

// Reader cuts the stream from a peer into packets and messages. It runs in one
// goroutine at a time and hands each decoded message to Deliver. It touches nothing of
// its own after that, so that Deliver may let another goroutine read on.
type Reader struct {
	Source    io.Reader
	Allocator etf.Allocator  // provides memory for large binaries
	MaxTerm   int            // bounds the bytes of a message, large binaries apart
	Lost      *atomic.Uint64 // counts the large binaries that the Allocator refused
	Account   *quota.Account // pays for what arrives and what is decoded; nil for none
	// Wanted says whether anybody takes the payload of a message with this control
	// message. Messages that nobody takes are not decoded. All are wanted where it is
	// nil. It comes right before Deliver or Refuse.
	Wanted func(control etf.Tuple) (bool, error)
	// Deliver gets each message. taken says that it keeps the large binaries of the
	// payload and settles the charge. After inbox.ErrPromoted another goroutine runs
	// the Reader; any other error ends it.
	Deliver func(m Message) (taken bool, err error)
	// Refuse gets the front of each message that there is no room for, and why. Its
	// error ends the Reader, as every such message does where Refuse is nil.
	Refuse func(control etf.Tuple, front Front, cause error) error

	buf        []byte
	start, end int // of what is buffered

	decoder   etf.Decoder
	cache     atomCache
	refs      []etf.Term // work space
	control   [8]etf.Term
	envelope  [3]etf.Term
	sequences map[uint64]*assembly
	cost      quota.Charge // of the message that is being decoded
	filling   int          // messages in flight with a half-filled binary
	refused   int          // messages in flight that are refused
	bulk      int          // reads for which a large binary may be next
}

// Run reads until the stream ends or breaks the protocol. After inbox.ErrPromoted it
// may be called again, and goes on where it was.
func (r *Reader) Run() error {
	if r.buf == nil {
		r.buf = make([]byte, readBuffer)
		r.sequences = make(map[uint64]*assembly)
		r.decoder.Streamed = true
		r.decoder.More = func(n int) error { return r.cost.Grow(int64(n)) }
	}
	err := r.packets()
	if err == inbox.ErrPromoted {
		return err
	}
	for _, a := range r.sequences {
		r.discard(a)
	}
	return err
}

// packets reads one packet after the other.
func (r *Reader) packets() error {
	for {
		if err := r.need(4); err != nil {
			return err
		}
		n := int(binary.BigEndian.Uint32(r.buf[r.start:]))
		r.start += 4
		if n == 0 { // a tick
			continue
		}
		if err := r.packet(n); err != nil {
			return err
		}
	}
}

// need waits until n bytes are buffered; n is at most smallPacket.
func (r *Reader) need(n int) error {
	for r.end-r.start < n {
		if err := r.more(); err != nil {
			return err
		}
	}
	return nil
}

// more reads what there is, at least one byte.
func (r *Reader) more() error {
	if r.start == r.end {
		r.start, r.end = 0, 0
	}
	if len(r.buf)-r.end < smallPacket {
		copy(r.buf, r.buf[r.start:r.end])
		r.start, r.end = 0, r.end-r.start
	}
	limit := len(r.buf)
	if r.filling > 0 || r.bulk > 0 {
		limit = r.end + bulkRead
		r.bulk = max(0, r.bulk-1)
	}
	n, err := r.Source.Read(r.buf[r.end:min(limit, len(r.buf))])
	r.end += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// packet handles one packet of n bytes whose length has been read.
func (r *Reader) packet(n int) error {
	if err := r.need(min(n, 2)); err != nil {
		return err
	}
	head := r.buf[r.start:r.end]
	switch {
	case head[0] == passThrough:
		return r.plain(n)
	case n < 3 || head[0] != etf.Version:
		return fmt.Errorf("%w: first byte %d", ErrMalformed, head[0])
	}
	kind := head[1]
	if kind == kindHeader && n <= smallPacket {
		return r.small(n)
	}
	r.start += 2
	n -= 2
	switch kind {
	case kindHeader:
		return r.whole(&assembly{}, n)
	case kindFragment, kindFragments:
		return r.fragment(kind, n)
	}
	return fmt.Errorf("%w: packet kind %d", ErrMalformed, kind)
}

// small handles the usual message without copying it out of the buffer.
func (r *Reader) small(n int) error {
	if err := r.need(n); err != nil {
		return err
	}
	p := r.buf[r.start : r.start+n]
	r.start += n
	atoms, size, ok, err := r.cache.parseHeader(&r.decoder, p[2:], r.refs)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%w: header exceeds its packet", ErrMalformed)
	}
	r.refs = atoms
	return r.message(p[2+size:], atoms, nil)
}

// plain handles a message of a peer without distribution headers.
func (r *Reader) plain(n int) error {
	r.start++
	return r.whole(&assembly{parsed: true}, n-1)
}

// whole reads a message of n bytes that came as one packet.
func (r *Reader) whole(a *assembly, n int) error {
	if err := r.need(min(n, frontSize)); err != nil {
		return err
	}
	if err := r.feed(a, n, n); err != nil {
		r.discard(a)
		return err
	}
	return r.complete(a)
}

// discard frees what a message holds that nobody will read.
func (r *Reader) discard(a *assembly) {
	release(a.large)
	r.Account.Give(quota.Assembly, a.charged)
	a.charged = 0
}

// fragment reads a fragment of n bytes. The first one carries the number of
// fragments, the following ones count down to one.
func (r *Reader) fragment(kind byte, n int) error {
	if n < 16 {
		return fmt.Errorf("%w: fragment of %d bytes", ErrMalformed, n)
	}
	if err := r.need(16); err != nil {
		return err
	}
	sequence := binary.BigEndian.Uint64(r.buf[r.start:])
	number := binary.BigEndian.Uint64(r.buf[r.start+8:])
	r.start += 16
	a := r.sequences[sequence]
	if (a == nil) != (kind == kindFragment) || number == 0 {
		return fmt.Errorf("%w: fragment %d of sequence %d", ErrMalformed, number, sequence)
	}
	if a == nil {
		if err := r.need(min(n-16, frontSize)); err != nil {
			return err
		}
		if len(r.sequences) >= maxSequences {
			return fmt.Errorf("%w: %d messages in fragments", ErrTooLarge, len(r.sequences))
		}
		if err := r.Account.Take(quota.Assembly, sequenceCost); err != nil {
			return err
		}
		a = &assembly{next: number, fragmented: true, charged: sequenceCost}
		r.sequences[sequence] = a
	}
	if a.next != number {
		return fmt.Errorf("%w: fragment %d, not %d", ErrMalformed, number, a.next)
	}
	a.next--
	if err := r.feed(a, n-16, 1<<32); err != nil {
		return err
	}
	if a.next > 0 {
		return nil
	}
	delete(r.sequences, sequence)
	return r.complete(a)
}

// feed moves the next n bytes of the stream into a.
func (r *Reader) feed(a *assembly, n, limit int) error {
	was := a.left > 0
	for n > 0 {
		buffered := min(n, r.end-r.start)
		if buffered == 0 {
			if a.dst == nil {
				if err := r.more(); err != nil {
					return err
				}
				continue
			}
			direct := min(n, a.left)
			if _, err := io.ReadFull(r.Source, a.dst[:direct]); err != nil {
				return err
			}
			a.filled(direct)
			n -= direct
			continue
		}
		p := r.buf[r.start : r.start+buffered]
		r.start += buffered
		if err := a.add(r, p, limit); err != nil {
			return err
		}
		n -= buffered
	}
	if is := a.left > 0; is && !was {
		r.filling++
	} else if was && !is {
		r.filling--
	}
	return nil
}

// complete hands over a message whose last byte is there. Its bytes are held until
// they are decoded.
func (r *Reader) complete(a *assembly) error {
	if a.refused {
		r.discard(a)
		if a.fragmented {
			r.refused--
		}
		return nil
	}
	if !a.parsed || a.left > 0 {
		r.discard(a)
		return fmt.Errorf("%w: message ends early", ErrMalformed)
	}
	// Once the message is handed over, another goroutine may read.
	account, charged := r.Account, a.charged
	err := r.message(a.skeleton[a.body:], a.atoms, a.large)
	account.Give(quota.Assembly, charged)
	return err
}
