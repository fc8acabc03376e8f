package abi

//lint:file-ignore ST1003 The names are those of Vulkan.

import (
	"structs"
	"unsafe"
)

// Structures of command buffers and what is recorded into them.
type (
	CommandPoolCreateInfo struct {
		_                structs.HostLayout
		SType            uint32
		PNext            unsafe.Pointer
		Flags            uint32
		QueueFamilyIndex uint32
	}
	CommandBufferAllocateInfo struct {
		_                  structs.HostLayout
		SType              uint32
		PNext              unsafe.Pointer
		CommandPool        uint64
		Level              uint32
		CommandBufferCount uint32
	}
	CommandBufferBeginInfo struct {
		_                structs.HostLayout
		SType            uint32
		PNext            unsafe.Pointer
		Flags            uint32
		PInheritanceInfo unsafe.Pointer
	}
	MemoryBarrier struct {
		_             structs.HostLayout
		SType         uint32
		PNext         unsafe.Pointer
		SrcAccessMask uint32
		DstAccessMask uint32
	}
	DescriptorPoolSize struct {
		_               structs.HostLayout
		Type            uint32
		DescriptorCount uint32
	}
	DescriptorPoolCreateInfo struct {
		_             structs.HostLayout
		SType         uint32
		PNext         unsafe.Pointer
		Flags         uint32
		MaxSets       uint32
		PoolSizeCount uint32
		PPoolSizes    unsafe.Pointer
	}
	DescriptorSetAllocateInfo struct {
		_                  structs.HostLayout
		SType              uint32
		PNext              unsafe.Pointer
		DescriptorPool     uint64
		DescriptorSetCount uint32
		PSetLayouts        unsafe.Pointer
	}
	DescriptorBufferInfo struct {
		_      structs.HostLayout
		Buffer uint64
		Offset uint64
		Range  uint64
	}
	WriteDescriptorSet struct {
		_                structs.HostLayout
		SType            uint32
		PNext            unsafe.Pointer
		DstSet           uint64
		DstBinding       uint32
		DstArrayElement  uint32
		DescriptorCount  uint32
		DescriptorType   uint32
		PImageInfo       unsafe.Pointer
		PBufferInfo      unsafe.Pointer
		PTexelBufferView unsafe.Pointer
	}
	BufferCopy struct {
		_         structs.HostLayout
		SrcOffset uint64
		DstOffset uint64
		Size      uint64
	}
	QueryPoolCreateInfo struct {
		_                  structs.HostLayout
		SType              uint32
		PNext              unsafe.Pointer
		Flags              uint32
		QueryType          uint32
		QueryCount         uint32
		PipelineStatistics uint32
	}
)
