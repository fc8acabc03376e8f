package vulkan

import (
	"slices"
	"sync"
	"time"
)

// IdleTime is for how long at least a block that nothing uses is kept for the next
// buffers; after twice that at most it is the driver's again.
const IdleTime = 3 * time.Second

// idle gives back what nothing has used for a while. While any block is unused it looks once an IdleTime: what was unused when it last looked, and
// has been since, goes.
type idle struct {
	after func(time.Duration, func()) // runs a function later
	keep  bool

	look sync.Mutex // held by a look

	mu    sync.Mutex
	armed bool // a look is due
	ended bool
}

func (i *idle) init(o *Options) {
	i.keep, i.after = o.KeepMemory, o.After
	if i.after == nil {
		i.after = func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	}
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

// begin reports whether a look may begin.
func (i *idle) begin() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.armed = false
	return !i.ended
}

// lookIdle gives back what has been unused since it last looked.
func (d *Device) lookIdle() {
	i := &d.mem.idle
	i.look.Lock()
	defer i.look.Unlock()
	if !i.begin() || d.gone() != nil {
		return // on a lost device what looks done may still run
	}
	if d.mem.giveBack() {
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
