package server

import (
	"math"

	"nxvk/gen/etf"
	"nxvk/gen/exec/memory"
	"nxvk/gen/server/report"
	"nxvk/node/dist"
	"nxvk/vulkan"
)

// hostMemory returns the host's memory as that of a device; total is the limit, 0 without one.
func hostMemory(h *memory.Host) (total uint64, s vulkan.Stats) {
	if h.Limit() != math.MaxInt64 {
		total = uint64(h.Limit())
	}
	used := uint64(h.Used())
	return total, vulkan.Stats{InUse: used, Reserved: used + uint64(h.Kept()), Pooled: uint64(h.Kept()), Peak: uint64(h.Peak())}
}

// status takes a snapshot. Only the server calls it.
func (d *Device) status() report.Snapshot {
	s := report.Snapshot{
		Info: d.info(), Name: string(d.cfg.Name), Kind: "host", Counters: d.exec.Counters(),
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
		s.Sessions = append(s.Sessions, report.Session{
			Owner: dist.Pid(pid), Label: session.Label, Limit: session.Limit, Chains: d.sampler.Status(q),
			Buffers: session.Buffers(), Bytes: session.Bytes(), Waiting: q.Waiting(), Wait: q.Wait(),
		})
	}
	return s
}

// infoTerm is the info of a device, with the current busy_for.
func infoTerm(s *report.Snapshot) etf.Term {
	return append(s.Info[:len(s.Info):len(s.Info)], pair("busy_for", s.Busy.Seconds()))
}
