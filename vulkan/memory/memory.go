package memory

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"nxvk/vulkan/logical"
	"nxvk/vulkan/submit"
	"nxvk/vulkan/vk"
)

// Memory allocates regions of blocks. There is a pool for memory that kernels work on, one
// for memory that the host writes and one for memory that the host reads. Where one memory
// type serves several purposes, they share a pool. Its methods may be called from any
// goroutine.
type Memory struct {
	Device, Host, Reader *Pool

	d        *logical.Device
	q        *submit.Scheduler
	overflow *Pool // device memory that cannot be mapped, where a driver maps less than the heap; or nil
	aging    aging

	mu       sync.Mutex
	pools    []*Pool
	reserved uint64
	heaps    [16]uint64 // reserved by heap
	inUse    uint64
	peak     uint64
	buffers  int64
	ids      uint64
}

// suitable reports whether free memory with these uses can be handed out.
type suitable func(*Uses) bool

// Alloc returns a region of at least n bytes of a pool, for work of a flow, or of any flow
// where f is nil. With idle, no submitted work uses the region, so that the host may write it.
// Without room, the error wraps [logical.ErrOutOfMemory], and [logical.ErrBusy] where waiting
// for the device would help a flow.
func (m *Memory) Alloc(p *Pool, n uint64, idle bool, f *submit.Flow) (*Region, error) {
	if limit := m.d.Info.Limits.MaxAllocation; n > limit {
		return nil, fmt.Errorf("allocate %d bytes: %w, which is %d bytes in one buffer", n, logical.ErrTooLarge, limit)
	}
	var ok suitable
	switch {
	case idle:
		ok = (*Uses).complete
	case f != nil:
		ok = func(u *Uses) bool { return u.freeFor(f, m.q.Timelines()) }
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n = max(n, 1)
	r, err := m.find(p, n, ok)
	if errors.Is(err, logical.ErrOutOfMemory) && p == m.Device && m.overflow != nil {
		r, err = m.find(m.overflow, n, ok)
	}
	if errors.Is(err, logical.ErrOutOfMemory) && !idle {
		if r, again := m.find(p, n, nil); again == nil {
			m.handOut(r)
			return r, nil
		}
	}
	if errors.Is(err, logical.ErrOutOfMemory) {
		// Waiting frees the memory that running work uses. A caller that records for a
		// flow has others to serve, and does not wait.
		m.trim()
		switch held := m.held(); {
		case held && f != nil && !idle:
			return nil, fmt.Errorf("%w: %w", logical.ErrBusy, err)
		case held:
			m.q.WaitAll()
			m.trim()
		}
		r, err = m.find(p, n, ok)
	}
	if err != nil {
		return nil, err
	}
	m.handOut(r)
	return r, nil
}

// handOut notes that a region is in use that was free.
func (m *Memory) handOut(r *Region) {
	r.blk.live++
	r.blk.unused = false
	r.gen++
	r.uses.forgetContent()
	m.count(r)
}

// count adds a region to the statistics.
func (m *Memory) count(r *Region) {
	m.inUse += r.size
	m.peak = max(m.peak, m.inUse)
	m.buffers++
	m.d.Counts.Allocations.Add(1)
}

// find returns a free region of at least n bytes, with a block from the driver where none is
// suitable.
func (m *Memory) find(p *Pool, n uint64, ok suitable) (*Region, error) {
	if n > largest {
		blk, s, err := p.carve(roundUp(n, granule), ok)
		if err != nil {
			return nil, err
		}
		m.ids++
		r := &Region{id: m.ids, blk: blk, off: s.off, size: s.size, class: -1}
		r.uses = s.uses
		return r, nil
	}
	c := classOf(n)
	if r := p.pop(c, ok); r != nil {
		return r, nil
	}
	if err := p.addSlab(c, ok); err != nil {
		return nil, err
	}
	return p.pop(c, ok), nil
}

// Release takes a region back from its buffer. It stays while recorded work or a readback
// refers to it; Unref reclaims it then.
func (m *Memory) Release(r *Region) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.state != live {
		panic("BUG: a region released twice")
	}
	r.state = released
	m.inUse -= r.size
	m.buffers--
	if r.refs.Load() == 0 {
		m.reclaim(r)
	} else if c := r.user.Load(); c != nil {
		c.deferred = append(c.deferred, r)
	}
}

// Unref drops a reference to a region.
func (m *Memory) Unref(r *Region) {
	if r.refs.Add(-1) > 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.state == released && r.refs.Load() == 0 {
		m.reclaim(r)
	}
}

// reclaim makes a region free.
func (m *Memory) reclaim(r *Region) {
	r.state = free
	if r.blk.live--; r.blk.live == 0 {
		m.watchUnused()
	}
	if r.class < 0 {
		r.blk.give(span{r.off, r.size, r.uses})
		r.blk.pool.dropImported()
		return
	}
	r.slab.used--
	p := r.blk.pool
	p.free[r.class] = append(p.free[r.class], r)
}

// Idle reports whether neither recorded nor submitted work uses a region.
func (m *Memory) Idle(r *Region) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return r.refs.Load() == 0 && r.uses.complete()
}

// Err returns why the content of a region was never computed; nil where it was, or will be.
func (m *Memory) Err(r *Region) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := r.user.Load(); c != nil && slices.Contains(c.wrote, written{r, r.gen}) {
		return nil // a recorded command writes it
	}
	return r.uses.wrote.Err()
}

// admit refuses a block beyond the limit of Open or the budget of the heap.
func (m *Memory) admit(p *Pool, size uint64) error {
	d := m.d
	if l := d.Options.MemoryLimit; l > 0 && m.reserved+size > l {
		return fmt.Errorf("allocate %d bytes: %w: %d of the limit of %d bytes are reserved", size, logical.ErrOutOfMemory, m.reserved, l)
	}
	h := d.Raw.Types[p.kind].Heap
	if heap := d.Raw.Heaps[h].Size; m.heaps[h]+size > heap {
		// Software devices would go on until the system kills the process.
		return fmt.Errorf("allocate %d bytes: %w: %d of the heap of %d bytes are reserved", size, logical.ErrOutOfMemory, m.heaps[h], heap)
	}
	if d.Info.Features.MemoryBudget {
		budget, usage := vk.GetMemoryBudget(d.Instance, d.GPU)
		if budget[h] > 0 && usage[h]+size > budget[h] {
			return fmt.Errorf("allocate %d bytes: %w: %d of the budget of %d bytes are used", size, logical.ErrOutOfMemory, usage[h], budget[h])
		}
	}
	return nil
}

// Stats are the bytes and buffers of a device.
type Stats struct {
	InUse, Reserved, Peak uint64
	Buffers               int64
	Budget                uint64 // 0 where the system does not say
}

// Stats returns the current numbers, the budget too where that is asked for.
func (m *Memory) Stats(withBudget bool) Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Stats{InUse: m.inUse, Reserved: m.reserved, Peak: m.peak, Buffers: m.buffers}
	if withBudget && m.d.Info.Features.MemoryBudget {
		budget, _ := vk.GetMemoryBudget(m.d.Instance, m.d.GPU)
		s.Budget = budget[m.d.Raw.Types[m.Device.kind].Heap]
	}
	return s
}

// Close gives all blocks back to the driver. The device must have completed all work.
func (m *Memory) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.pools {
		for _, b := range p.blocks {
			b.destroy()
		}
		p.blocks = nil
	}
}
