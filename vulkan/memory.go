package vulkan

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"nxvk/vulkan/vk"
)

// memory hands out regions of blocks. There is a pool for what the device
// works on, one for what the host writes and one for what it reads; where one
// memory type does for several, they are the same pool. A driver may map less
// than the whole heap: overflow is then device memory that cannot be mapped,
// and nil elsewhere.
type memory struct {
	d                    *Device
	device, host, reader *pool
	overflow             *pool
	idle                 idle

	mu       sync.Mutex
	pools    []*pool
	reserved uint64
	heaps    [16]uint64 // reserved by heap
	inUse    uint64
	peak     uint64
	buffers  int64
	ids      uint64
}

// pool is the memory of one type.
type pool struct {
	mem                   *memory
	kind                  int // index of the memory type
	blockSize             uint64
	mapped, local, cached bool
	blocks                []*block
	free                  [classCount][]*region

	// The driver had no such block, so the next goes to the overflow at once.
	refused uint64 // bytes, 0 when it refused none
	refusal error
}

// region is a piece of a block, in use or waiting in the free list of its
// class. A region with a class keeps its place in the block for good.
type region struct {
	id        uint64
	blk       *block
	off, size uint64
	class     int // -1: cut from the block and given back to it
	slab      *slab
	uses      uses
	gen       uint64                 // how often it has been handed out, but for what a stream revives
	refs      atomic.Int32           // uses recorded and not submitted, and open readbacks
	state     state                  // guarded by memory.mu
	user      atomic.Pointer[Stream] // whose batch used it last, nil once submitted
}

// state of a region: a released one is reclaimed when its refs reach 0.
type state int

const (
	live state = iota
	released
	pooled
)

// slab is a piece of a block cut into regions of one class.
type slab struct {
	blk     *block
	span    span
	regions []region
	used    int
}

// unused reports whether the device is done with a region.
func (m *memory) unused(r *region) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return r.uses.idle()
}

// fits says whose memory may be had: of what is free, that which the device is done
// with, or that which does not make a stream wait for another one.
type fits func(*uses) bool

