package memory

import "nxvk/vulkan/hazard"

// Memory that is freed while a batch that uses it is recorded is on the deferred free list of
// the recording until Submit. The recording itself may use it again at once: its commands run
// in order, and a hazard on the same region brings a barrier.

const (
	// deferredScan bounds the search in the list.
	deferredScan = 32
	// deferredFresh is how many bytes of a size may be on the list before some are used
	// again at the price of a barrier.
	deferredFresh = 64 << 20
)

// Reuse takes a region for n bytes out of the deferred free list, one that needs no barrier if
// there is any. It returns nil where there is none, or fresh memory is better. t has the
// accesses of the batch; nil means that there are none.
func (c *Recording) Reuse(n uint64, t *hazard.Tracker) *Region {
	m := c.m
	if n > m.d.Info.Limits.MaxAllocation {
		return nil
	}
	n = max(n, 1)
	class, size := -1, roundUp(n, granule)
	if n <= largest {
		class = classOf(n)
		size = classSize(class)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	last := len(c.deferred) - 1
	spare, total := -1, size
	for i := last; i >= 0 && i > last-deferredScan; i-- {
		r := c.deferred[i]
		if r.class != class || r.size != size || r.blk.pool != m.Device || !c.deferring(r) {
			continue
		}
		if t != nil && !t.Conflicts(r.id, 0, r.size, hazard.Write) {
			return c.takeDeferred(i)
		}
		spare, total = i, total+size
	}
	if spare < 0 || total <= deferredFresh {
		return nil
	}
	return c.takeDeferred(spare)
}

// takeDeferred takes a region out of the list.
func (c *Recording) takeDeferred(i int) *Region {
	last := len(c.deferred) - 1
	r := c.deferred[i]
	c.deferred[i] = c.deferred[last]
	c.deferred = c.deferred[:last]
	r.state = live
	c.m.count(r)
	return r
}

// deferring reports whether a region waits for this batch and for nothing else.
func (c *Recording) deferring(r *Region) bool {
	return r.state == released && r.refs.Load() == 1 && r.user.Load() == c
}

// clearDeferred empties the list at the end of a batch: its regions are reclaimed like all
// that the batch used.
func (c *Recording) clearDeferred() {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	clear(c.deferred)
	c.deferred = c.deferred[:0]
}
