package node

import (
	"math"
	"os"
	"runtime/debug"

	"nxvk/gen/exec"
	"nxvk/vulkan"
)

// hostShare is the share of the machine's memory that values on the host may take.
// Some is left for what operations need while they run, and for others.
const hostShare = 0.6

// hostMemory returns the memory of values on the host. Its limit is the
// configured one where the host is the device, else a share of the machine's.
func (c *Config) hostMemory(devices []*vulkan.Device) *exec.HostMemory {
	limit := int64(hostShare * float64(physicalMemory()))
	if devices[0] == nil && c.MemoryLimit > 0 {
		limit = int64(min(c.MemoryLimit, math.MaxInt64))
	}
	if limit == 0 {
		c.Log.Warn().Msg("the memory of this machine is unknown, so values on the host may take any; --device host with --memory-limit bounds them")
		return exec.NewHostMemory(0)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(max(limit, leastHeap))
	}
	return exec.NewHostMemory(limit)
}

// leastHeap is how much the Go heap may hold, garbage included, before it is
// collected more often than gcPercent says. Small values lie there.
const leastHeap = 1 << 30
