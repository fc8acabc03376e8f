package etf

import (
	"fmt"
	"math"
)

// maxInterned bounds the atoms a Decoder remembers; peers choose them.
const maxInterned = 8192

const (
	// termSize is how many bytes a Term takes in a container.
	termSize = 16
	// containerSize is how many bytes a container takes beside its elements: the
	// slice, its rounding up, and the frame while it is filled.
	containerSize = 96
	// leafSize is how many bytes a leaf takes beside its own, unless it is a small
	// integer, an atom or an empty list.
	leafSize = 32
	// leastMore is the fewest bytes that More is asked for.
	leastMore = 64 << 10
)

// Decoder decodes terms. It keeps its work space and the atoms it has seen
// between terms, so one Decoder serves one stream. The zero value is ready.
type Decoder struct {
	// Cache holds the atoms that atom cache references index, as Terms so
	// that they need not be boxed again.
	Cache []Term
	// Streamed says that the contents of large binaries were taken out of the
	// bytes by a Scanner; the next ones, *Binary or Lost, are in Large.
	Streamed bool
	Large    []Term
	// More is asked before decoded terms take n bytes more than they may; an error
	// ends the decoding. They may take any number where it is nil, or before Begin.
	More func(n int) error

	size, room int // bytes that terms have taken since Begin, and may take
	bounded    bool

	buf   []byte
	pids  *[pidCache]knownPid // made when the first pid comes
	pos   int
	owed  int // elements that open containers still lack
	stack []frame
	atoms map[string]Term
}

// frame is a container that is being filled.
type frame struct {
	kind  byte // its tag
	items []Term
	next  int // index into items
	pairs Map
}

// Begin starts to count the memory of terms. They may take room bytes before More is
// asked for the rest.
func (d *Decoder) Begin(room int) { d.size, d.room, d.bounded = 0, room, d.More != nil }

// Size returns roughly how many bytes of memory the terms take that were decoded since
// Begin. For example, an empty list takes 16 bytes as an element, and one byte in its
// encoding. Atoms that the Decoder remembers and large binaries do not count.
func (d *Decoder) Size() int { return d.size }

// charge counts n bytes that a term is about to take.
func (d *Decoder) charge(n int) error {
	d.size += n
	if !d.bounded || d.size <= d.room {
		return nil
	}
	more := max(d.size-d.room, leastMore)
	if err := d.More(more); err != nil {
		return err
	}
	d.room += more
	return nil
}

// Decode decodes one term from the start of p, without a version byte, and
// returns the bytes after it. Nothing in the term refers to p.
func Decode(p []byte) (t Term, rest []byte, err error) {
	var d Decoder
	return d.Decode(p)
}

// Decode is the same with the Decoder's atoms and binaries.
func (d *Decoder) Decode(p []byte) (t Term, rest []byte, err error) {
	d.buf, d.pos, d.owed = p, 0, 0
	t, err = d.term()
	rest = p[min(d.pos, len(p)):]
	d.buf = nil
	if cap(d.stack) > 1024 {
		d.stack = nil
	}
	if err != nil {
		clear(d.stack)
		d.stack = d.stack[:0]
		return nil, rest, fmt.Errorf("decode at byte %d of %d: %w", d.pos, len(p), err)
	}
	return t, rest, nil
}

// DecodeTuple is Decode for a tuple whose elements go to the front of into,
// which saves its caller the garbage where it looks at tuples only in passing.
// A tuple that is longer is refused.
func (d *Decoder) DecodeTuple(p []byte, into []Term) (t Tuple, rest []byte, err error) {
	if !IsTuple(p, len(into)) {
		return nil, p, ErrMalformed
	}
	t, p = into[:p[1]], p[2:]
	for i := range t {
		if t[i], p, err = d.Decode(p); err != nil {
			return nil, p, err
		}
	}
	return t, p, nil
}

// IsTuple reports whether p begins with a tuple of at most most elements.
func IsTuple(p []byte, most int) bool {
	return len(p) >= 2 && p[0] == tagSmallTuple && int(p[1]) <= most
}

