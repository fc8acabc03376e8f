//go:build !cgo && !novulkan && (amd64 || arm64) && (linux || freebsd || darwin || windows)

package vk

import (
	"runtime"
	"slices"
	"unsafe"

	"nxvk/vulkan/vk/abi"
)

type device struct {
	pin       runtime.Pinner
	handle    uintptr
	queues    [allQueues]uintptr // those that copy follow those that compute
	computing int                // queues
	family    uint32
	copying   []CopyQueue
	families  []uint32 // those above, each once
	deviceFuncs
	optionalFuncs
}

// deviceFuncs are core in Vulkan 1.2; optionalFuncs may be absent.
type (
	deviceFuncs struct {
		DestroyDevice, GetDeviceQueue, DeviceWaitIdle, QueueSubmit,
		AllocateMemory, FreeMemory, MapMemory,
		CreateBuffer, DestroyBuffer, GetBufferMemoryRequirements, BindBufferMemory,
		CreateShaderModule, DestroyShaderModule,
		CreateDescriptorSetLayout, DestroyDescriptorSetLayout,
		CreatePipelineLayout, DestroyPipelineLayout,
		CreateComputePipelines, DestroyPipeline,
		CreatePipelineCache, DestroyPipelineCache, GetPipelineCacheData, MergePipelineCaches,
		CreateCommandPool, DestroyCommandPool, ResetCommandPool, AllocateCommandBuffers,
		BeginCommandBuffer, EndCommandBuffer, CmdBindPipeline, CmdPushConstants,
		CmdDispatch, CmdDispatchBase, CmdPipelineBarrier, CmdCopyBuffer, CmdFillBuffer,
		CreateQueryPool, DestroyQueryPool, CmdResetQueryPool, CmdWriteTimestamp, CmdCopyQueryPoolResults,
		CreateDescriptorPool, DestroyDescriptorPool, ResetDescriptorPool,
		AllocateDescriptorSets, UpdateDescriptorSets, CmdBindDescriptorSets,
		CreateSemaphore, DestroySemaphore, GetSemaphoreCounterValue, WaitSemaphores uintptr
	}
	optionalFuncs struct {
		GetBufferDeviceAddress, CmdPushDescriptorSetKHR, GetMemoryHostPointerPropertiesEXT uintptr
	}
)

func (d Device) get() *device { return *(**device)(unsafe.Pointer(&d)) }

// CreateDevice creates a device with info.Queues queues of family info.Family, at most [MaxQueues], behind them
// info.CopyQueues, at most [MaxCopyQueues], and the features info.Features names.
func CreateDevice(handle Instance, p PhysicalDevice, info *Info) (Device, Result) {
	var pin runtime.Pinner
	defer pin.Unpin()
	in, d := handle.get(), &device{family: info.Family, computing: int(min(max(info.Queues, 1), MaxQueues))}
	d.copying = slices.Clone(info.CopyQueues[:min(len(info.CopyQueues), MaxCopyQueues)])
	list := in.extensions(p)
	f := newFeatures(&pin, info.API, list)
	f.enable(info.Features)
	priorities := make([]float32, MaxQueues)
	for i := range priorities {
		priorities[i] = 1
	}
	names := pickExtensions(list, info.API)
	queues := []abi.DeviceQueueCreateInfo{{QueueFamilyIndex: info.Family, QueueCount: uint32(d.computing)}}
	for _, c := range d.copying {
		at := slices.IndexFunc(queues, func(q abi.DeviceQueueCreateInfo) bool { return q.QueueFamilyIndex == c.Family })
		if at < 0 {
			at = len(queues)
			queues = append(queues, abi.DeviceQueueCreateInfo{QueueFamilyIndex: c.Family})
		}
		queues[at].QueueCount = max(queues[at].QueueCount, c.Index+1)
	}
	for i := range queues {
		queues[i].SType, queues[i].PQueuePriorities = abi.TypeDeviceQueueCreateInfo, pinnedSlice(&pin, priorities)
		d.families = append(d.families, queues[i].QueueFamilyIndex)
	}
	ci := &abi.DeviceCreateInfo{
		SType: abi.TypeDeviceCreateInfo, PNext: pinned(&pin, &f.core),
		QueueCreateInfoCount: uint32(len(queues)), PQueueCreateInfos: pinnedSlice(&pin, queues),
		EnabledExtensionCount: uint32(len(names)), PpEnabledExtensionNames: pinnedStrings(&pin, names),
	}
	if r := call(in.CreateDevice, uintptr(p), uintptr(unsafe.Pointer(ci)), 0, uintptr(unsafe.Pointer(&d.handle))); r != Success {
		return 0, r
	}
	resolveAll(&d.optionalFuncs, in.GetDeviceProcAddr, d.handle)
	if !resolveAll(&d.deviceFuncs, in.GetDeviceProcAddr, d.handle) {
		call(d.DestroyDevice, d.handle, 0)
		return 0, ErrorIncompatibleDriver
	}
	for i := range d.computing {
		call(d.GetDeviceQueue, d.handle, uintptr(d.family), uintptr(i), uintptr(unsafe.Pointer(&d.queues[i])))
	}
	for i, c := range d.copying {
		call(d.GetDeviceQueue, d.handle, uintptr(c.Family), uintptr(c.Index), uintptr(unsafe.Pointer(&d.queues[d.computing+i])))
	}
	return Device(keep(&d.pin, d)), Success
}