// alloc returns a region of at least n bytes, for work of a stream or, where that is nil,
// of any. With idle, no submitted work uses it any more, so that the host may write it.
func (m *memory) alloc(p *pool, n uint64, idle bool, f *flow) (*region, error) {
	if limit := m.d.info.Limits.MaxAllocation; n > limit {
		return nil, fmt.Errorf("allocate %d bytes: %w, which is %d bytes in one buffer", n, ErrTooLarge, limit)
	}
	var fit fits
	switch {
	case idle:
		fit = (*uses).idle
	case f != nil:
		fit = func(u *uses) bool { return u.free(f, len(m.d.queue.lines)) }
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n = max(n, 1)
	r, err := m.find(p, n, fit)
	if errors.Is(err, ErrOutOfMemory) && p == m.device && m.overflow != nil {
		r, err = m.find(m.overflow, n, fit)
	}
	if errors.Is(err, ErrOutOfMemory) && !idle {
		if r, again := m.find(p, n, nil); again == nil {
			m.given(r)
			return r, nil
		}
	}
	if errors.Is(err, ErrOutOfMemory) {
		// What the device is about to leave can be had by waiting. Whoever records may
		// have others to serve, and does not.
		m.trim()
		switch held := m.held(); {
		case held && f != nil && !idle:
			return nil, fmt.Errorf("%w: %w", ErrBusy, err)
		case held:
			m.d.queue.waitAll()
			m.trim()
		}
		r, err = m.find(p, n, fit)
	}
	if err != nil {
		return nil, err
	}
	m.given(r)
	return r, nil
}

// given notes that a region is in use that was free.
func (m *memory) given(r *region) {
	r.blk.live++
	r.blk.old = false
	r.gen++
	r.uses.forget()
	m.taken(r)
}

// taken counts a region handed out.
func (m *memory) taken(r *region) {
	m.inUse += r.size
	m.peak = max(m.peak, m.inUse)
	m.buffers++
	m.d.counts.allocations.Add(1)
}

func (m *memory) find(p *pool, n uint64, fit fits) (*region, error) {
	if n > largest {
		blk, s, err := p.carve(roundUp(n, granule), fit)
		if err != nil {
			return nil, err
		}
		m.ids++
		r := &region{id: m.ids, blk: blk, off: s.off, size: s.size, class: -1}
		r.uses = s.uses
		return r, nil
	}
	c := classOf(n)
	if r := p.pop(c, fit); r != nil {
		return r, nil
	}
	if err := p.addSlab(c, fit); err != nil {
		return nil, err
	}
	return p.pop(c, fit), nil
}

// popScan bounds the search for a free region that fits.
const popScan = 64

// pop takes a free region of a class that fits: of those freed last, whose memory
// caches still hold, or of those freed first, which the device is done with soonest.
func (p *pool) pop(class int, fit fits) *region {
	list := p.free[class]
	n := len(list)
	for k := range min(n, popScan) {
		i := n - 1 - k
		if fit == nil || fit(&list[i].uses) {
			return p.pick(class, i)
		}
		if k < n/2 && fit(&list[k].uses) {
			return p.pick(class, k)
		}
	}
	return nil
}

// pick takes a free region out of the list of its class, whose order stays.
func (p *pool) pick(class, i int) *region {
	r := p.free[class][i]
	p.free[class] = slices.Delete(p.free[class], i, i+1)
	r.state = live
	r.slab.used++
	return r
}

// addSlab cuts a slab into free regions of a class.
func (p *pool) addSlab(class int, fit fits) error {
	blk, s, err := p.carve(slabSize(class), fit)
	if err != nil {
		return err
	}
	size := classSize(class)
	sl := &slab{blk: blk, span: s, regions: make([]region, s.size/size)}
	for i := len(sl.regions) - 1; i >= 0; i-- {
		r := &sl.regions[i]
		p.mem.ids++
		r.id, r.blk, r.off, r.size = p.mem.ids, blk, s.off+uint64(i)*size, size
		r.class, r.slab, r.state = class, sl, pooled
		r.uses = s.uses.and(&uses{})
		p.free[class] = append(p.free[class], r)
	}
	return nil
}

// carve cuts size bytes out of a block, taking another block when none fits.
func (p *pool) carve(size uint64, fit fits) (*block, span, error) {
	for _, b := range p.blocks {
		if i := b.fit(size, fit); i >= 0 {
			return b, b.take(i, size), nil
		}
	}
	if p.refused > 0 && size >= p.refused {
		return nil, span{}, p.refusal
	}
	n := max(p.blockSize, size)
	if size > p.blockSize/2 {
		n = size // large buffers get a block of their own size
	}
	b, err := p.newBlock(n)
	for errors.Is(err, ErrOutOfMemory) && n > size {
		n = max(n/2/granule*granule, size)
		b, err = p.newBlock(n)
	}
	if err != nil {
		return nil, span{}, err
	}
	p.blocks = append(p.blocks, b)
	return b, b.take(0, size), nil
}

// release takes a region back from its buffer. While recorded work or a
// readback refers to it, it stays; unref reclaims it then.
func (m *memory) release(r *region) {
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
	} else if s := r.user.Load(); s != nil {
		s.limbo = append(s.limbo, r)
	}
}

// unref drops one use of a region.
func (m *memory) unref(r *region) {
	if r.refs.Add(-1) > 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.state == released && r.refs.Load() == 0 {
		m.reclaim(r)
	}
}

func (m *memory) reclaim(r *region) {
	r.state = pooled
	if r.blk.live--; r.blk.live == 0 {
		m.d.watchIdle()
	}
	if r.class < 0 {
		r.blk.give(span{r.off, r.size, r.uses})
		return
	}
	r.slab.used--
	p := r.blk.pool
	p.free[r.class] = append(p.free[r.class], r)
}

// admit refuses a block beyond the limit of Open or the budget of the heap.
func (m *memory) admit(p *pool, size uint64) error {
	d := m.d
	if l := d.opts.MemoryLimit; l > 0 && m.reserved+size > l {
		return fmt.Errorf("allocate %d bytes: %w: %d of the limit of %d bytes are reserved", size, ErrOutOfMemory, m.reserved, l)
	}
	h := d.raw.Types[p.kind].Heap
	if heap := d.raw.Heaps[h].Size; m.heaps[h]+size > heap {
		// Software devices would go on until the system kills the process.
		return fmt.Errorf("allocate %d bytes: %w: %d of the heap of %d bytes are reserved", size, ErrOutOfMemory, m.heaps[h], heap)
	}
	if d.info.Features.MemoryBudget {
		budget, usage := vk.GetMemoryBudget(d.in, d.gpu)
		if budget[h] > 0 && usage[h]+size > budget[h] {
			return fmt.Errorf("allocate %d bytes: %w: %d of the budget of %d bytes are used", size, ErrOutOfMemory, usage[h], budget[h])
		}
	}
	return nil
}

func (m *memory) stats(s *Stats) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.InUse, s.Reserved, s.Peak, s.Buffers = m.inUse, m.reserved, m.peak, m.buffers
	s.Pooled = m.reserved - m.inUse
}

func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.pools {
		for _, b := range p.blocks {
			b.destroy()
		}
		p.blocks = nil
	}
}
