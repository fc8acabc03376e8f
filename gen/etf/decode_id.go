package etf

import (
	"encoding/binary"
	"unicode/utf8"
)

// maxAtom is the longest atom, in characters.
const maxAtom = 255

// atomOf decodes the rest of an atom with the given tag.
func (d *Decoder) atomOf(tag byte) (Term, error) {
	var n int
	var err error
	switch tag {
	case tagAtomCacheRef:
		if n, err = d.uint8(); err != nil {
			return nil, err
		}
		if n >= len(d.Cache) {
			return nil, ErrAtomRef
		}
		return d.Cache[n], nil
	case tagSmallAtom, tagSmallAtomUTF8:
		n, err = d.uint8()
	default:
		n, err = d.uint16()
	}
	if err != nil {
		return nil, err
	}
	p, err := d.take(n)
	if err != nil {
		return nil, err
	}
	return d.Intern(p, tag == tagAtomUTF8 || tag == tagSmallAtomUTF8)
}

// Intern returns the atom of the given text, UTF-8 or Latin-1, as a Term. An
// atom that was seen before costs nothing.
func (d *Decoder) Intern(text []byte, isUTF8 bool) (Term, error) {
	if isUTF8 || isASCII(text) {
		if t, ok := d.atoms[string(text)]; ok {
			return t, nil
		}
		if !utf8.Valid(text) || utf8.RuneCount(text) > maxAtom {
			return nil, ErrMalformed
		}
		return d.remember(string(text)), nil
	}
	if len(text) > maxAtom {
		return nil, ErrMalformed
	}
	runes := make([]rune, len(text))
	for i, b := range text {
		runes[i] = rune(b)
	}
	return d.remember(string(runes)), nil
}

func (d *Decoder) remember(s string) Term {
	var t Term = Atom(s)
	if d.atoms == nil {
		d.atoms = make(map[string]Term)
	}
	if len(d.atoms) < maxInterned {
		d.atoms[s] = t
	}
	return t
}

func isASCII(p []byte) bool {
	for _, b := range p {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// node decodes the atom inside a pid, port or reference.
func (d *Decoder) node() (Atom, error) {
	tag, err := d.uint8()
	if err != nil {
		return "", err
	}
	if !isAtom(byte(tag)) {
		return "", ErrMalformed
	}
	t, err := d.atomOf(byte(tag))
	if err != nil {
		return "", err
	}
	return t.(Atom), nil
}

// pidCache is how many pids a Decoder remembers, a power of two.
const pidCache = 64

// knownPid is a pid that was seen, as a Term. Few processes send most messages, and
// each message holds the pid of its sender once or twice.
type knownPid struct {
	pid  Pid
	term Term
}

// box returns a pid as a Term, and allocates only where it has not been seen lately.
func (d *Decoder) box(p Pid) Term {
	if d.pids == nil {
		d.pids = new([pidCache]knownPid)
	}
	known := &d.pids[p.ID%pidCache]
	if known.pid != p || known.term == nil {
		*known = knownPid{pid: p, term: p}
	}
	return known.term
}

func (d *Decoder) pid(tag byte) (Term, error) {
	node, err := d.node()
	if err != nil {
		return nil, err
	}
	size := 12
	if tag == tagPid {
		size = 9
	}
	p, err := d.take(size)
	if err != nil {
		return nil, err
	}
	return d.box(Pid{
		Node:     node,
		ID:       binary.BigEndian.Uint32(p),
		Serial:   binary.BigEndian.Uint32(p[4:]),
		Creation: creation(p[8:]),
	}), nil
}

func (d *Decoder) port(tag byte) (Term, error) {
	node, err := d.node()
	if err != nil {
		return nil, err
	}
	idSize, size := 4, 8
	switch tag {
	case tagPort:
		size = 5
	case tagV4Port:
		idSize, size = 8, 12
	}
	p, err := d.take(size)
	if err != nil {
		return nil, err
	}
	id := uint64(binary.BigEndian.Uint32(p))
	if idSize == 8 {
		id = binary.BigEndian.Uint64(p)
	}
	return Port{Node: node, ID: id, Creation: creation(p[idSize:])}, nil
}

func (d *Decoder) ref(tag byte) (Term, error) {
	words, creationSize := 1, 1
	if tag != tagReference {
		n, err := d.uint16()
		if err != nil {
			return nil, err
		}
		words = n
	}
	if tag == tagNewerReference {
		creationSize = 4
	}
	if words < 1 || words > RefWords {
		return nil, ErrMalformed
	}
	node, err := d.node()
	if err != nil {
		return nil, err
	}
	p, err := d.take(creationSize + 4*words)
	if err != nil {
		return nil, err
	}
	// The oldest form has its creation last, the others first.
	made, ids := p[:creationSize], p[creationSize:]
	if tag == tagReference {
		ids, made = p[:4], p[4:]
	}
	r := Ref{Node: node, Creation: creation(made), Len: uint8(words)}
	for i := range words {
		r.Words[i] = binary.BigEndian.Uint32(ids[4*i:])
	}
	return r, nil
}

// creation reads a creation of one or four bytes.
func creation(p []byte) uint32 {
	if len(p) == 1 {
		return uint32(p[0])
	}
	return binary.BigEndian.Uint32(p)
}

// export decodes three terms that must be two atoms and a small integer.
func (d *Decoder) export() (Term, error) {
	module, err := d.node()
	if err != nil {
		return nil, err
	}
	function, err := d.node()
	if err != nil {
		return nil, err
	}
	p, err := d.take(2)
	if err != nil {
		return nil, err
	}
	if p[0] != tagSmallInteger {
		return nil, ErrMalformed
	}
	return Export{Module: module, Function: function, Arity: p[1]}, nil
}
