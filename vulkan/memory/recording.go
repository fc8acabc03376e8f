package memory

import (
	"slices"

	"nxvk/vulkan/submit"
)

// Recording holds the regions that a batch uses while it is recorded. It is for the goroutine
// that records; streams that use the same memory share one goroutine.
type Recording struct {
	m     *Memory
	flow  *submit.Flow
	flush func()

	used     []*Region            // one ref each
	wrote    writes               // those that commands write
	reads    []*submit.Submission // of other flows, whose results the host reads
	deferred []*Region            // of used, freed since; guarded by Memory.mu
}

// Record returns a recording of a flow. flush submits what the flow has recorded, for another
// recording that uses the same memory.
func (m *Memory) Record(f *submit.Flow, flush func()) *Recording {
	return &Recording{m: m, flow: f, flush: flush}
}

// Use keeps a region until the batch is submitted. Commands of another recording that use it
// come first, so they are submitted now.
func (c *Recording) Use(r *Region) {
	if !r.promise.Load().by(c.flow) {
		c.flushOther(r)
		r.user.Store(c)
	}
	r.refs.Add(1)
	c.used = append(c.used, r)
}

// flushOther submits what another recording has recorded with a region, unless somebody else orders what both do with it.
func (c *Recording) flushOther(r *Region) {
	if other := r.user.Load(); other != nil && other != c && !other.flow.Sibling(c.flow) {
		other.flush()
	}
}

// Write notes that a command writes a region in use.
func (c *Recording) Write(r *Region) { c.wrote = append(c.wrote, written{r, r.gen}) }

// Read makes the next submission of the flow come after the one that writes a region, so that
// the host can read the region when it is complete.
func (c *Recording) Read(r *Region) {
	c.flushOther(r)
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if w := r.uses.wrote; w != nil && w.Flow != c.flow && !w.Complete(true) {
		w.Need()
		c.reads = append(c.reads, w)
	}
}

// Computes reports whether the device has yet to complete a submission of the flow that writes a
// region.
func (c *Recording) Computes(r *Region) bool {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	w := r.uses.wrote
	return w != nil && w.Flow == c.flow && !w.Complete(true)
}

// Reads returns the submissions that Read has noted, and forgets them.
func (c *Recording) Reads() []*submit.Submission {
	list := c.reads
	c.reads = nil
	return list
}

// Follow makes s the latest submission that uses the regions. It returns the submissions of
// other flows that must reach the device before s.
func (c *Recording) Follow(s *submit.Submission) (deps []*submit.Submission) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	deps = c.reads
	need := func(u *submit.Submission) bool {
		if u.Flow != c.flow && !u.Flow.Sibling(c.flow) && !u.Complete(false) && !slices.Contains(deps, u) {
			u.Need()
			deps = append(deps, u)
		}
		return true
	}
	for _, w := range c.wrote {
		if p := w.r.promise.Load(); p.by(c.flow) {
			p.before.each(need)
			p.add(s)
			continue
		}
		w.r.uses.each(need)
		w.r.uses.write(s)
	}
	for _, r := range c.used {
		if p := r.promise.Load(); p.by(c.flow) {
			p.before.each(need)
			p.add(s)
			continue
		}
		if u := r.uses.wrote; u != s {
			if u != nil {
				need(u)
			}
			r.uses.read(s)
		}
	}
	return deps
}

// Settle ends a batch: its regions are no longer kept.
func (c *Recording) Settle() {
	c.clearDeferred()
	for _, r := range c.used {
		r.user.CompareAndSwap(c, nil)
		c.m.Unref(r)
	}
	clear(c.used)
	c.used = c.used[:0]
	clear(c.wrote)
	c.wrote = c.wrote[:0]
	c.reads = nil
}

// written is a region that a batch writes, and the buffer that it belonged to then.
type written struct {
	r   *Region
	gen uint64
}

// writes are the regions that a batch writes.
type writes []written

// Writes returns the regions that the batch writes, for the scheduler.
func (c *Recording) Writes() submit.Wanted {
	if len(c.wrote) == 0 {
		return nil
	}
	return slices.Clone(c.wrote)
}

// Live reports whether there are buffers in memory that the batch writes.
func (c *Recording) Live() bool {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	return slices.ContainsFunc(c.wrote, func(w written) bool { return w.r.gen == w.gen && w.r.state == live })
}

// Wanted reports whether there are buffers in the memory, or recorded commands or readbacks
// that use it.
func (ws writes) Wanted() bool {
	m := ws[0].r.blk.pool.mem
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(ws, func(w written) bool {
		return w.r.gen == w.gen && (w.r.state == live || w.r.refs.Load() > 0)
	})
}
