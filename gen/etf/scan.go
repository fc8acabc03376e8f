package etf

import "encoding/binary"

// Scanner walks the tokens of encoded terms as they arrive and finds the large binaries
// in them. External terms are prefix coded: a tag says how many bytes of its own follow,
// and after these come more tokens. So the walk needs no memory of the nesting.
//
// The caller keeps the bytes in one growing slice, without the contents of the large
// binaries that were found.
type Scanner struct {
	pos int // bytes of the slice that are walked
}

// Reset starts at offset pos of another slice.
func (s *Scanner) Reset(pos int) { s.pos = pos }

// Next walks buf, the slice so far. It returns the size of the next large binary and the
// offset where its contents start; the caller cuts buf off there. found is false where
// the bytes so far hold no large binary. The walk goes on when buf has grown. An unknown
// tag is an error.
func (s *Scanner) Next(buf []byte) (size, at int, found bool, err error) {
	for s.pos < len(buf) {
		if buf[s.pos] == tagBinary {
			if s.pos+5 > len(buf) {
				return 0, 0, false, nil
			}
			n := int(binary.BigEndian.Uint32(buf[s.pos+1:]))
			s.pos += 5
			if n >= LargeBinary {
				return n, s.pos, true, nil
			}
			s.pos += n
			continue
		}
		n, ok, err := tokenSize(buf[s.pos:])
		if err != nil || !ok {
			return 0, 0, false, err
		}
		s.pos += n
	}
	return 0, 0, false, nil
}

// tokenSize returns the size of the token at the start of p: its tag and its own bytes,
// without the terms that follow as its elements. ok is false where p is too short.
func tokenSize(p []byte) (n int, ok bool, err error) {
	switch p[0] {
	case Version, tagNil, tagNewPid, tagNewPort, tagV4Port, tagPid, tagPort, tagReference:
		return fixedSize(p)
	case tagSmallInteger, tagAtomCacheRef, tagSmallTuple:
		return 2, true, nil
	case tagInteger, tagList, tagLargeTuple, tagMap:
		return 5, true, nil
	case tagNewFloat:
		return 9, true, nil
	case tagFloat:
		return 32, true, nil
	case tagExport:
		return 1, true, nil
	case tagSmallAtom, tagSmallAtomUTF8:
		return lengthSize(p, 1, 0)
	case tagAtom, tagAtomUTF8, tagString:
		return lengthSize(p, 2, 0)
	case tagBinary:
		return lengthSize(p, 4, 0)
	case tagSmallBig:
		return lengthSize(p, 1, 1)
	case tagLargeBig, tagBitBinary:
		return lengthSize(p, 4, 1)
	case tagNewFun:
		return lengthSize(p, 4, -4)
	case tagNewReference, tagNewerReference:
		return referenceSize(p)
	}
	return 0, false, ErrTag
}

// lengthSize returns the size of a token that has a length of width bytes, extra bytes,
// and as many bytes as the length says.
func lengthSize(p []byte, width, extra int) (int, bool, error) {
	if len(p) < 1+width {
		return 0, false, nil
	}
	n := 0
	for _, b := range p[1 : 1+width] {
		n = n<<8 | int(b)
	}
	if n+extra < 0 {
		return 0, false, ErrMalformed
	}
	return 1 + width + extra + n, true, nil
}

// fixedSize returns the size of a token of a fixed size. Where its first element is the
// node, an atom, its own bytes come after that, so the atom is part of the token.
func fixedSize(p []byte) (int, bool, error) {
	tail := 0
	switch p[0] {
	case Version, tagNil:
		return 1, true, nil
	case tagNewPid, tagV4Port:
		tail = 12
	case tagPid:
		tail = 9
	case tagNewPort:
		tail = 8
	case tagPort, tagReference:
		tail = 5
	}
	return afterAtom(p, 1, tail)
}

func referenceSize(p []byte) (int, bool, error) {
	if len(p) < 3 {
		return 0, false, nil
	}
	words := int(binary.BigEndian.Uint16(p[1:]))
	creation := 4
	if p[0] == tagNewReference {
		creation = 1
	}
	return afterAtom(p, 3, creation+4*words)
}

func afterAtom(p []byte, at, tail int) (int, bool, error) {
	if len(p) <= at {
		return 0, false, nil
	}
	if !isAtom(p[at]) {
		return 0, false, ErrMalformed
	}
	n, ok, err := tokenSize(p[at:])
	return at + n + tail, ok, err
}
