package node

import (
	"math"
	"os"
	"runtime/debug"

	"nxvk/gen/exec/memory"
	"nxvk/vulkan"
)

// hostShare is the share of the machine's memory that values on the host may take.
// Some is left for what operations need while they run, and for others.
const hostShare = 0.6

// hostMemory returns the memory of values on the host. Its limit is the
// configured one where the device is the host, or a processor in whose stead the host
// carries out what is new; else it is a share of the machine's.
func (c *Config) hostMemory(devices []*vulkan.Device) *memory.Host {
	limit := int64(hostShare * float64(physicalMemory()))
	if processor(devices[0]) && c.MemoryLimit > 0 {
		limit = int64(min(c.MemoryLimit, math.MaxInt64))
	}
	switch {
	case limit == 0:
		c.Log.Warn().Msg("the memory of this machine is unknown, so values on the host may take any; --device host with --memory-limit bounds them")
	case os.Getenv("GOMEMLIMIT") == "":
		debug.SetMemoryLimit(max(limit, leastHeap))
	}
	h := memory.NewHost(limit)
	if !c.KeepMemory {
		h.ReturnIdle(nil)
	}
	return h
}

// processor reports whether a device is the host's processor, with a driver or without.
func processor(d *vulkan.Device) bool { return d == nil || d.Info().Kind == vulkan.CPU }

// leastHeap is how much the Go heap may hold, garbage included, before it is
// collected more often than gcPercent says. Small values lie there.
const leastHeap = 1 << 30

const (
	// connectionShare is the share of the host's memory that one connection may have
	// the node hold, large binaries apart.
	connectionShare = 4
	// leastConnection is what a connection may take however little there is, for
	// the programs that clients send.
	leastConnection = 16 << 20
)

// wireShare is how much one connection may have the node hold.
func wireShare(host *memory.Host) int64 {
	return max(host.Limit()/connectionShare, leastConnection)
}

// wireBudget has the host's memory pay for what connections hold. As what arrives
// does, it may take a part that values cannot: who frees them has to be heard.
type wireBudget struct{ *memory.Host }

// Take is that of dist.Budget.
func (b wireBudget) Take(n int64) error { return b.TakeEarly(n) }
