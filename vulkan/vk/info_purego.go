//go:build !cgo && !novulkan && (amd64 || arm64) && (linux || freebsd || darwin || windows)

package vk

import (
	"runtime"
	"unsafe"

	"nxvk/vulkan/vk/abi"
)

// maxMatrices is how many shapes of cooperative matrices are listed.
const maxMatrices = 256

func (in *instance) families(p PhysicalDevice) []abi.QueueFamilyProperties {
	return enumerate(func(n *uint32, list *abi.QueueFamilyProperties) Result {
		call(in.GetPhysicalDeviceQueueFamilyProperties, uintptr(p), uintptr(unsafe.Pointer(n)), uintptr(unsafe.Pointer(list)))
		return Success
	})
}

// pickFamily prefers a family that computes and does not draw: its queues
// have lower latency and overlap with one another.
func (in *instance) pickFamily(p PhysicalDevice) (family, queues uint32, timestamps bool) {
	list := in.families(p)
	best := -1
	for i, f := range list {
		if f.QueueFlags&abi.QueueCompute == 0 || f.QueueCount == 0 {
			continue
		}
		only := f.QueueFlags&abi.QueueGraphics == 0
		if best < 0 || only && list[best].QueueFlags&abi.QueueGraphics != 0 {
			best = i
		}
	}
	if best < 0 {
		return ^uint32(0), 0, false
	}
	return uint32(best), list[best].QueueCount, list[best].TimestampValidBits == 64
}

// pickCopyQueues finds queues that do nothing but copy: two of a family. Those of other families, for video or optical flow,
// copy as well.
func (in *instance) pickCopyQueues(p PhysicalDevice) []CopyQueue {
	for i, f := range in.families(p) {
		if f.QueueFlags&^(abi.QueueSparseBinding|abi.QueueProtected) == abi.QueueTransfer && f.QueueCount > 0 {
			return []CopyQueue{{uint32(i), 0}, {uint32(i), 1}}[:min(f.QueueCount, 2)]
		}
	}
	return nil
}

func (in *instance) extensions(p PhysicalDevice) []abi.ExtensionProperties {
	return enumerate(func(n *uint32, list *abi.ExtensionProperties) Result {
		return call(in.EnumerateDeviceExtensionProperties, uintptr(p), 0, uintptr(unsafe.Pointer(n)), uintptr(unsafe.Pointer(list)))
	})
}

