package exec

import (
	"slices"

	"nxvk/gen/store"
	"nxvk/synth"
	"nxvk/vulkan"
)

// targetOf tells the kernel compiler what a device can do.
func targetOf(info vulkan.Info) synth.Target {
	f, l := info.Features, info.Limits
	return synth.Target{
		CPU:         info.Kind == vulkan.CPU,
		Float64:     f.Float64,
		Int64:       f.Int64,
		Int16:       f.Int16,
		Int8:        f.Int8,
		Float16:     f.Float16,
		Storage16:   f.Storage16,
		Storage8:    f.Storage8,
		Addresses:   !info.Bindings,
		Addressable: f.BufferDeviceAddress,

		Preserve32:  f.Preserve32,
		Preserve64:  f.Preserve64,
		RoundEven32: f.RoundEven32,
		RoundEven64: f.RoundEven64,
		Denorm32:    f.Denorm32,
		Denorm64:    f.Denorm64,

		SharedMemory:   l.SharedMemory,
		MaxInvocations: l.MaxWorkgroupInvocations,
		SubgroupSize:   l.Subgroup,
		Lanes:          f.SubgroupArithmetic && f.SubgroupBallot,
		MaxPush:        l.MaxPush,
		MaxGroups:      l.MaxWorkgroupCount,
		MaxBinding:     int64(l.MaxStorageRange),
	}
}

// layoutOf is the interface of a kernel. The push constants of a kernel that
// takes addresses begin with them; a layout counts only what follows. Code that
// counts on the size of subgroups asks for it where the device has a choice.
func layoutOf(k *synth.Kernel, info vulkan.Info) vulkan.Layout {
	push := k.PushBytes
	if k.Addresses {
		push -= 8 * k.Buffers
	}
	l := vulkan.Layout{Buffers: k.Buffers, PushBytes: push, Addresses: k.Addresses, Spec: k.Spec}
	if info.Limits.SubgroupMin < info.Limits.SubgroupMax {
		l.SubgroupSize = k.Lanes
	}
	return l
}

// Abandon answers everything that waits with the loss of the device and
// forgets the lanes.
func (e *Executor) Abandon() {
	lanes := e.lanes
	e.lanes = make(map[*store.Session]*Lane)
	e.imports, e.memory = nil, nil
	for _, l := range lanes {
		if l.feed != nil {
			l.feed.throttled = nil
		}
		for _, f := range append(slices.Clone(l.forks), l) {
			f.waits = 0
			e.advance(f)
		}
	}
	e.lanes = lanes
}
