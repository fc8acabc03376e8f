package server

import (
	"math"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/exec"
	"nxvk/gen/exec/memory"
	"nxvk/gen/exec/queue"
	"nxvk/gen/sample"
	"nxvk/node/dist"
	"nxvk/vulkan"
)

// status is a snapshot of a device server, for info and metrics.
type status struct {
	Info     etf.Map
	Device   *vulkan.Info // nil for the host
	Name     string
	Kind     string
	Total    uint64 // bytes of device memory
	Memory   vulkan.Stats
	Counters exec.Counters
	Sessions []sessionStatus
	Kernels  []kernelStatus
	CloseAny bool      // any node may close any session
	Lost     string    // why the device does not serve; empty if it serves
	Oldest   time.Time // when the oldest submission under way was submitted; zero without one

	// Of the moment of reading, not of the snapshot.
	Busy   time.Duration // time spent on the current message
	Queued int64         // messages that wait
}

type sessionStatus struct {
	Owner   etf.Pid
	Label   string
	Buffers int
	Bytes   int64
	Limit   int64
	Chains  []sample.Status // under way
	Waiting int             // requests that wait
	Wait    queue.Wait      // why the first of them cannot go on; 0 where it can
}

// hostMemory returns the host's memory as that of a device; total is the limit, 0 without one.
func hostMemory(h *memory.Host) (total uint64, s vulkan.Stats) {
	if h.Limit() != math.MaxInt64 {
		total = uint64(h.Limit())
	}
	used := uint64(h.Used())
	return total, vulkan.Stats{InUse: used, Reserved: used + uint64(h.Kept()), Pooled: uint64(h.Kept()), Peak: uint64(h.Peak())}
}

// status takes a snapshot. Only the server calls it.
func (d *Device) status() status {
	s := status{
		Info: d.info(), Name: string(d.cfg.Name), Kind: "host", Counters: d.exec.Counters,
		Lost: d.lost, Oldest: d.exec.Oldest(), Kernels: d.busiest(), CloseAny: d.cfg.CloseAny,
	}
	if d.cfg.Vulkan == nil {
		s.Total, s.Memory = hostMemory(d.cfg.Host)
	}
	if v := d.cfg.Vulkan; v != nil {
		info := v.Info()
		s.Device = &info
		s.Kind, s.Total, s.Memory = info.Kind.String(), info.Memory, v.Stats()
	}
	for pid, session := range d.sessions {
		q := d.exec.Queue(session)
		s.Sessions = append(s.Sessions, sessionStatus{
			Owner: dist.Pid(pid), Label: session.Label, Limit: session.Limit, Chains: d.sampler.Status(q),
			Buffers: session.Buffers(), Bytes: session.Bytes(), Waiting: q.Waiting(), Wait: q.Wait(),
		})
	}
	return s
}

// report is the info of a device, with the current busy_for.
func (s *status) report() etf.Term {
	return append(s.Info[:len(s.Info):len(s.Info)], pair("busy_for", s.Busy.Seconds()))
}
