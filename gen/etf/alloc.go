package etf

import (
	"math"
	"math/bits"
	"slices"
	"sync"
	"time"
)

// Block is a piece of memory outside the Go heap.
type Block interface {
	// Bytes returns the whole block.
	Bytes() []byte
	// Free gives the block back. The bytes must not be touched after it.
	Free()
}

// Allocator provides the memory for large binaries. Where it returns an error, the binary
// becomes a Lost and the stream goes on.
type Allocator interface {
	// Alloc returns a block of at least n bytes with any contents.
	Alloc(n int) (Block, error)
}

// Pool is an Allocator of anonymous mappings. It keeps freed blocks by size class,
// because the kernel's zeroing of fresh pages costs more than the copy from the socket.
// It keeps them for good unless Age is called.
type Pool struct {
	keep int

	mu    sync.Mutex
	kept  int               // bytes in free
	free  map[int][]*mapped // by class size, last freed last
	age   time.Duration     // 0 keeps what is freed
	after func(time.Duration, func())
	due   bool // a call of look is due
}

// NewPool returns a Pool that keeps at most keep bytes of freed blocks.
func NewPool(keep int) *Pool {
	return &Pool{keep: keep, free: make(map[int][]*mapped)}
}

// mapped is a block of a Pool.
type mapped struct {
	pool *Pool
	mem  []byte
	old  bool // it was kept when the pool last looked
}

// Age has the pool give blocks back to the system that nobody has taken for d. The pool
// looks once in d, so it may keep a block for twice as long. after runs a function later;
// nil is time.AfterFunc. Age comes before the first Alloc.
func (p *Pool) Age(d time.Duration, after func(time.Duration, func())) {
	if after == nil {
		after = func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	}
	p.age, p.after = d, after
}

// watch schedules a look at the blocks that are kept. The caller holds mu.
func (p *Pool) watch() {
	if p.age > 0 && p.kept > 0 && !p.due {
		p.due = true
		p.after(p.age, p.look)
	}
}

// look gives back the blocks that have been kept since the last look.
func (p *Pool) look() {
	p.mu.Lock()
	p.due = false
	var gone []*mapped
	for size, list := range p.free {
		n := 0
		for n < len(list) && list[n].old { // the last freed is the first taken
			n++
		}
		gone = append(gone, list[:n]...)
		p.kept -= n * size
		if list = slices.Delete(list, 0, n); len(list) == 0 {
			delete(p.free, size)
			continue
		}
		for _, m := range list {
			m.old = true
		}
		p.free[size] = list
	}
	p.watch()
	p.mu.Unlock()
	for _, m := range gone {
		unmapMemory(m.mem)
		m.mem = nil
	}
}

// Alloc returns a block of BlockSize(n) bytes.
func (p *Pool) Alloc(n int) (Block, error) {
	size := BlockSize(n)
	p.mu.Lock()
	if list := p.free[size]; len(list) > 0 {
		m := list[len(list)-1]
		p.free[size] = list[:len(list)-1]
		p.kept -= size
		p.mu.Unlock()
		return m, nil
	}
	p.mu.Unlock()
	mem, err := mapMemory(size)
	if err != nil {
		return nil, err
	}
	return &mapped{pool: p, mem: mem}, nil
}

// Kept returns the bytes of the blocks that are kept.
func (p *Pool) Kept() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept
}

func (m *mapped) Bytes() []byte { return m.mem }

func (m *mapped) Free() {
	p, size := m.pool, len(m.mem)
	p.mu.Lock()
	if p.kept+size <= p.keep {
		p.free[size] = append(p.free[size], m)
		p.kept += size
		m.old = false
		p.watch()
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	unmapMemory(m.mem)
	m.mem = nil
}

// BlockSize rounds n up to one of four steps in each doubling, in whole pages, so that
// at most a fifth of a block is unused. A size that cannot be rounded up stays as it is:
// there is no memory for it.
func BlockSize(n int) int {
	const page = 4096
	n = max(n, 4*page)
	step := 1 << max(bits.Len(uint(n-1))-3, 12)
	if n > math.MaxInt-step {
		return n
	}
	return (n + step - 1) &^ (step - 1)
}
