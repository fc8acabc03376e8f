package fusion

import (
	"slices"

	"nxvk/synth/strided"
)

// traceKey is where a trace meets a value of a graph: the element that a view leads to,
// or a literal in a type.
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

// keyOf is the site of a value. The strides of the view must stay what they are.
func keyOf(kind traceKeyKind, id uint64, v strided.View) traceKey {
	h := mix(mix(uint64(kind), id), uint64(v.Offset))
	for _, s := range v.Strides {
		h = mix(h, uint64(s))
	}
	return traceKey{kind, id, v, h}
}

// mix adds x to a hash, as MurmurHash3 (Appleby) ends.
func mix(h, x uint64) uint64 {
	h = (h ^ x) * 0xff51afd7ed558ccd
	return h ^ h>>33
}

func (s *traceKey) equal(o *traceKey) bool {
	return s.hash == o.hash && s.kind == o.kind && s.id == o.id && s.view.Offset == o.view.Offset &&
		slices.Equal(s.view.Strides, o.view.Strides)
}

// traceKeys has the expressions of a trace by where their values were met.
type traceKeys struct {
	list []metKey
	last map[uint64]int32 // of a hash, the site met last; nil while there are few
}

type metKey struct {
	traceKey
	expr   int
	before int32 // the site met before this one with the same hash, or below zero
}

// fewSites are looked through faster than found by their hash.
const fewSites = 8

// reset forgets all sites.
func (s *traceKeys) reset() { s.list, s.last = s.list[:0], nil }

// find returns the expression of a site.
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

// add adds a site that has not been met.
func (s *traceKeys) add(at *traceKey, expr int) {
	s.list = append(s.list, metKey{*at, expr, -1})
	switch n := len(s.list); {
	case s.last != nil:
		s.link(n - 1)
	case n > fewSites:
		s.last = make(map[uint64]int32, 4*n)
		for i := range s.list {
			s.link(i)
		}
	}
}

// link makes site i the last one of its hash.
func (s *traceKeys) link(i int) {
	at := &s.list[i]
	if before, ok := s.last[at.hash]; ok {
		at.before = before
	}
	s.last[at.hash] = int32(i)
}
