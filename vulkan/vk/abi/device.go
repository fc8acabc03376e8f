package abi

//lint:file-ignore ST1003 The names are those of Vulkan.

import (
	"structs"
	"unsafe"
)

// Structures of devices, memory, semaphores and submissions.
type (
	DeviceQueueCreateInfo struct {
		_                structs.HostLayout
		SType            uint32
		PNext            unsafe.Pointer
		Flags            uint32
		QueueFamilyIndex uint32
		QueueCount       uint32
		PQueuePriorities unsafe.Pointer
	}
	DeviceCreateInfo struct {
		_                       structs.HostLayout
		SType                   uint32
		PNext                   unsafe.Pointer
		Flags                   uint32
		QueueCreateInfoCount    uint32
		PQueueCreateInfos       unsafe.Pointer
		EnabledLayerCount       uint32
		PpEnabledLayerNames     unsafe.Pointer
		EnabledExtensionCount   uint32
		PpEnabledExtensionNames unsafe.Pointer
		PEnabledFeatures        unsafe.Pointer
	}
	BufferCreateInfo struct {
		_                     structs.HostLayout
		SType                 uint32
		PNext                 unsafe.Pointer
		Flags                 uint32
		Size                  uint64
		Usage                 uint32
		SharingMode           uint32
		QueueFamilyIndexCount uint32
		PQueueFamilyIndices   unsafe.Pointer
	}
	MemoryRequirements struct {
		_              structs.HostLayout
		Size           uint64
		Alignment      uint64
		MemoryTypeBits uint32
	}
	MemoryAllocateInfo struct {
		_               structs.HostLayout
		SType           uint32
		PNext           unsafe.Pointer
		AllocationSize  uint64
		MemoryTypeIndex uint32
	}
	MemoryAllocateFlagsInfo struct {
		_          structs.HostLayout
		SType      uint32
		PNext      unsafe.Pointer
		Flags      uint32
		DeviceMask uint32
	}
	ExternalMemoryBufferCreateInfo struct {
		_           structs.HostLayout
		SType       uint32
		PNext       unsafe.Pointer
		HandleTypes uint32
	}
	ImportMemoryHostPointerInfoEXT struct {
		_            structs.HostLayout
		SType        uint32
		PNext        unsafe.Pointer
		HandleType   uint32
		PHostPointer unsafe.Pointer
	}
	MemoryHostPointerPropertiesEXT struct {
		_              structs.HostLayout
		SType          uint32
		PNext          unsafe.Pointer
		MemoryTypeBits uint32
	}
	BufferDeviceAddressInfo struct {
		_      structs.HostLayout
		SType  uint32
		PNext  unsafe.Pointer
		Buffer uint64
	}
	SemaphoreTypeCreateInfo struct {
		_             structs.HostLayout
		SType         uint32
		PNext         unsafe.Pointer
		SemaphoreType uint32
		InitialValue  uint64
	}
	SemaphoreCreateInfo struct {
		_     structs.HostLayout
		SType uint32
		PNext unsafe.Pointer
		Flags uint32
	}
	SemaphoreWaitInfo struct {
		_              structs.HostLayout
		SType          uint32
		PNext          unsafe.Pointer
		Flags          uint32
		SemaphoreCount uint32
		PSemaphores    unsafe.Pointer
		PValues        unsafe.Pointer
	}
	TimelineSemaphoreSubmitInfo struct {
		_                         structs.HostLayout
		SType                     uint32
		PNext                     unsafe.Pointer
		WaitSemaphoreValueCount   uint32
		PWaitSemaphoreValues      unsafe.Pointer
		SignalSemaphoreValueCount uint32
		PSignalSemaphoreValues    unsafe.Pointer
	}
	SubmitInfo struct {
		_                    structs.HostLayout
		SType                uint32
		PNext                unsafe.Pointer
		WaitSemaphoreCount   uint32
		PWaitSemaphores      unsafe.Pointer
		PWaitDstStageMask    unsafe.Pointer
		CommandBufferCount   uint32
		PCommandBuffers      unsafe.Pointer
		SignalSemaphoreCount uint32
		PSignalSemaphores    unsafe.Pointer
	}
)