// DecodeFront decodes the front of a tagged tuple, a tuple whose first element is
// an atom. The end of the tuple may be missing. front has its elements up to the first
// one that is not whole, at most len(into). size is the number of elements that the
// tuple has, 0 where p does not begin with a tagged tuple.
func (d *Decoder) DecodeFront(p []byte, into []Term) (front Tuple, size int) {
	if !IsTuple(p, math.MaxUint8) || len(p) > 2 && !isAtom(p[2]) {
		return nil, 0
	}
	size, p = int(p[1]), p[2:]
	front = into[:0]
	for len(front) < min(size, len(into)) {
		t, rest, err := d.Decode(p)
		if err != nil {
			break
		}
		front, p = append(front, t), rest
	}
	return front, size
}

// term decodes tokens until the outermost one is complete. Each step either
// opens a container or has a value, which closes as many containers as it
// completes.
func (d *Decoder) term() (Term, error) {
	for {
		if len(d.stack) > 0 {
			d.owed--
		}
		t, opened, err := d.token()
		if err != nil {
			return nil, err
		}
		if opened {
			continue
		}
		for {
			if len(d.stack) == 0 {
				return t, nil
			}
			var done bool
			if t, done = d.deliver(t); !done {
				break
			}
		}
	}
}

// deliver puts a value into the innermost container. Where that completes it,
// the container is the value for the next one out.
func (d *Decoder) deliver(t Term) (Term, bool) {
	f := &d.stack[len(d.stack)-1]
	switch f.kind {
	case tagMap:
		pair := &f.pairs[f.next/2]
		if f.next%2 == 0 {
			pair.Key = t
		} else {
			pair.Value = t
		}
		if f.next++; f.next < 2*len(f.pairs) {
			return nil, false
		}
		t = f.pairs
	case tagList:
		if f.next < len(f.items) {
			f.items[f.next] = t
			f.next++
			return nil, false
		}
		t = closeList(f.items, t)
	default:
		f.items[f.next] = t
		if f.next++; f.next < len(f.items) {
			return nil, false
		}
		t = Tuple(f.items)
	}
	d.stack[len(d.stack)-1] = frame{}
	d.stack = d.stack[:len(d.stack)-1]
	return t, true
}

// closeList joins items and tail.
func closeList(items []Term, tail Term) Term {
	if l, ok := tail.(List); ok && len(l) == 0 {
		return List(items)
	}
	return ImproperList{Items: items, Tail: tail}
}

// open starts a container of n elements. Every element that is owed takes at
// least one more byte, so a count that the remaining bytes cannot hold is
// refused before anything is allocated, nested or not.
func (d *Decoder) open(kind byte, n int) (Term, bool, error) {
	elements := n
	switch kind {
	case tagMap:
		elements = 2 * n
	case tagList:
		elements = n + 1
	}
	if n < 0 || elements > len(d.buf)-d.pos-d.owed {
		return nil, false, ErrTruncated
	}
	if elements == 0 {
		if kind == tagMap {
			return Map{}, false, nil
		}
		return Tuple{}, false, nil
	}
	if err := d.charge(containerSize + elements*termSize); err != nil {
		return nil, false, err
	}
	f := frame{kind: kind}
	if kind == tagMap {
		f.pairs = make(Map, n)
	} else {
		f.items = make([]Term, n)
	}
	d.owed += elements
	d.stack = append(d.stack, f)
	return nil, true, nil
}

// token decodes a tag and what belongs to it. opened says that it was a
// container whose elements follow.
func (d *Decoder) token() (t Term, opened bool, err error) {
	if d.pos >= len(d.buf) {
		return nil, false, ErrTruncated
	}
	tag := d.buf[d.pos]
	d.pos++
	switch tag {
	case tagSmallTuple:
		n, err := d.uint8()
		if err != nil {
			return nil, false, err
		}
		return d.open(tagSmallTuple, n)
	case tagLargeTuple:
		n, err := d.uint32()
		if err != nil {
			return nil, false, err
		}
		return d.open(tagSmallTuple, n)
	case tagList, tagMap:
		n, err := d.uint32()
		if err != nil {
			return nil, false, err
		}
		return d.open(tag, n)
	case tagNil:
		return List(nil), false, nil
	case tagSmallInteger:
		n, err := d.uint8()
		return int64(n), false, err
	case tagAtom, tagAtomUTF8, tagSmallAtom, tagSmallAtomUTF8, tagAtomCacheRef:
		t, err = d.atomOf(tag)
		return t, false, err
	}
	at := d.pos
	if t, err = d.leaf(tag); err == nil {
		err = d.charge(leafCost(tag, d.pos-at))
	}
	return t, false, err
}
