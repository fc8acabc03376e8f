package server

import (
	"nxvk/gen/etf"
	"nxvk/gen/store"
	"nxvk/ops"
	"nxvk/vulkan"
)

func pair(key string, value etf.Term) etf.Pair { return etf.Pair{Key: etf.Atom(key), Value: value} }

// info describes the device.
func (d *Device) info() etf.Map {
	m := etf.Map{
		pair("index", d.cfg.Index),
		pair("server", etf.Atom(d.cfg.Name)),
		pair("incarnation", d.incarnation),
	}
	if d.cfg.Vulkan == nil {
		total, _ := hostMemory(d.cfg.Host)
		return append(m,
			pair("name", "host"), pair("kind", etf.Atom("host")), pair("uuid", ""),
			pair("driver", "Go"), pair("memory", total), pair("types", typeNames(func(ops.DType) bool { return false })),
			pair("features", etf.List(nil)))
	}
	i := d.cfg.Vulkan.Info()
	return append(m,
		pair("name", i.Name), pair("kind", etf.Atom(i.Kind.String())), pair("uuid", i.UUID),
		pair("driver", i.Driver+" "+i.DriverInfo), pair("memory", i.Memory),
		pair("types", typeNames(func(t ops.DType) bool { return computes(&i, t) })),
		pair("features", featureNames(i.Features)))
}

func typeNames(has func(ops.DType) bool) etf.List {
	var l etf.List
	for _, t := range ops.DTypes() {
		if has(t) {
			l = append(l, etf.Atom(t.String()))
		}
	}
	return l
}

func featureNames(f vulkan.Features) etf.List {
	var l etf.List
	for _, row := range []struct {
		name string
		has  bool
	}{
		{"float64", f.Float64}, {"float16", f.Float16}, {"int64", f.Int64}, {"int16", f.Int16}, {"int8", f.Int8},
		{"storage16", f.Storage16}, {"storage8", f.Storage8}, {"buffer_device_address", f.BufferDeviceAddress},
		{"timeline_semaphore", f.TimelineSemaphore}, {"push_descriptor", f.PushDescriptor},
		{"memory_budget", f.MemoryBudget},
	} {
		if row.has {
			l = append(l, etf.Atom(row.name))
		}
	}
	return l
}

// memory reports what a session and the device hold.
func (d *Device) memoryTerm(s *store.Session) etf.Term {
	st := d.status()
	return etf.Map{
		pair("session", etf.Map{
			pair("buffers", s.Buffers()), pair("bytes", s.Bytes()), pair("limit", limitTerm(s.Limit)),
		}),
		pair("device", etf.Map{
			pair("used", st.Memory.InUse), pair("reserved", st.Memory.Reserved), pair("peak", st.Memory.Peak),
			pair("total", st.Total), pair("sessions", len(st.Sessions)),
		}),
	}
}
