package abi

//lint:file-ignore ST1003 The names are those of Vulkan.

import (
	"structs"
	"unsafe"
)

// Structures of layouts, pipelines and their cache.
type (
	PipelineCacheCreateInfo struct {
		_               structs.HostLayout
		SType           uint32
		PNext           unsafe.Pointer
		Flags           uint32
		InitialDataSize uintptr
		PInitialData    unsafe.Pointer
	}
	DescriptorSetLayoutBinding struct {
		_                  structs.HostLayout
		Binding            uint32
		DescriptorType     uint32
		DescriptorCount    uint32
		StageFlags         uint32
		PImmutableSamplers unsafe.Pointer
	}
	DescriptorSetLayoutCreateInfo struct {
		_            structs.HostLayout
		SType        uint32
		PNext        unsafe.Pointer
		Flags        uint32
		BindingCount uint32
		PBindings    unsafe.Pointer
	}
	PushConstantRange struct {
		_          structs.HostLayout
		StageFlags uint32
		Offset     uint32
		Size       uint32
	}
	PipelineLayoutCreateInfo struct {
		_                      structs.HostLayout
		SType                  uint32
		PNext                  unsafe.Pointer
		Flags                  uint32
		SetLayoutCount         uint32
		PSetLayouts            unsafe.Pointer
		PushConstantRangeCount uint32
		PPushConstantRanges    unsafe.Pointer
	}
	ShaderModuleCreateInfo struct {
		_        structs.HostLayout
		SType    uint32
		PNext    unsafe.Pointer
		Flags    uint32
		CodeSize uintptr
		PCode    unsafe.Pointer
	}
	SpecializationMapEntry struct {
		_          structs.HostLayout
		ConstantID uint32
		Offset     uint32
		Size       uintptr
	}
	SpecializationInfo struct {
		_             structs.HostLayout
		MapEntryCount uint32
		PMapEntries   unsafe.Pointer
		DataSize      uintptr
		PData         unsafe.Pointer
	}
	PipelineShaderStageRequiredSubgroupSizeCreateInfo struct {
		_                    structs.HostLayout
		SType                uint32
		PNext                unsafe.Pointer
		RequiredSubgroupSize uint32
	}
	PipelineShaderStageCreateInfo struct {
		_                   structs.HostLayout
		SType               uint32
		PNext               unsafe.Pointer
		Flags               uint32
		Stage               uint32
		Module              uint64
		PName               unsafe.Pointer
		PSpecializationInfo unsafe.Pointer
	}
	ComputePipelineCreateInfo struct {
		_                  structs.HostLayout
		SType              uint32
		PNext              unsafe.Pointer
		Flags              uint32
		Stage              PipelineShaderStageCreateInfo
		Layout             uint64
		BasePipelineHandle uint64
		BasePipelineIndex  int32
	}
)
