package memory

import (
	"fmt"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/store"
	"nxvk/vulkan"
)

// Large is from which size memory on the host is taken outside the Go heap.
const Large = etf.LargeBinary

// Host gives values their memory on the host, within a limit that holds
// for all sessions of all devices that share it, and for what arrives. Memory
// that operations need while they run is on top of that. Its methods may be called
// from any goroutine.
type Host struct {
	*store.Budget
	pool *etf.Pool // freed memory for the next value of the size
}

// NewHost returns memory of at most limit bytes; 0 is no limit. Some of
// what is freed is kept for reuse beside it: 256 MiB, or an eighth of the limit
// where that is less.
func NewHost(limit int64) *Host {
	b := store.NewBudget(limit)
	return &Host{Budget: b, pool: etf.NewPool(int(min(256<<20, b.Limit()/8)))}
}

// ReturnIdle has freed memory go back to the system when it has not been reused for
// vulkan.IdleTime, or twice that at most. after runs a function later; nil is
// time.AfterFunc. It comes before the first use.
func (h *Host) ReturnIdle(after func(time.Duration, func())) {
	h.pool.Age(vulkan.IdleTime, after)
}

// Kept returns the bytes that wait for reuse.
func (h *Host) Kept() int { return h.pool.Kept() }

// Alloc returns a block of at least n bytes for data that arrives.
func (h *Host) Alloc(n int) (etf.Block, error) { return h.block(n, h.TakeEarly) }

// block returns a block whose size is taken by take.
func (h *Host) block(n int, take func(int64) error) (etf.Block, error) {
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
	of   *Host
	size int64
}

// Free gives the block back, and what it has taken.
func (b *hostBlock) Free() {
	b.Block.Free()
	b.of.Give(b.size)
}

// Fill gives a value n bytes of memory on the host with any contents, which begin and
// end at multiples of 8. Large pieces lie outside the Go heap.
func (h *Host) Fill(m *store.Storage, n int) error {
	whole := (n + 7) / 8 * 8
	if n < Large {
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
