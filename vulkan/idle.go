package vulkan

import (
	"slices"
	"sync"
	"time"
)

// IdleTime is for how long at least a block that nothing uses is kept for the next
// buffers; after twice that at most it is the driver's again.
const IdleTime = 3 * time.Second

// idle gives back what nothing has used for a while. While any block, or staging
// memory, is unused it looks once an IdleTime: what was unused when it last looked, and
// has been since, goes.
type idle struct {
	after func(time.Duration, func()) // runs a function later
	keep  bool

	look sync.Mutex // held by a look

	mu      sync.Mutex
	armed   bool // a look is due
	ended   bool
	staging map[*staging]struct{} // those with memory
}

func (i *idle) init(o *Options) {
	i.keep, i.after = o.KeepMemory, o.After
	if i.after == nil {
		i.after = func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	}
	i.staging = make(map[*staging]struct{})
}

// watchIdle sees to it that the device looks again.
func (d *Device) watchIdle() {
	i := &d.mem.idle
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.keep || i.armed || i.ended {
		return
	}
	i.armed = true
	i.after(IdleTime, d.lookIdle)
}

// end lets no look begin, and returns when none is under way.
func (i *idle) end() {
	i.mu.Lock()
	i.ended = true
	i.mu.Unlock()
	i.look.Lock()
	defer i.look.Unlock()
}

// begin returns the rings of staging memory to look at, or false where no look may
// begin.
func (i *idle) begin() (rings []*staging, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.armed = false
	for g := range i.staging {
		rings = append(rings, g)
	}
	return rings, !i.ended
}

// lookIdle gives back what has been unused since it last looked.
func (d *Device) lookIdle() {
	i := &d.mem.idle
	i.look.Lock()
	defer i.look.Unlock()
	rings, ok := i.begin()
	if !ok || d.gone() != nil {
		return // on a lost device what looks done may still run
	}
	left := false
	for _, g := range rings {
		left = g.relax() || left
	}
	if d.mem.giveBack() || left {
		d.watchIdle()
	}
}

// giveBack destroys the blocks that were unused when it was last called and have been
// since. It reports whether others are unused.
func (m *memory) giveBack() (left bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := func(b *block) bool { return b.live == 0 && b.old }
	for _, p := range m.pools {
		if slices.ContainsFunc(p.blocks, old) {
			for c := range p.free {
				p.dissolve(c, old)
			}
			p.dropEmpty(old)
		}
		for _, b := range p.blocks {
			if b.live == 0 {
				b.old, left = true, true
			}
		}
	}
	return left
}

// holding notes that a ring of staging memory has some, or has none any more.
func (i *idle) holding(g *staging, some bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if some {
		i.staging[g] = struct{}{}
	} else {
		delete(i.staging, g)
	}
}
