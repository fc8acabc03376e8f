package packet

import (
	"encoding/binary"
	"fmt"

	"nxvk/gen/etf"
)

// First bytes of a packet's body.
const (
	kindHeader    = 'D'
	kindFragment  = 'E' // the first fragment, with a header
	kindFragments = 'F' // a following fragment
	passThrough   = 'p' // a message without a header
)

// atomCache is the receiving half of the atom cache that the peer fills.
type atomCache [2048]etf.Term

// parseHeader reads the atom cache references at the start of p: their number, their
// flags, and the text of each one that is new. It returns the atoms that the message's
// references index, and the size of the header. ok is false where p is too short.
func (c *atomCache) parseHeader(d *etf.Decoder, p []byte, refs []etf.Term) (atoms []etf.Term, size int, ok bool, err error) {
	if len(p) < 1 {
		return nil, 0, false, nil
	}
	n := int(p[0])
	if n == 0 {
		return refs[:0], 1, true, nil
	}
	flagBytes := n/2 + 1
	if len(p) < 1+flagBytes {
		return nil, 0, false, nil
	}
	flags := p[1 : 1+flagBytes]
	nibble := func(i int) byte { return flags[i/2] >> (4 * (i % 2)) & 15 }
	width := 1
	if nibble(n)&1 != 0 { // the last half byte: long atoms
		width = 2
	}
	if size, ok = headerSize(p, 1+flagBytes, n, width, nibble); !ok {
		return nil, 0, false, nil
	}
	atoms, at := refs[:0], 1+flagBytes
	for i := range n {
		f := nibble(i)
		entry := &c[int(f&7)<<8|int(p[at])]
		at++
		if f&8 != 0 {
			length := int(p[at])
			if width == 2 {
				length = int(binary.BigEndian.Uint16(p[at:]))
			}
			at += width
			if *entry, err = d.Intern(p[at:at+length], true); err != nil {
				return nil, 0, false, fmt.Errorf("atom cache: %w", err)
			}
			at += length
		}
		if *entry == nil {
			return nil, 0, false, fmt.Errorf("%w: empty atom cache entry", ErrMalformed)
		}
		atoms = append(atoms, *entry)
	}
	return atoms, size, true, nil
}

// headerSize walks the references without touching the cache, because a header
// that is still arriving is parsed again.
func headerSize(p []byte, at, n, width int, nibble func(int) byte) (int, bool) {
	for i := range n {
		at++
		if nibble(i)&8 == 0 {
			continue
		}
		if at+width > len(p) {
			return 0, false
		}
		length := int(p[at])
		if width == 2 {
			length = int(binary.BigEndian.Uint16(p[at:]))
		}
		at += width + length
	}
	return at, at <= len(p)
}
