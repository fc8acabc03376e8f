// Package lru bounds caches: when one is full, the entries go that were used least recently. An entry
// that was used since the last tick of the cache's clock is in use, and stays. Look-up, use and
// eviction take constant time: the entries are in a list, in the order of their latest uses.
//
// The package knows nothing of what is kept.
package lru

import "iter"

// Entry is what a cache keeps: it embeds a Use.
type Entry interface{ use() *Use }

// Use is when an entry of a cache was used last.
type Use struct {
	key        string
	at         uint64
	prev, next *Use
}

func (u *Use) use() *Use { return u }

// Cache has entries by key. The zero Cache is empty.
type Cache[V Entry] struct {
	byKey       map[string]V
	now         uint64
	first, last *Use // the one used least recently first
}

// Tick ends the protection of what has been used so far.
func (c *Cache[V]) Tick() { c.now++ }

// Len returns how many entries there are.
func (c *Cache[V]) Len() int { return len(c.byKey) }

// Get returns the entry of a key. That is no use.
func (c *Cache[V]) Get(key string) (v V, ok bool) {
	v, ok = c.byKey[key]
	return v, ok
}

// Find is Get for a key that is no string yet.
func (c *Cache[V]) Find(key []byte) (v V, ok bool) {
	v, ok = c.byKey[string(key)]
	return v, ok
}

// Touch notes a use of an entry. One that has left the cache may be used, too.
func (c *Cache[V]) Touch(v V) {
	u := v.use()
	if u.at = c.now; u == c.last || u.prev == nil && u != c.first {
		return
	}
	c.unlink(u)
	c.link(u)
}

// Add keeps an entry by a key that has none. That is a use.
func (c *Cache[V]) Add(key string, v V) {
	if c.byKey == nil {
		c.byKey = make(map[string]V)
	}
	c.byKey[key] = v
	u := v.use()
	u.key, u.at = key, c.now
	c.link(u)
}

// Delete lets go of the entry of a key, if there is one.
func (c *Cache[V]) Delete(key string) {
	if v, ok := c.byKey[key]; ok {
		delete(c.byKey, key)
		c.unlink(v.use())
	}
}

// All lists the entries in no order.
func (c *Cache[V]) All() iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, v := range c.byKey {
			if !yield(v) {
				return
			}
		}
	}
}

// Clear lets go of all entries.
func (c *Cache[V]) Clear() {
	for _, v := range c.byKey {
		c.unlink(v.use())
	}
	clear(c.byKey)
}

// mostBusy bounds the entries that one call of Evict finds busy.
const mostBusy = 64

// Evict makes room for one more entry in a cache of most. idle says of an entry that it may go:
// where it may not, that is a use. gone is told of each one that goes. Both may be nil. The cache
// is larger than most where entries are busy or in use.
func (c *Cache[V]) Evict(most int, idle func(V) bool, gone func(V)) {
	for busy := 0; len(c.byKey) >= most && busy < mostBusy; {
		u := c.first
		if u == nil || u.at >= c.now {
			return
		}
		v := c.byKey[u.key]
		if idle != nil && !idle(v) {
			c.Touch(v)
			busy++
			continue
		}
		c.Delete(u.key)
		if gone != nil {
			gone(v)
		}
	}
}

// link makes a use the latest one.
func (c *Cache[V]) link(u *Use) {
	if u.prev = c.last; u.prev != nil {
		u.prev.next = u
	} else {
		c.first = u
	}
	c.last = u
}

func (c *Cache[V]) unlink(u *Use) {
	if u.prev != nil {
		u.prev.next = u.next
	} else {
		c.first = u.next
	}
	if u.next != nil {
		u.next.prev = u.prev
	} else {
		c.last = u.prev
	}
	u.prev, u.next = nil, nil
}
