package etf

import "encoding/binary"

// funHead is the size of a fun's fields before its first term: size, arity,
// uniq, index and number of free variables.
const funHead = 4 + 1 + 16 + 4 + 4

// fun keeps the encoding, with the atoms in place of references to a cache
// that only this connection has.
func (d *Decoder) fun() (Term, error) {
	n, err := d.uint32()
	if err != nil {
		return nil, err
	}
	if n < funHead {
		return nil, ErrMalformed
	}
	d.pos -= 5
	p, err := d.take(1 + n)
	if err != nil {
		return nil, err
	}
	out, err := d.expand(make([]byte, 0, 1+n), p)
	if err != nil {
		return nil, err
	}
	return Fun{Encoded: out[1:]}, nil
}

// expand appends the tokens of p to out with atom cache references replaced.
// Funs within funs grow with their contents, so their sizes are written when
// they end.
func (d *Decoder) expand(out, p []byte) ([]byte, error) {
	type open struct{ end, size int } // of the fun in p, of its size field in out
	var funs []open
	var err error
	for at := 0; at < len(p); {
		n, atom := 0, -1
		if p[at] == tagNewFun {
			n, err = funToken(p[at:])
			funs = append(funs, open{end: at + 1 + int(binary.BigEndian.Uint32(tail(p, at+1))), size: len(out) + 1})
		} else {
			n, atom, err = leafToken(p[at:])
		}
		if err != nil {
			return nil, err
		}
		if atom >= 0 && atom < n && p[at+atom] == tagAtomCacheRef {
			i := int(p[at+atom+1])
			if i >= len(d.Cache) {
				return nil, ErrAtomRef
			}
			e := Encoder{buf: append(out, p[at:at+atom]...)}
			if err := e.atom(d.Cache[i].(Atom)); err != nil {
				return nil, err
			}
			out = append(e.buf, p[at+atom+2:at+n]...)
		} else {
			out = append(out, p[at:at+n]...)
		}
		at += n
		for len(funs) > 0 && at >= funs[len(funs)-1].end {
			f := funs[len(funs)-1]
			if at > f.end {
				return nil, ErrMalformed
			}
			binary.BigEndian.PutUint32(out[f.size:], uint32(len(out)-f.size))
			funs = funs[:len(funs)-1]
		}
	}
	if len(funs) > 0 {
		return nil, ErrMalformed
	}
	return out, nil
}

// tail returns the bytes from at on, with zeros where there are too few for a
// number of 32 bits.
func tail(p []byte, at int) []byte {
	if len(p) < at+4 {
		return make([]byte, 4)
	}
	return p[at:]
}

// funToken returns the size of a fun's tag and head.
func funToken(p []byte) (int, error) {
	if len(p) < 1+funHead {
		return 0, ErrTruncated
	}
	return 1 + funHead, nil
}

// leafToken returns the size of a token that is wholly in p, and where an atom
// starts that may be a cache reference.
func leafToken(p []byte) (n, atom int, err error) {
	n, ok, err := tokenSize(p)
	if err != nil {
		return 0, 0, err
	}
	if !ok || n > len(p) {
		return 0, 0, ErrTruncated
	}
	switch p[0] {
	case tagAtomCacheRef:
		return n, 0, nil
	case tagPid, tagNewPid, tagPort, tagNewPort, tagV4Port, tagReference:
		return n, 1, nil
	case tagNewReference, tagNewerReference:
		return n, 3, nil
	}
	return n, -1, nil
}
