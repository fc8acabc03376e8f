package dist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"nxvk/gen/etf"
)

const (
	readBuffer = 128 << 10
	// smallPacket is the largest packet that is handled inside the buffer.
	smallPacket = 16 << 10
	// bulkRead bounds reads into the buffer while a large binary arrives or may
	// be next, so that its bytes are left in the socket and read into their
	// block.
	bulkRead = 4 << 10
	// bulkReads is for how many reads after a large binary another one may be
	// next: one that others follow has a message or two between them.
	bulkReads = 8
	// maxSequences bounds the fragmented messages in flight on a connection.
	// A BEAM has one for each process that is sending.
	maxSequences = 1 << 16
	// sequenceCost is what such a message takes beside its bytes.
	sequenceCost = 512
	// decodeRoom is how much of a message is decoded before its account is asked.
	// Most messages take less, and it is asked once for them.
	decodeRoom = 64 << 10
	// frontSize is how much of a message is in the buffer before any of it is
	// charged: enough for the control message and who calls.
	frontSize = 2 << 10
)

// reader cuts the stream from a peer into packets and messages. It runs in one
// goroutine at a time and hands each message to deliver, decoded. It touches
// nothing of its own after that, so that deliver may let another goroutine
// read on.
type reader struct {
	src       io.Reader
	allocator etf.Allocator
	maxTerm   int
	lost      *atomic.Uint64 // counts what the allocator refused
	account   *account       // pays for what arrives and what is decoded; nil for none
	// wanted says whether anybody takes the payload of a message with this control
	// message. What nobody does is not decoded. All are wanted where nil. It comes
	// right before deliver or refuse.
	wanted func(control etf.Tuple) (bool, error)
	// deliver gets each message and how many bytes its terms took, large
	// binaries apart. control and payload are only valid during the call.
	deliver func(control etf.Tuple, payload payload, size int) (taken bool, err error)
	// refuse gets the front of each message that there is no room for, and why. Its
	// error ends the reader, as every such message does where refuse is nil.
	refuse func(control etf.Tuple, front front, cause error) error

	buf        []byte
	start, end int // of what is buffered

	decoder   etf.Decoder
	cache     atomCache
	refs      []etf.Term // work space
	control   [8]etf.Term
	envelope  [3]etf.Term
	sequences map[uint64]*assembly
	cost      charge // of the message that is delivered; deliver may take it over
	filling   int    // messages in flight with a half-filled binary
	bulk      int    // reads for which a large binary may be next
}

// run reads until the stream ends or breaks the protocol. After errRelieved it
// may be called again, and goes on where it was.
func (r *reader) run() error {
	if r.buf == nil {
		r.buf = make([]byte, readBuffer)
		r.sequences = make(map[uint64]*assembly)
		r.decoder.Streamed = true
		r.decoder.More = r.pay
	}
	err := r.packets()
	if err == errRelieved {
		return err
	}
	for _, a := range r.sequences {
		r.discard(a)
	}
	return err
}