// pickExtensions returns the extensions of a list that a device gets.
func pickExtensions(list []abi.ExtensionProperties, api uint32) (names []string) {
	wanted := []string{
		extPushDescriptor, extMemoryBudget, extAtomicFloat, extMatrix, extBfloat16, extHostImport,
		"VK_KHR_portability_subset", // must be enabled wherever it is listed
	}
	if api < abi.Version13 {
		wanted = append(wanted, extSubgroupSize, extCacheControl)
	}
	for _, name := range wanted {
		if has(list, name) {
			names = append(names, name)
		}
	}
	return names
}

// DestroyDevice destroys a device whose objects are destroyed.
func DestroyDevice(handle Device) {
	d := handle.get()
	call(d.DestroyDevice, d.handle, 0)
	drop(&d.pin, d)
}

// DeviceWaitIdle waits until the queue is empty.
func DeviceWaitIdle(handle Device) Result {
	d := handle.get()
	return call(d.DeviceWaitIdle, d.handle)
}

// CreateBuffer creates a storage buffer that can be the source and the destination of copies. With
// address, kernels can use its address.
func CreateBuffer(handle Device, size uint64, address bool) (Buffer, Requirements, Result) {
	return createBuffer(handle, size, address, nil)
}

// CreateImportedBuffer creates a buffer for memory of [ImportHostMemory].
func CreateImportedBuffer(handle Device, size uint64, address bool) (Buffer, Requirements, Result) {
	return createBuffer(handle, size, address, &abi.ExternalMemoryBufferCreateInfo{
		SType: abi.TypeExternalMemoryBufferCreateInfo, HandleTypes: abi.ExternalMemoryHandleTypeHostAllocation})
}

func createBuffer(handle Device, size uint64, address bool, next *abi.ExternalMemoryBufferCreateInfo) (Buffer, Requirements, Result) {
	var pin runtime.Pinner
	defer pin.Unpin()
	d := handle.get()
	ci := &abi.BufferCreateInfo{
		SType: abi.TypeBufferCreateInfo, Size: size,
		Usage: abi.BufferUsageStorageBuffer | abi.BufferUsageTransferSrc | abi.BufferUsageTransferDst,
	}
	if address {
		ci.Usage |= abi.BufferUsageShaderDeviceAddress
	}
	if next != nil {
		ci.PNext = pinned(&pin, next)
	}
	if len(d.families) > 1 {
		ci.SharingMode, ci.QueueFamilyIndexCount = abi.SharingModeConcurrent, uint32(len(d.families))
		ci.PQueueFamilyIndices = pinnedSlice(&pin, d.families)
	}
	var b Buffer
	if r := call(d.CreateBuffer, d.handle, uintptr(unsafe.Pointer(ci)), 0, uintptr(unsafe.Pointer(&b))); r != Success {
		return 0, Requirements{}, r
	}
	var need abi.MemoryRequirements
	call(d.GetBufferMemoryRequirements, d.handle, uintptr(b), uintptr(unsafe.Pointer(&need)))
	return b, Requirements{need.Size, need.MemoryTypeBits}, Success
}

