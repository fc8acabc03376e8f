//go:build cgo

package vk

// #include "vk.h"
import "C"

import "unsafe"

func (d Device) c() *C.nxvk_device { return *(**C.nxvk_device)(unsafe.Pointer(&d)) }

// CreateDevice creates a device with info.Queues queues of family info.Family, at most [MaxQueues], behind them
// info.CopyQueues, at most [MaxCopyQueues], and the features info.Features names.
func CreateDevice(in Instance, p PhysicalDevice, info *Info) (Device, Result) {
	c := C.nxvk_info{api: C.uint32_t(info.API), family: C.uint32_t(info.Family), queues: C.uint32_t(info.Queues), features: C.uint32_t(info.Features)}
	for i, q := range info.CopyQueues[:min(len(info.CopyQueues), MaxCopyQueues)] {
		c.copy_family[i], c.copy_index[i], c.copy_queues = C.uint32_t(q.Family), C.uint32_t(q.Index), C.uint32_t(i+1)
	}
	var d *C.nxvk_device
	r := Result(C.nxvk_create_device(in.c(), C.uint64_t(p), &c, &d))
	return Device(uintptr(unsafe.Pointer(d))), r
}

// DestroyDevice destroys a device whose objects are destroyed.
func DestroyDevice(d Device) { C.nxvk_destroy_device(d.c()) }

// DeviceWaitIdle waits until the queue is empty.
func DeviceWaitIdle(d Device) Result { return Result(C.nxvk_wait_idle(d.c())) }

// CreateBuffer creates a storage buffer that can be the source and the destination of copies. With
// address, kernels can use its address.
func CreateBuffer(d Device, size uint64, address bool) (Buffer, Requirements, Result) {
	return createBuffer(d, size, address, false)
}

// CreateImportedBuffer creates a buffer for memory of [ImportHostMemory].
func CreateImportedBuffer(d Device, size uint64, address bool) (Buffer, Requirements, Result) {
	return createBuffer(d, size, address, true)
}

func createBuffer(d Device, size uint64, address, imported bool) (Buffer, Requirements, Result) {
	var b, need C.uint64_t
	var types C.uint32_t
	r := Result(C.nxvk_create_buffer(d.c(), C.uint64_t(size), flag(address), flag(imported), &b, &need, &types))
	return Buffer(b), Requirements{uint64(need), uint32(types)}, r
}

// DestroyBuffer destroys a buffer.
func DestroyBuffer(d Device, b Buffer) { C.nxvk_destroy_buffer(d.c(), C.uint64_t(b)) }

// AllocateMemory allocates memory of one type.
func AllocateMemory(d Device, size uint64, memoryType int, address bool) (Memory, Result) {
	var m C.uint64_t
	r := Result(C.nxvk_allocate(d.c(), C.uint64_t(size), C.uint32_t(memoryType), flag(address), &m))
	return Memory(m), r
}

// HostMemoryTypes returns the types that memory of the process can be imported as, on a device with
// [HostImport].
func HostMemoryTypes(d Device, mem []byte) (uint32, Result) {
	var types C.uint32_t
	r := Result(C.nxvk_host_types(d.c(), unsafe.Pointer(unsafe.SliceData(mem)), &types))
	return uint32(types), r
}

// ImportHostMemory makes memory of the process memory of the device, which uses it until FreeMemory. It must
// stay where it is until then, and begin and end at multiples of Info.ImportAligned.
func ImportHostMemory(d Device, mem []byte, memoryType int, address bool) (Memory, Result) {
	var m C.uint64_t
	r := Result(C.nxvk_import(d.c(), unsafe.Pointer(unsafe.SliceData(mem)), C.uint64_t(len(mem)), C.uint32_t(memoryType), flag(address), &m))
	return Memory(m), r
}

// FreeMemory unmaps and frees memory.
func FreeMemory(d Device, m Memory) { C.nxvk_free_memory(d.c(), C.uint64_t(m)) }

// BindBufferMemory puts a buffer at the start of memory.
func BindBufferMemory(d Device, b Buffer, m Memory) Result {
	return Result(C.nxvk_bind_memory(d.c(), C.uint64_t(b), C.uint64_t(m)))
}

// MapMemory maps all of a host-visible allocation of size bytes.
func MapMemory(d Device, m Memory, size uint64) ([]byte, Result) {
	var p unsafe.Pointer
	if r := Result(C.nxvk_map(d.c(), C.uint64_t(m), &p)); r != Success {
		return nil, r
	}
	return unsafe.Slice((*byte)(p), size), Success
}

// GetBufferDeviceAddress returns the address that kernels see.
func GetBufferDeviceAddress(d Device, b Buffer) uint64 {
	return uint64(C.nxvk_address(d.c(), C.uint64_t(b)))
}

func flag(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
