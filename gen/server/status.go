package server

import (
	"nxvk/node/dist"
)

// status is a snapshot for reports and metrics.
func (d *Device) status() status {
	s := status{Info: d.info(), Name: string(d.cfg.Name), Kind: "host", Counters: d.exec.Counters}
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
