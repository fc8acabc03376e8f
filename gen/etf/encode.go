package etf

import (
	"fmt"
	"math"
	"math/big"
)

// Encoder encodes terms one after the other. It appends them to its buffer, except
// binaries of at least SegmentSize: these stay where they are, and a Cut remembers each.
// The zero value is ready.
type Encoder struct {
	// Convert, if any, turns values of foreign types into Terms.
	Convert func(v any) (t Term, ok bool)

	buf   []byte
	cuts  []Cut
	stack []pending
	bytes int // in the cuts
}

// SegmentSize is the smallest binary that is sent from its own memory. To copy a smaller
// one is cheaper than one more element in a gathering write.
const SegmentSize = 16 << 10

// Cut is a binary that belongs at offset At of the encoder's buffer.
type Cut struct {
	At      int
	Bytes   []byte
	Release func()
}

// pending is a container whose remaining elements are to be encoded.
type pending struct {
	items   []Term
	pairs   Map
	value   bool // the next of pairs is a value, not a key
	tail    Term
	hasTail bool
}

// Append appends the encoding of t to dst, large binaries included, without a
// version byte.
func Append(dst []byte, t Term) ([]byte, error) {
	e := Encoder{buf: dst}
	err := e.Encode(t)
	if err == nil && len(e.cuts) > 0 {
		flat := append([]byte(nil), e.buf[:e.cuts[0].At]...)
		for i, c := range e.cuts {
			flat = append(flat, c.Bytes...)
			end := len(e.buf)
			if i+1 < len(e.cuts) {
				end = e.cuts[i+1].At
			}
			flat = append(flat, e.buf[c.At:end]...)
		}
		e.buf = flat
	}
	for _, c := range e.cuts {
		c.release()
	}
	if err != nil {
		return dst, err
	}
	return e.buf, nil
}

// Buffer returns the encoding so far, without the contents of the cuts.
func (e *Encoder) Buffer() []byte { return e.buf }

// Cuts returns the binaries left in place, in order.
func (e *Encoder) Cuts() []Cut { return e.cuts }

// Len returns the encoded size, cuts included.
func (e *Encoder) Len() int { return len(e.buf) + e.bytes }

// Raw appends bytes that are encoded already.
func (e *Encoder) Raw(p ...byte) { e.buf = append(e.buf, p...) }

// Reset forgets everything without releasing it, and keeps the buffer unless
// it has grown large.
func (e *Encoder) Reset() {
	if cap(e.buf) > 1<<20 {
		e.buf = nil
	}
	clear(e.cuts)
	e.buf, e.cuts, e.bytes = e.buf[:0], e.cuts[:0], 0
}

// Drop releases the cuts of a message that is not sent.
func (e *Encoder) Drop() {
	for _, c := range e.cuts {
		c.release()
	}
	e.Reset()
}

func (c Cut) release() {
	if c.Release != nil {
		c.Release()
	}
}

// Encode appends t. After an error the encoder holds part of a term.
func (e *Encoder) Encode(t Term) error {
	if err := e.encodeOne(t); err != nil {
		return err
	}
	for len(e.stack) > 0 {
		if err := e.step(); err != nil {
			clear(e.stack)
			e.stack = e.stack[:0]
			return err
		}
	}
	if cap(e.stack) > 1024 {
		e.stack = nil
	}
	return nil
}

// step encodes the next element of the innermost container.
func (e *Encoder) step() error {
	top := &e.stack[len(e.stack)-1]
	var t Term
	switch {
	case len(top.items) > 0:
		t, top.items = top.items[0], top.items[1:]
	case len(top.pairs) > 0 && !top.value:
		t, top.value = top.pairs[0].Key, true
	case len(top.pairs) > 0:
		t, top.value, top.pairs = top.pairs[0].Value, false, top.pairs[1:]
	case top.hasTail:
		t, top.hasTail = top.tail, false
	default:
		*top = pending{}
		e.stack = e.stack[:len(e.stack)-1]
		return nil
	}
	return e.encodeOne(t)
}

// encodeOne encodes a leaf, or the head of a container. step encodes the elements.
func (e *Encoder) encodeOne(t Term) error {
	switch t := t.(type) {
	case Tuple:
		if len(t) < 256 {
			e.buf = append(e.buf, tagSmallTuple, byte(len(t)))
		} else if err := e.header(tagLargeTuple, len(t)); err != nil {
			return err
		}
		e.stack = append(e.stack, pending{items: t})
		return nil
	case List:
		if len(t) == 0 {
			e.buf = append(e.buf, tagNil)
			return nil
		}
		return e.list(t, List(nil))
	case ImproperList:
		if len(t.Items) == 0 {
			return e.encodeOne(t.Tail)
		}
		return e.list(t.Items, t.Tail)
	case Map:
		e.stack = append(e.stack, pending{pairs: t})
		return e.header(tagMap, len(t))
	}
	return e.leaf(t)
}

func (e *Encoder) list(items []Term, tail Term) error {
	e.stack = append(e.stack, pending{items: items, tail: tail, hasTail: true})
	return e.header(tagList, len(items))
}

func (e *Encoder) leaf(t Term) error {
	switch t := t.(type) {
	case Atom:
		return e.atom(t)
	case int64:
		e.integer(t)
	case float64:
		return e.float(t)
	case []byte:
		return e.binary(t, nil)
	case *Binary:
		// The share is taken now: the caller may release its own at once.
		p := t.Bytes()
		if p == nil {
			return fmt.Errorf("binary of %d bytes that is gone: %w", t.Len(), ErrType)
		}
		t.Retain()
		return e.binary(p, t.Release)
	case Outside:
		return e.binary(t.Bytes, t.Release)
	case Bitstring:
		return e.bitstring(t)
	case Pid:
		return e.pid(t)
	case Ref:
		return e.ref(t)
	case Port:
		return e.port(t)
	case Export:
		e.buf = append(e.buf, tagExport)
		if err := e.atom(t.Module); err != nil {
			return err
		}
		if err := e.atom(t.Function); err != nil {
			return err
		}
		e.buf = append(e.buf, tagSmallInteger, t.Arity)
	case Fun:
		e.buf = append(append(e.buf, tagNewFun), t.Encoded...)
	default:
		return e.encodeGo(t)
	}
	return nil
}

// encodeGo encodes the Go types that decoding never yields.
func (e *Encoder) encodeGo(t Term) error {
	switch t := t.(type) {
	case bool:
		if t {
			return e.atom("true")
		}
		return e.atom("false")
	case int:
		e.integer(int64(t))
	case int32:
		e.integer(int64(t))
	case uint8:
		e.integer(int64(t))
	case uint32:
		e.integer(int64(t))
	case uint64:
		if t > math.MaxInt64 {
			return e.bigInt(new(big.Int).SetUint64(t))
		}
		e.integer(int64(t))
	case *big.Int:
		if t.IsInt64() {
			e.integer(t.Int64())
			return nil
		}
		return e.bigInt(t)
	case float32:
		return e.float(float64(t))
	case string:
		return e.binary([]byte(t), nil)
	default:
		if e.Convert != nil {
			if converted, ok := e.Convert(t); ok {
				return e.encodeOne(converted)
			}
		}
		return fmt.Errorf("%T: %w", t, ErrType)
	}
	return nil
}
