package packet

import (
	"fmt"
	"slices"

	"nxvk/gen/etf"
	"nxvk/node/dist/quota"
)

// assembly is a message that is arriving in pieces. The contents of large binaries go
// to blocks of the allocator, mostly straight from the socket. Everything else gathers
// in skeleton.
type assembly struct {
	skeleton []byte
	parsed   bool       // the header at the start of skeleton is
	body     int        // where the terms start in skeleton
	atoms    []etf.Term // what cache references in this message index
	next     uint64     // number of the fragment that is due

	fragmented bool // it comes in more packets than one

	scan  etf.Scanner
	large []etf.Term // *etf.Binary or etf.Lost, in order

	charged int64 // bytes that the account was charged

	refused bool // the rest of the message is dropped as it comes

	dst  []byte // rest of the large binary that is being filled
	left int    // bytes of it that are still to come, also where it is lost
}

// add takes bytes of the message that are in the read buffer. limit bounds the size of
// a binary that starts here.
func (a *assembly) add(r *Reader, p []byte, limit int) error {
	for len(p) > 0 && !a.refused {
		if a.left > 0 {
			n := min(a.left, len(p))
			a.fill(p[:n])
			p = p[n:]
			continue
		}
		if err := a.grow(r, len(p)); err != nil {
			return a.refuse(r, p, err)
		}
		before := len(a.skeleton)
		a.skeleton = append(a.skeleton, p...)
		cut, err := a.walk(r, limit)
		if err != nil {
			return err
		}
		if cut < 0 {
			return nil
		}
		a.skeleton = a.skeleton[:cut]
		p = p[cut-before:]
	}
	return nil
}

// grow makes room for n more bytes of the skeleton, which are charged before they
// are taken.
func (a *assembly) grow(r *Reader, n int) error {
	need := len(a.skeleton) + n
	if need > r.MaxTerm {
		return fmt.Errorf("%w: more than %d bytes of terms", ErrTooLarge, r.MaxTerm)
	}
	if need <= cap(a.skeleton) {
		return nil
	}
	size := max(need, 2*cap(a.skeleton))
	more := int64(size - cap(a.skeleton))
	if err := r.Account.Take(quota.Assembly, more); err != nil {
		return err
	}
	a.charged += more
	a.skeleton = append(make([]byte, 0, size), a.skeleton...)
	return nil
}

// refuse gives up the message, because its next bytes, p, found no room. It frees what
// the message holds, but for the place of its sequence, and has the rest dropped.
func (a *assembly) refuse(r *Reader, p []byte, cause error) error {
	if a.fragmented && r.refused == maxRefused {
		return fmt.Errorf("%w; %d messages without room have not ended", cause, r.refused)
	}
	front := a.skeleton
	if len(front) < frontSize {
		front = slices.Concat(front, p)
	}
	if !a.parsed {
		// The header is read at any rate: later messages refer to its atoms.
		atoms, size, ok, err := r.cache.parseHeader(&r.decoder, front, nil)
		if err != nil {
			return err
		}
		if !ok {
			return cause
		}
		a.atoms, a.parsed, a.body = atoms, true, size
	}
	if err := r.giveUp(front[a.body:], a.atoms, cause); err != nil {
		return err
	}
	release(a.large)
	keep := int64(0)
	if a.fragmented {
		keep = sequenceCost
		r.refused++
	}
	r.Account.Give(quota.Assembly, a.charged-keep)
	*a = assembly{refused: true, next: a.next, fragmented: a.fragmented, charged: keep}
	return nil
}

// walk parses the header once it is whole and looks for the next large binary in the
// skeleton. It returns the offset where the contents of that start, or -1.
func (a *assembly) walk(r *Reader, limit int) (int, error) {
	if !a.parsed {
		atoms, size, ok, err := r.cache.parseHeader(&r.decoder, a.skeleton, nil)
		if err != nil || !ok {
			return -1, err
		}
		a.atoms, a.parsed, a.body = atoms, true, size
		a.scan.Reset(size)
	}
	size, at, found, err := a.scan.Next(a.skeleton)
	if err != nil || !found {
		return -1, err
	}
	if size > limit {
		return -1, fmt.Errorf("%w: binary of %d bytes in a packet of %d", ErrMalformed, size, limit)
	}
	a.left, r.bulk = size, bulkReads
	block, err := r.Allocator.Alloc(size)
	if err != nil {
		r.Lost.Add(1)
		a.large = append(a.large, etf.Lost{Size: size, Err: err})
		return at, nil
	}
	b := etf.NewBinary(block, size)
	a.large = append(a.large, b)
	a.dst = b.Bytes()
	return at, nil
}

// fill copies p into the current binary, or drops it where that is lost.
func (a *assembly) fill(p []byte) {
	if a.dst != nil {
		copy(a.dst, p)
	}
	a.filled(len(p))
}

// filled says that n more bytes of the current binary are there.
func (a *assembly) filled(n int) {
	a.left -= n
	if a.dst != nil {
		a.dst = a.dst[n:]
	}
	if a.left == 0 {
		a.dst = nil
	}
}

// release frees the blocks of a message that nobody will read.
func release(large []etf.Term) {
	for _, t := range large {
		if b, ok := t.(*etf.Binary); ok {
			b.Release()
		}
	}
}
