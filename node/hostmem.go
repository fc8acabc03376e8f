package node

import (
	"math"
	"os"
	"runtime/debug"

	"nxvk/gen/exec/memory"
	"nxvk/vulkan"
)

// hostShare is the share of the machine's memory for values on the host. The rest is for
// temporaries of operations and for other processes.
const hostShare = 0.6

// newHostMemory returns the memory of values on the host. If the first device is the host or
// a processor, --memory-limit is its limit; else a share of the machine's memory is.
func (c *Config) newHostMemory(processor bool) *memory.Host {
	limit := int64(hostShare * float64(physicalMemory()))
	if processor && c.MemoryLimit > 0 {
		limit = int64(min(c.MemoryLimit, math.MaxInt64))
	}
	switch {
	case limit == 0:
		c.Log.Warn().Msg("the system does not tell its memory, so values on the host have no limit; set one with --device host --memory-limit BYTES")
	case os.Getenv("GOMEMLIMIT") == "":
		debug.SetMemoryLimit(max(limit, leastHeap))
	}
	h := memory.NewHost(limit)
	if !c.KeepMemory {
		h.ReturnIdle(nil)
	}
	return h
}

// isProcessor reports whether a device is the host's processor, with a Vulkan driver or
// without.
func isProcessor(d *vulkan.Device) bool { return d == nil || d.Info().Kind == vulkan.CPU }

// leastHeap is the lower bound of Go's memory limit, in bytes. Above the limit the garbage
// collector runs more often than gcPercent says. Small values are on the heap.
const leastHeap = 1 << 30

const (
	// connectionShare is the part of the host's memory that one connection may fill, a
	// quarter, without large binaries.
	connectionShare = 4
	// leastConnection is the lower bound of that, in bytes: clients send programs.
	leastConnection = 16 << 20
)

// wireShare returns the bytes that the node holds for one connection at most.
func wireShare(host *memory.Host) int64 {
	return max(host.Limit()/connectionShare, leastConnection)
}

// wireBudget charges the memory of connections to the host's memory. It may take a reserve
// that values cannot take, so that messages that free values still arrive.
type wireBudget struct{ *memory.Host }

// Take implements dist.Budget.
func (b wireBudget) Take(n int64) error { return b.TakeEarly(n) }
