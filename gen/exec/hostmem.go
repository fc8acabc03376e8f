package exec

import (
	"errors"
	"fmt"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/vulkan"
)

// large is from which size memory on the host is taken outside the Go heap.
const large = etf.LargeBinary

// HostMemory gives values their memory on the host, within a limit that holds
// for all sessions of all devices that share it, and for what arrives. Memory
// that operations need while they run is on top of that. Its methods may be called
// from any goroutine.
type HostMemory struct {
	*store.Budget
	pool *etf.Pool // freed memory for the next value of the size
}

// NewHostMemory returns memory of at most limit bytes; 0 is no limit. Some of
// what is freed is kept for reuse beside it: 256 MiB, or an eighth of the limit
// where that is less.
func NewHostMemory(limit int64) *HostMemory {
	b := store.NewBudget(limit)
	return &HostMemory{Budget: b, pool: etf.NewPool(int(min(256<<20, b.Limit()/8)))}
}

// ReturnIdle has freed memory go back to the system when it has not been reused for
// vulkan.IdleTime, or twice that at most. after runs a function later; nil is
// time.AfterFunc. It comes before the first use.
func (h *HostMemory) ReturnIdle(after func(time.Duration, func())) {
	h.pool.Age(vulkan.IdleTime, after)
}

// Kept returns the bytes that wait for reuse.
func (h *HostMemory) Kept() int { return h.pool.Kept() }

// Alloc returns a block of at least n bytes for data that arrives.
func (h *HostMemory) Alloc(n int) (etf.Block, error) { return h.block(n, h.TakeEarly) }

// block returns a block whose size is taken by take.
func (h *HostMemory) block(n int, take func(int64) error) (etf.Block, error) {
	size := int64(etf.BlockSize(n))
	if err := take(size); err != nil {
		return nil, err
	}
	b, err := h.pool.Alloc(n)
	if err != nil {
		h.Give(size)
		return nil, fmt.Errorf("allocate %d bytes: %w: %w", n, store.ErrOutOfMemory, err)
	}
	return &hostBlock{Block: b, of: h, size: size}, nil
}

// hostBlock is memory of the pool that a budget pays.
type hostBlock struct {
	etf.Block
	of   *HostMemory
	size int64
}

// Free gives the block back, and what it has taken.
func (b *hostBlock) Free() {
	b.Block.Free()
	b.of.Give(b.size)
}

// fill gives a value n bytes of memory on the host with any contents, which begin and
// end at multiples of 8. Large pieces lie outside the Go heap.
func (h *HostMemory) fill(m *store.Storage, n int) error {
	whole := (n + 7) / 8 * 8
	if n < large {
		if err := m.Take(h.Budget, int64(n)); err != nil {
			return err
		}
		m.Host = make([]byte, whole)[:n]
		return nil
	}
	b, err := h.block(whole, h.Take)
	if err != nil {
		return err
	}
	m.Host, m.Release = b.Bytes()[:n], b.Free
	return nil
}

// hostStorage takes n bytes on the host for a value, held once. When there are none, sessions
// are asked to free what they can first.
func (e *Executor) hostStorage(l *Queue, n int) (m *store.Storage, wait queue.Wait, err error) {
	m = &store.Storage{}
	if err := e.cfg.Host.fill(m, n); err != nil {
		wait, err = e.hostExhausted(l, err)
		return nil, wait, err
	}
	m.Retain()
	return m, 0, nil
}

// hostExhausted is what becomes of work for which the host has no memory: it waits for
// others to free theirs, or fails and names who holds most.
func (e *Executor) hostExhausted(l *Queue, err error) (wait queue.Wait, fault error) {
	if e.press(l) || e.sweep(l) {
		return queue.ForMemory, nil
	}
	return 0, e.outOfHost(err)
}

// outOfHost gives an error of the host's memory its kind.
func (e *Executor) outOfHost(err error) error {
	if !errors.Is(err, store.ErrOutOfMemory) {
		return &wire.Fault{Kind: wire.Internal, Err: err}
	}
	return &wire.Fault{Kind: wire.OutOfMemory, Err: fmt.Errorf("%w; %s", err, e.holders())}
}
