package server

import (
	"math"

	"nxvk/gen/exec"
	"nxvk/node/dist"
	"nxvk/vulkan"
)

// hostMemory is what values on the host take, in the terms of a device; total is
// the limit, 0 where there is none.
func hostMemory(h *exec.HostMemory) (total uint64, s vulkan.Stats) {
	if h.Limit() != math.MaxInt64 {
		total = uint64(h.Limit())
	}
	used := uint64(h.Used())
	return total, vulkan.Stats{InUse: used, Reserved: used + uint64(h.Kept()), Pooled: uint64(h.Kept()), Peak: uint64(h.Peak())}
}

// status is a snapshot for reports and metrics.
func (d *Device) status() status {
	s := status{Info: d.info(), Name: string(d.cfg.Name), Kind: "host", Counters: d.exec.Counters}
	if d.cfg.Vulkan == nil {
		s.Total, s.Memory = hostMemory(d.cfg.Host)
	}
	if v := d.cfg.Vulkan; v != nil {
		info := v.Info()
		s.Device = &info
		s.Kind, s.Total, s.Memory = info.Kind.String(), info.Memory, v.Stats()
	}
	for pid, session := range d.sessions {
		s.Sessions = append(s.Sessions, sessionStatus{
			Owner: dist.Pid(pid), Label: session.Label, Limit: session.Limit,
			Buffers: session.Buffers(), Bytes: session.Bytes(),
		})
	}
	return s
}
