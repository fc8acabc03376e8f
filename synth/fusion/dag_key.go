package fusion

import (
	"slices"

	"nxvk/synth/strided"
)

// exprKey identifies an expression of a DAG: a value and a view, or a literal and its type.
type exprKey struct {
	kind exprKeyKind
	id   uint64
	view strided.View
	hash uint64 // of the others
}

type exprKeyKind uint8

const (
	keyValue   exprKeyKind = iota // computed
	keyLoad                       // loaded
	keyLiteral                    // no view
)

// keyOf is the key of a value. The strides of the view must not change afterwards.
func keyOf(kind exprKeyKind, id uint64, v strided.View) exprKey {
	h := mix(mix(uint64(kind), id), uint64(v.Offset))
	for _, s := range v.Strides {
		h = mix(h, uint64(s))
	}
	return exprKey{kind, id, v, h}
}

// mix adds x to a hash, with the finalizer of MurmurHash3 (Appleby).
func mix(h, x uint64) uint64 {
	h = (h ^ x) * 0xff51afd7ed558ccd
	return h ^ h>>33
}

func (s *exprKey) equal(o *exprKey) bool {
	return s.hash == o.hash && s.kind == o.kind && s.id == o.id && s.view.Offset == o.view.Offset &&
		slices.Equal(s.view.Strides, o.view.Strides)
}

// exprKeys maps keys to expressions.
type exprKeys struct {
	list []metKey
	last map[uint64]int32 // the latest key of a hash; nil while there are few keys
}

type metKey struct {
	exprKey
	expr   int
	before int32 // the previous key of the same hash, or below zero
}

// fewKeys is the number up to which a linear search is faster than the hash.
const fewKeys = 8

// reset removes all keys.
func (s *exprKeys) reset() { s.list, s.last = s.list[:0], nil }

// find returns the expression of a key.
func (s *exprKeys) find(at *exprKey) (expr int, ok bool) {
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
func (s *exprKeys) add(at *exprKey, expr int) {
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
func (s *exprKeys) link(i int) {
	at := &s.list[i]
	if before, ok := s.last[at.hash]; ok {
		at.before = before
	}
	s.last[at.hash] = int32(i)
}