// packets reads one packet after the other.
func (r *reader) packets() error {
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
func (r *reader) need(n int) error {
	for r.end-r.start < n {
		if err := r.more(); err != nil {
			return err
		}
	}
	return nil
}

// more reads what there is, at least one byte.
func (r *reader) more() error {
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
	n, err := r.src.Read(r.buf[r.end:min(limit, len(r.buf))])
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
func (r *reader) packet(n int) error {
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
func (r *reader) small(n int) error {
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
func (r *reader) plain(n int) error {
	r.start++
	return r.whole(&assembly{parsed: true}, n-1)
}

// whole reads a message of n bytes that came as one packet.
func (r *reader) whole(a *assembly, n int) error {
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
func (r *reader) discard(a *assembly) {
	release(a.large)
	r.account.give(assembling, a.paid)
	a.paid = 0
}

// fragment reads a fragment of n bytes. The first one carries the number of
// fragments, the following ones count down to one.
func (r *reader) fragment(kind byte, n int) error {
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
		if err := r.account.take(assembling, sequenceCost); err != nil {
			return err
		}
		a = &assembly{next: number, paid: sequenceCost}
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
func (r *reader) feed(a *assembly, n, limit int) error {
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
			if _, err := io.ReadFull(r.src, a.dst[:direct]); err != nil {
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
func (r *reader) complete(a *assembly) error {
	if a.refused {
		r.discard(a)
		return nil
	}
	if !a.parsed || a.left > 0 {
		r.discard(a)
		return fmt.Errorf("%w: message ends early", ErrMalformed)
	}
	// Once the message is handed over, another goroutine may read.
	account, paid := r.account, a.paid
	err := r.message(a.skeleton[a.body:], a.atoms, a.large)
	account.give(assembling, paid)
	return err
}

// message decodes the control message and the payload and delivers them. The
// large binaries of a message that nobody takes are freed.
func (r *reader) message(p []byte, atoms, large []etf.Term) error {
	r.decoder.Cache, r.decoder.Large = atoms, large
	r.decoder.Begin(decodeRoom)
	r.cost = charge{from: r.account}
	control, payload, err := r.decode(p)
	if err == nil {
		err = r.pay(r.decoder.Size() - int(r.cost.size))
	}
	full := lacksRoom(err)
	if err == nil {
		var taken bool
		taken, err = r.deliver(control, payload, len(p))
		if err == errRelieved {
			return err
		}
		if taken {
			large = nil
		}
	}
	r.cost.settle()
	r.cost = charge{}
	release(large)
	if full {
		return r.giveUp(p, atoms, err)
	}
	return err
}

// lacksRoom reports whether an error is about the size of a message alone, so that the
// stream can be read on.
func lacksRoom(err error) bool {
	return errors.Is(err, ErrOverLimit) || errors.Is(err, ErrTooLarge)
}

// giveUp refuses a message whose bytes begin with p. It returns cause where nobody can
// be told: the control message, or who calls, is not in p, or takes too much itself.
func (r *reader) giveUp(p []byte, atoms []etf.Term, cause error) error {
	if r.refuse == nil {
		return cause
	}
	d := &r.decoder
	pay := d.More
	defer func() { d.More = pay }()
	d.More = func(int) error { return cause }
	d.Cache, d.Large = atoms, nil
	d.Begin(decodeRoom)
	control, p, err := d.DecodeTuple(skipVersion(p), r.control[:])
	if err != nil || len(control) == 0 {
		return cause
	}
	wanted, err := true, error(nil)
	if r.wanted != nil {
		wanted, err = r.wanted(control)
	}
	if err != nil {
		return err
	}
	if !wanted {
		_, err = r.deliver(control, payload{}, 0)
		return err
	}
	if len(p) == 0 {
		return cause
	}
	var f front
	f.tuple, f.size = d.DecodeFront(skipVersion(p), r.envelope[:2])
	return r.refuse(control, f, cause)
}

// pay charges what decoding takes: n more bytes, or fewer where n is negative.
func (r *reader) pay(n int) error {
	if n < 0 {
		r.account.give(decoding, int64(-n))
	} else if err := r.account.take(decoding, int64(n)); err != nil {
		return err
	}
	r.cost.size += int64(n)
	return nil
}

func (r *reader) decode(p []byte) (control etf.Tuple, content payload, err error) {
	control, p, err = r.decoder.DecodeTuple(skipVersion(p), r.control[:])
	if err != nil {
		return nil, content, undecodable("control message", err)
	}
	if len(control) == 0 {
		return nil, content, fmt.Errorf("%w: empty control message", ErrMalformed)
	}
	if r.wanted != nil {
		if wanted, err := r.wanted(control); err != nil || !wanted {
			return control, content, err
		}
	}
	if len(p) > 0 {
		if p = skipVersion(p); etf.IsTuple(p, len(r.envelope)) {
			content.tuple, p, err = r.decoder.DecodeTuple(p, r.envelope[:])
		} else {
			content.term, p, err = r.decoder.Decode(p)
		}
		if err != nil {
			return nil, content, undecodable("payload", err)
		}
	}
	if len(p) > 0 || len(r.decoder.Large) > 0 {
		return nil, content, fmt.Errorf("%w: %d bytes after the payload", ErrMalformed, len(p))
	}
	return control, content, nil
}

// undecodable is the error of a part of a message: that of its account, or that it is
// malformed.
func undecodable(part string, err error) error {
	if errors.Is(err, ErrOverLimit) {
		return fmt.Errorf("%s: %w", part, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrMalformed, part, err)
}

// skipVersion drops the version byte that terms outside a header have.
func skipVersion(p []byte) []byte {
	if len(p) > 0 && p[0] == etf.Version {
		return p[1:]
	}
	return p
}