// DestroyBuffer destroys a buffer.
func DestroyBuffer(handle Device, b Buffer) {
	d := handle.get()
	call(d.DestroyBuffer, d.handle, uintptr(b), 0)
}

// AllocateMemory allocates memory of one type.
func AllocateMemory(handle Device, size uint64, memoryType int, address bool) (Memory, Result) {
	return allocate(handle, size, memoryType, address, nil)
}

// allocate allocates memory, from what next says where that is not nil.
func allocate(handle Device, size uint64, memoryType int, address bool, next unsafe.Pointer) (Memory, Result) {
	var pin runtime.Pinner
	defer pin.Unpin()
	d := handle.get()
	ci := &abi.MemoryAllocateInfo{SType: abi.TypeMemoryAllocateInfo, PNext: next, AllocationSize: size, MemoryTypeIndex: uint32(memoryType)}
	if address {
		ci.PNext = pinned(&pin, &abi.MemoryAllocateFlagsInfo{SType: abi.TypeMemoryAllocateFlagsInfo, PNext: next, Flags: abi.MemoryAllocateDeviceAddress})
	}
	var m Memory
	r := call(d.AllocateMemory, d.handle, uintptr(unsafe.Pointer(ci)), 0, uintptr(unsafe.Pointer(&m)))
	return m, r
}

// HostMemoryTypes returns the types that memory of the process can be imported as, on a device with
// [HostImport].
func HostMemoryTypes(handle Device, mem []byte) (uint32, Result) {
	d := handle.get()
	out := &abi.MemoryHostPointerPropertiesEXT{SType: abi.TypeMemoryHostPointerPropertiesEXT}
	r := call(d.GetMemoryHostPointerPropertiesEXT, d.handle, uintptr(abi.ExternalMemoryHandleTypeHostAllocation),
		uintptr(unsafe.Pointer(unsafe.SliceData(mem))), uintptr(unsafe.Pointer(out)))
	return out.MemoryTypeBits, r
}

// ImportHostMemory makes memory of the process memory of the device, which uses it until FreeMemory. It must
// stay where it is until then, and begin and end at multiples of Info.ImportAligned.
func ImportHostMemory(handle Device, mem []byte, memoryType int, address bool) (Memory, Result) {
	var pin runtime.Pinner
	defer pin.Unpin()
	return allocate(handle, uint64(len(mem)), memoryType, address, pinned(&pin, &abi.ImportMemoryHostPointerInfoEXT{
		SType: abi.TypeImportMemoryHostPointerInfoEXT, HandleType: abi.ExternalMemoryHandleTypeHostAllocation,
		PHostPointer: pinnedSlice(&pin, mem)}))
}

// FreeMemory unmaps and frees memory.
func FreeMemory(handle Device, m Memory) {
	d := handle.get()
	call(d.FreeMemory, d.handle, uintptr(m), 0)
}

// BindBufferMemory puts a buffer at the start of memory.
func BindBufferMemory(handle Device, b Buffer, m Memory) Result {
	d := handle.get()
	return call(d.BindBufferMemory, d.handle, uintptr(b), uintptr(m), 0)
}

// MapMemory maps all of a host-visible allocation of size bytes.
func MapMemory(handle Device, m Memory, size uint64) ([]byte, Result) {
	d := handle.get()
	var p *byte // of the driver
	if r := call(d.MapMemory, d.handle, uintptr(m), 0, uintptr(abi.WholeSize), 0, uintptr(unsafe.Pointer(&p))); r != Success {
		return nil, r
	}
	return unsafe.Slice(p, size), Success
}

// GetBufferDeviceAddress returns the address that kernels see.
func GetBufferDeviceAddress(handle Device, b Buffer) uint64 {
	d := handle.get()
	i := &abi.BufferDeviceAddressInfo{SType: abi.TypeBufferDeviceAddressInfo, Buffer: uint64(b)}
	return callAddress(d.GetBufferDeviceAddress, d.handle, uintptr(unsafe.Pointer(i)))
}
