package fusion

import (
	"slices"

	"nxvk/synth/strided"
)

// traceKey identifies an element of a trace: a value and a view, or a literal and its type.
type traceKey struct {
	kind traceKeyKind
	id   uint64
	view strided.View
	hash uint64 // of the others
}

type traceKeyKind uint8

const (
	keyValue   traceKeyKind = iota // computed
	keyLoad                        // loaded
	keyLiteral                     // no view
)

// keyOf is the key of a value. The strides of the view must not change afterwards.
func keyOf(kind traceKeyKind, id uint64, v strided.View) traceKey {
	h := mix(mix(uint64(kind), id), uint64(v.Offset))
	for _, s := range v.Strides {
		h = mix(h, uint64(s))
	}
	return traceKey{kind, id, v, h}
}

// mix adds x to a hash, with the finalizer of MurmurHash3 (Appleby).
func mix(h, x uint64) uint64 {
	h = (h ^ x) * 0xff51afd7ed558ccd
	return h ^ h>>33
}

func (s *traceKey) equal(o *traceKey) bool {
	return s.hash == o.hash && s.kind == o.kind && s.id == o.id && s.view.Offset == o.view.Offset &&
		slices.Equal(s.view.Strides, o.view.Strides)
}

// traceKeys maps keys to expressions.
type traceKeys struct {
	list []metKey
	last map[uint64]int32 // the latest key of a hash; nil while there are few keys
}

type metKey struct {
	traceKey
	expr   int
	before int32 // the previous key of the same hash, or below zero
}

// fewKeys is the number up to which a linear search is faster than the hash.
const fewKeys = 8

// reset removes all keys.
func (s *traceKeys) reset() { s.list, s.last = s.list[:0], nil }

// find returns the expression of a key.
func (s *traceKeys) find(at *traceKey) (expr int, ok bool) {
	if s.last == nil {
		for i := range s.list {
			if s.list[i].equal(at) {
				return s.list[i].expr, true
			}
		}
		return 0, false
	}
	i, ok := s.last[at.hash]
	for ; ok && i >= 0; i = s.list[i].before {
		if s.list[i].equal(at) {
			return s.list[i].expr, true
		}
	}
	return 0, false
}

// add adds a key that is not there.
func (s *traceKeys) add(at *traceKey, expr int) {
	s.list = append(s.list, metKey{*at, expr, -1})
	switch n := len(s.list); {
	case s.last != nil:
		s.link(n - 1)
	case n > fewKeys:
		s.last = make(map[uint64]int32, 4*n)
		for i := range s.list {
			s.link(i)
		}
	}
}

// link adds key i to the chain of its hash.
func (s *traceKeys) link(i int) {
	at := &s.list[i]
	if before, ok := s.last[at.hash]; ok {
		at.before = before
	}
	s.last[at.hash] = int32(i)
}