// GetPhysicalDeviceInfo reads properties, limits, features and memory types.
func GetPhysicalDeviceInfo(handle Instance, p PhysicalDevice) Info {
	in := handle.get()
	var base abi.PhysicalDeviceProperties
	call(in.GetPhysicalDeviceProperties, uintptr(p), uintptr(unsafe.Pointer(&base)))
	var out Info
	out.setLimits(&base)
	out.API = min(base.ApiVersion, in.api)
	var timestamps bool
	out.Family, out.Queues, timestamps = in.pickFamily(p)
	out.CopyQueues = in.pickCopyQueues(p)
	out.setMemory(in, p)
	if base.ApiVersion < abi.Version12 {
		return out
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	list := in.extensions(p)
	out.setProperties(in, p, list)
	f := newFeatures(&pin, out.API, list)
	call(in.GetPhysicalDeviceFeatures2, uintptr(p), uintptr(unsafe.Pointer(&f.core)))
	out.Features |= f.bits(list) | bit(timestamps, Timestamps)
	if f.matrix.CooperativeMatrix != 0 {
		out.Matrices = in.matrices(p)
	}
	return out
}

func (i *Info) setLimits(p *abi.PhysicalDeviceProperties) {
	l := &p.Limits
	i.Name = goString(unsafe.Pointer(&p.DeviceName))
	i.CacheUUID = p.PipelineCacheUUID
	i.Kind, i.Vendor, i.Device, i.DriverVersion = p.DeviceType, p.VendorID, p.DeviceID, p.DriverVersion
	i.MaxPush, i.MaxBindings = l.MaxPushConstantsSize, l.MaxPerStageDescriptorStorageBuffers
	i.Shared, i.MaxInvocations = l.MaxComputeSharedMemorySize, l.MaxComputeWorkGroupInvocations
	i.MaxSize, i.MaxCount = l.MaxComputeWorkGroupSize, l.MaxComputeWorkGroupCount
	i.MaxRange, i.OffsetAligned = uint64(l.MaxStorageBufferRange), l.MinStorageBufferOffsetAlignment
	i.TimestampPeriod = l.TimestampPeriod
}

func (i *Info) setMemory(in *instance, p PhysicalDevice) {
	m := &abi.PhysicalDeviceMemoryProperties2{SType: abi.TypePhysicalDeviceMemoryProperties2}
	call(in.GetPhysicalDeviceMemoryProperties2, uintptr(p), uintptr(unsafe.Pointer(m)))
	for _, t := range m.MemoryProperties.MemoryTypes[:m.MemoryProperties.MemoryTypeCount] {
		i.Types = append(i.Types, MemoryType{t.PropertyFlags, int(t.HeapIndex)})
	}
	for _, h := range m.MemoryProperties.MemoryHeaps[:m.MemoryProperties.MemoryHeapCount] {
		i.Heaps = append(i.Heaps, MemoryHeap{h.Size, h.Flags})
	}
}

// setProperties reads what Vulkan 1.1, 1.2 and extensions say of a device.
func (i *Info) setProperties(in *instance, gpu PhysicalDevice, list []abi.ExtensionProperties) {
	all := &struct {
		core     abi.PhysicalDeviceProperties2
		v11      abi.PhysicalDeviceVulkan11Properties
		v12      abi.PhysicalDeviceVulkan12Properties
		push     abi.PhysicalDevicePushDescriptorPropertiesKHR
		subgroup abi.PhysicalDeviceSubgroupSizeControlProperties
		host     abi.PhysicalDeviceExternalMemoryHostPropertiesEXT
	}{}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(all)
	all.core.SType = abi.TypePhysicalDeviceProperties2
	all.v11.SType = abi.TypePhysicalDeviceVulkan11Properties
	all.v12.SType = abi.TypePhysicalDeviceVulkan12Properties
	all.push.SType = abi.TypePhysicalDevicePushDescriptorPropertiesKHR
	all.subgroup.SType = abi.TypePhysicalDeviceSubgroupSizeControlProperties
	all.host.SType = abi.TypePhysicalDeviceExternalMemoryHostPropertiesEXT
	all.core.PNext, all.v11.PNext = unsafe.Pointer(&all.v11), unsafe.Pointer(&all.v12)
	next := &all.v12.PNext
	if has(list, extPushDescriptor) {
		*next, next = unsafe.Pointer(&all.push), &all.push.PNext
	}
	if i.API >= abi.Version13 || has(list, extSubgroupSize) {
		*next, next = unsafe.Pointer(&all.subgroup), &all.subgroup.PNext
	}
	if has(list, extHostImport) {
		*next = unsafe.Pointer(&all.host)
	}
	call(in.GetPhysicalDeviceProperties2, uintptr(gpu), uintptr(unsafe.Pointer(&all.core)))

	i.ImportAligned = all.host.MinImportedHostPointerAlignment
	if n := all.push.MaxPushDescriptors; n != 0 {
		i.MaxBindings = min(i.MaxBindings, n)
	}
	i.Features |= floatControls(&all.v12)
	i.UUID = all.v11.DeviceUUID
	i.Driver = goString(unsafe.Pointer(&all.v12.DriverName))
	i.DriverInfo = goString(unsafe.Pointer(&all.v12.DriverInfo))
	i.DriverID = all.v12.DriverID
	i.MaxAllocation = all.v11.MaxMemoryAllocationSize
	i.Subgroup, i.SubgroupOps = all.v11.SubgroupSize, all.v11.SubgroupSupportedOperations
	i.SubgroupMin, i.SubgroupMax = i.Subgroup, i.Subgroup
	if n := all.subgroup.MinSubgroupSize; n != 0 {
		i.SubgroupMin = n
	}
	if n := all.subgroup.MaxSubgroupSize; n != 0 {
		i.SubgroupMax = n
	}
}

// floatControls returns which modes of floats a kernel may ask for. Modes of rounding and of
// subnormals count only where each width has its own.
func floatControls(p *abi.PhysicalDeviceVulkan12Properties) uint32 {
	b := bit(p.ShaderSignedZeroInfNanPreserveFloat32 != 0, Preserve32) | bit(p.ShaderSignedZeroInfNanPreserveFloat64 != 0, Preserve64)
	if p.RoundingModeIndependence == abi.ShaderFloatControlsIndependenceAll {
		b |= bit(p.ShaderRoundingModeRTEFloat32 != 0, RoundEven32) | bit(p.ShaderRoundingModeRTEFloat64 != 0, RoundEven64)
	}
	if p.DenormBehaviorIndependence == abi.ShaderFloatControlsIndependenceAll {
		b |= bit(p.ShaderDenormPreserveFloat32 != 0, Denorm32) | bit(p.ShaderDenormPreserveFloat64 != 0, Denorm64)
	}
	return b
}

// matrices lists the shapes of cooperative matrices.
func (in *instance) matrices(p PhysicalDevice) (out []MatrixShape) {
	if in.cooperativeMatrix == 0 {
		return nil
	}
	n, list := uint32(maxMatrices), make([]abi.CooperativeMatrixPropertiesKHR, maxMatrices)
	for i := range list {
		list[i].SType = abi.TypeCooperativeMatrixPropertiesKHR
	}
	if call(in.cooperativeMatrix, uintptr(p), uintptr(unsafe.Pointer(&n)), uintptr(unsafe.Pointer(&list[0]))) < 0 {
		return nil
	}
	for _, m := range list[:n] {
		out = append(out, MatrixShape{M: m.MSize, N: m.NSize, K: m.KSize, A: m.AType, B: m.BType, C: m.CType,
			Result: m.ResultType, Scope: m.Scope, Saturating: m.SaturatingAccumulation != 0})
	}
	return out
}

// GetMemoryBudget returns how many bytes of each heap the process may use, and how many it uses.
func GetMemoryBudget(handle Instance, p PhysicalDevice) (budget, usage [16]uint64) {
	var pin runtime.Pinner
	defer pin.Unpin()
	in := handle.get()
	b := &abi.PhysicalDeviceMemoryBudgetPropertiesEXT{SType: abi.TypePhysicalDeviceMemoryBudgetPropertiesEXT}
	m := &abi.PhysicalDeviceMemoryProperties2{SType: abi.TypePhysicalDeviceMemoryProperties2, PNext: pinned(&pin, b)}
	call(in.GetPhysicalDeviceMemoryProperties2, uintptr(p), uintptr(unsafe.Pointer(m)))
	return b.HeapBudget, b.HeapUsage
}
