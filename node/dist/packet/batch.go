package packet

import (
	"encoding/binary"
	"net"

	"nxvk/gen/etf"
)

// batch is bytes to write, with binaries that are inserted at the cuts.
type batch struct {
	buf     []byte
	at      int // bytes of buf that are written
	cuts    []etf.Cut
	charged int // bytes that the account was charged for its messages
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

// take moves the next n bytes of b to the end of out, cuts in their places. It appends
// the functions to call once they are written to done.
func (b *batch) take(n int, out net.Buffers, done []func()) (net.Buffers, []func()) {
	for n > 0 {
		if len(b.cuts) > 0 && b.cuts[0].At == b.at {
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
		m := min(n, end-b.at)
		if m == 0 {
			break
		}
		out = append(out, b.buf[b.at:b.at+m])
		b.at += m
		n -= m
	}
	return out, done
}

// rest returns the bytes that are still to go out.
func (b *batch) rest() int {
	n := len(b.buf) - b.at
	for _, c := range b.cuts {
		n += len(c.Bytes)
	}
	return n
}

// parts appends all that is still to go out to out, and leaves it there.
func (b *batch) parts(out net.Buffers) net.Buffers {
	at := b.at
	for _, c := range b.cuts {
		if c.At > at {
			out = append(out, b.buf[at:c.At])
			at = c.At
		}
		out = append(out, c.Bytes)
	}
	if at < len(b.buf) {
		out = append(out, b.buf[at:])
	}
	return out
}

func (b *batch) drop() {
	for _, c := range b.cuts {
		if c.Release != nil {
			c.Release()
		}
	}
	b.buf, b.cuts = nil, nil
}
