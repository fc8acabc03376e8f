// Package lru bounds caches that are maps: when one is full, a quarter of its entries go,
// those used least recently. What has been used since the clock ticked last is in use, and
// stays. An eviction sorts the entries, so that it costs n log n for a quarter of n.
//
// The package knows nothing of what is kept.
package lru

import (
	"cmp"
	"maps"
	"slices"
)

// Clock counts uses. It ticks when what has been used so far may go.
type Clock struct{ now uint64 }

// Tick ends the protection of what has been used so far.
func (c *Clock) Tick() { c.now++ }

// Use is when an entry of a cache was used last.
type Use struct{ at uint64 }

// Touch notes a use.
func (u *Use) Touch(c *Clock) { u.at = c.now }

func (u *Use) use() *Use { return u }

// Entry is what a cache keeps: it embeds a Use.
type Entry interface{ use() *Use }

// Evict makes room in a cache that has reached its bound. idle says of an entry that it may
// go; gone is told of each one that goes. Both may be nil.
func Evict[V Entry](m map[string]V, most int, c *Clock, idle func(V) bool, gone func(V)) {
	if len(m) < most {
		return
	}
	keys := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Compare(m[a].use().at, m[b].use().at)
	})
	left := max(1, len(keys)/4)
	for _, key := range keys {
		v := m[key]
		if left == 0 || v.use().at >= c.now {
			return
		}
		if idle != nil && !idle(v) {
			continue
		}
		left--
		delete(m, key)
		if gone != nil {
			gone(v)
		}
	}
}
