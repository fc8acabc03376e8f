package memory

import (
	"slices"
	"sync"
	"time"

	"nxvk/vulkan/logical"
)

// IdleTime is how long at least a block that nothing uses is kept for the next buffers. After
// at most twice that time it returns to the driver.
const IdleTime = 3 * time.Second

// aging returns unused blocks to the driver. While there are any, it looks once in IdleTime:
// blocks that were unused at the last look, and have been since, go.
type aging struct {
	after func(time.Duration, func()) // calls a function later
	keep  bool

	look sync.Mutex // held during a look

	mu      sync.Mutex
	pending bool // a look is due
	ended   bool
}

func (a *aging) init(o *logical.Options) {
	a.keep, a.after = o.KeepMemory, o.After
	if a.after == nil {
		a.after = func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	}
}

// watchUnused makes sure that a look is due.
func (m *Memory) watchUnused() {
	a := &m.aging
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.keep || a.pending || a.ended {
		return
	}
	a.pending = true
	a.after(IdleTime, m.lookForUnused)
}

// StopAging keeps all blocks from now on, and returns when no look is under way.
func (m *Memory) StopAging() {
	a := &m.aging
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	a.look.Lock()
	defer a.look.Unlock()
}

// begin reports whether a look may begin.
func (a *aging) begin() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending = false
	return !a.ended
}

// lookForUnused is a look.
func (m *Memory) lookForUnused() {
	a := &m.aging
	a.look.Lock()
	defer a.look.Unlock()
	if !a.begin() || m.d.Gone() != nil {
		return // on a lost device, work that counts as complete may still run
	}
	if m.dropUnused() {
		m.watchUnused()
	}
}

// dropUnused destroys the blocks that were unused when it was last called and have been
// since. It reports whether other blocks are unused.
func (m *Memory) dropUnused() (left bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := func(b *block) bool { return b.live == 0 && b.unused }
	for _, p := range m.pools {
		if slices.ContainsFunc(p.blocks, old) {
			for c := range p.free {
				p.dissolve(c, old)
			}
			p.dropEmpty(old)
		}
		for _, b := range p.blocks {
			if b.live == 0 {
				b.unused, left = true, true
			}
		}
	}
	return left
}
