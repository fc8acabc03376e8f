package report

import (
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/exec"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/queue"
	"nxvk/gen/sample"
	"nxvk/vulkan"
)

// Snapshot is a snapshot of a device server, for info and metrics.
type Snapshot struct {
	Info     etf.Map
	Device   *vulkan.Info // nil for the host
	Name     string
	Kind     string
	Total    uint64 // bytes of device memory
	Memory   vulkan.Stats
	Counters exec.Counters
	Sessions []Session
	Kernels  []Kernel
	CloseAny bool      // any node may close any session
	Lost     string    // why the device does not serve; empty if it serves
	Oldest   time.Time // when the oldest submission under way was submitted; zero without one

	// Of the moment of reading, not of the snapshot.
	Busy   time.Duration // time spent on the current message
	Queued int64         // messages that wait
}

// Session is a session of a Snapshot.
type Session struct {
	Owner   etf.Pid
	Label   string
	Buffers int
	Bytes   int64
	Limit   int64
	Chains  []sample.Status // under way
	Waiting int             // requests that wait
	Wait    queue.Wait      // why the first of them cannot go on; 0 where it can
}

// Kernel is a kernel and what the device has done with it.
type Kernel struct {
	Name string
	kernels.Activity
}
