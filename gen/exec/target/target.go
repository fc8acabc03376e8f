package target

import (
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// Of tells the kernel compiler what a device can do.
func Of(info vulkan.Info) synth.Target {
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
		SubgroupOps:    f.SubgroupArithmetic && f.SubgroupBallot,
		MaxPush:        l.MaxPush,
		MaxGroups:      l.MaxWorkgroupCount,
		MaxBinding:     int64(l.MaxStorageRange),
		Matrices:       hardware(info),
	}
}

// hardware are the shapes of matrix hardware. A processor has none: its cooperative matrices are
// loops.
func hardware(info vulkan.Info) []synth.Matrix {
	if info.Kind == vulkan.CPU {
		return nil
	}
	return Matrices(info)
}

// Matrices are the shapes of cooperative matrices of any device.
func Matrices(info vulkan.Info) []synth.Matrix {
	types := map[vulkan.Component]ops.DType{vulkan.ComponentF16: ops.F16, vulkan.ComponentBF16: ops.BF16,
		vulkan.ComponentS8: ops.S8, vulkan.ComponentU8: ops.U8}
	var list []synth.Matrix
	for _, m := range info.Matrices {
		list = append(list, synth.Matrix{Type: types[m.Component], M: m.M, N: m.N, K: m.K, Small: info.Kind == vulkan.CPU})
	}
	return list
}

// Layout is the interface of a kernel. The push constants of a kernel that
// takes addresses begin with them; a layout counts only what follows. Code that
// counts on the size of subgroups asks for it where the device has a choice.
func Layout(k *synth.Kernel, info vulkan.Info) vulkan.Layout {
	push := k.PushBytes
	if k.Addresses {
		push -= 8 * k.Buffers
	}
	l := vulkan.Layout{Buffers: k.Buffers, PushBytes: push, Addresses: k.Addresses, Spec: k.Spec}
	if info.Limits.SubgroupMin < info.Limits.SubgroupMax {
		l.SubgroupSize = k.SubgroupSize
	}
	return l
}

// Compile compiles a kernel for a device.
func Compile(d *vulkan.Device, k *synth.Kernel) (*vulkan.Pipeline, error) {
	return d.Pipeline(k.Name, k.Code, Layout(k, d.Info()))
}
