package memory

import (
	"sync/atomic"

	"nxvk/vulkan/vk"
)

// Region is a piece of a block: the memory of one buffer, or free. A region with a size class
// keeps its place in the block until its slab is dissolved.
type Region struct {
	id        uint64
	blk       *block
	off, size uint64
	class     int // -1: cut from the block, and joined with it when free
	slab      *slab
	uses      Uses
	gen       uint64                    // how often it was handed out, except by a Recording that takes it back
	refs      atomic.Int32              // uses that are recorded and not submitted, and open readbacks
	state     state                     // guarded by Memory.mu
	promise   atomic.Pointer[Promise]   // that has not been kept
	user      atomic.Pointer[Recording] // whose batch used it last; nil once that is submitted
}

// state of a region. A released one is reclaimed when it has no more refs.
type state int

const (
	live state = iota
	released
	free
)

// ID tells the region from all others.
func (r *Region) ID() uint64 { return r.id }

// Pool returns the pool of the region.
func (r *Region) Pool() *Pool { return r.blk.pool }

// Buffer returns the Vulkan buffer of the block, and where the region begins in it.
func (r *Region) Buffer() (b vk.Buffer, offset uint64) { return r.blk.buffer, r.off }

// Address returns the address that kernels see, 0 on a device without buffer device addresses.
func (r *Region) Address() uint64 {
	if r.blk.addr == 0 {
		return 0
	}
	return r.blk.addr + r.off
}

// Bytes returns the first n bytes as the host sees them, nil where it does not see the memory.
func (r *Region) Bytes(n int) []byte {
	if r.blk.mapped == nil {
		return nil
	}
	return r.blk.mapped[r.off:][:n:n]
}

// Ref keeps the region from being reused until Memory.Unref.
func (r *Region) Ref() { r.refs.Add(1) }
