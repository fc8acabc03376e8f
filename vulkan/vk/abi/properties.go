package abi

//lint:file-ignore ST1003 The names are those of Vulkan.

import (
	"structs"
	"unsafe"
)

// Structures of the properties of physical devices.
type (
	PhysicalDeviceLimits struct {
		_                                               structs.HostLayout
		MaxImageDimension1D                             uint32
		MaxImageDimension2D                             uint32
		MaxImageDimension3D                             uint32
		MaxImageDimensionCube                           uint32
		MaxImageArrayLayers                             uint32
		MaxTexelBufferElements                          uint32
		MaxUniformBufferRange                           uint32
		MaxStorageBufferRange                           uint32
		MaxPushConstantsSize                            uint32
		MaxMemoryAllocationCount                        uint32
		MaxSamplerAllocationCount                       uint32
		BufferImageGranularity                          uint64
		SparseAddressSpaceSize                          uint64
		MaxBoundDescriptorSets                          uint32
		MaxPerStageDescriptorSamplers                   uint32
		MaxPerStageDescriptorUniformBuffers             uint32
		MaxPerStageDescriptorStorageBuffers             uint32
		MaxPerStageDescriptorSampledImages              uint32
		MaxPerStageDescriptorStorageImages              uint32
		MaxPerStageDescriptorInputAttachments           uint32
		MaxPerStageResources                            uint32
		MaxDescriptorSetSamplers                        uint32
		MaxDescriptorSetUniformBuffers                  uint32
		MaxDescriptorSetUniformBuffersDynamic           uint32
		MaxDescriptorSetStorageBuffers                  uint32
		MaxDescriptorSetStorageBuffersDynamic           uint32
		MaxDescriptorSetSampledImages                   uint32
		MaxDescriptorSetStorageImages                   uint32
		MaxDescriptorSetInputAttachments                uint32
		MaxVertexInputAttributes                        uint32
		MaxVertexInputBindings                          uint32
		MaxVertexInputAttributeOffset                   uint32
		MaxVertexInputBindingStride                     uint32
		MaxVertexOutputComponents                       uint32
		MaxTessellationGenerationLevel                  uint32
		MaxTessellationPatchSize                        uint32
		MaxTessellationControlPerVertexInputComponents  uint32
		MaxTessellationControlPerVertexOutputComponents uint32
		MaxTessellationControlPerPatchOutputComponents  uint32
		MaxTessellationControlTotalOutputComponents     uint32
		MaxTessellationEvaluationInputComponents        uint32
		MaxTessellationEvaluationOutputComponents       uint32
		MaxGeometryShaderInvocations                    uint32
		MaxGeometryInputComponents                      uint32
		MaxGeometryOutputComponents                     uint32
		MaxGeometryOutputVertices                       uint32
		MaxGeometryTotalOutputComponents                uint32
		MaxFragmentInputComponents                      uint32
		MaxFragmentOutputAttachments                    uint32
		MaxFragmentDualSrcAttachments                   uint32
		MaxFragmentCombinedOutputResources              uint32
		MaxComputeSharedMemorySize                      uint32
		MaxComputeWorkGroupCount                        [3]uint32
		MaxComputeWorkGroupInvocations                  uint32
		MaxComputeWorkGroupSize                         [3]uint32
		SubPixelPrecisionBits                           uint32
		SubTexelPrecisionBits                           uint32
		MipmapPrecisionBits                             uint32
		MaxDrawIndexedIndexValue                        uint32
		MaxDrawIndirectCount                            uint32
		MaxSamplerLodBias                               float32
		MaxSamplerAnisotropy                            float32
		MaxViewports                                    uint32
		MaxViewportDimensions                           [2]uint32
		ViewportBoundsRange                             [2]float32
		ViewportSubPixelBits                            uint32
		MinMemoryMapAlignment                           uintptr
		MinTexelBufferOffsetAlignment                   uint64
		MinUniformBufferOffsetAlignment                 uint64
		MinStorageBufferOffsetAlignment                 uint64
		MinTexelOffset                                  int32
		MaxTexelOffset                                  uint32
		MinTexelGatherOffset                            int32
		MaxTexelGatherOffset                            uint32
		MinInterpolationOffset                          float32
		MaxInterpolationOffset                          float32
		SubPixelInterpolationOffsetBits                 uint32
		MaxFramebufferWidth                             uint32
		MaxFramebufferHeight                            uint32
		MaxFramebufferLayers                            uint32
		FramebufferColorSampleCounts                    uint32
		FramebufferDepthSampleCounts                    uint32
		FramebufferStencilSampleCounts                  uint32
		FramebufferNoAttachmentsSampleCounts            uint32
		MaxColorAttachments                             uint32
		SampledImageColorSampleCounts                   uint32
		SampledImageIntegerSampleCounts                 uint32
		SampledImageDepthSampleCounts                   uint32
		SampledImageStencilSampleCounts                 uint32
		StorageImageSampleCounts                        uint32
		MaxSampleMaskWords                              uint32
		TimestampComputeAndGraphics                     uint32
		TimestampPeriod                                 float32
		MaxClipDistances                                uint32
		MaxCullDistances                                uint32
		MaxCombinedClipAndCullDistances                 uint32
		DiscreteQueuePriorities                         uint32
		PointSizeRange                                  [2]float32
		LineWidthRange                                  [2]float32
		PointSizeGranularity                            float32
		LineWidthGranularity                            float32
		StrictLines                                     uint32
		StandardSampleLocations                         uint32
		OptimalBufferCopyOffsetAlignment                uint64
		OptimalBufferCopyRowPitchAlignment              uint64
		NonCoherentAtomSize                             uint64
	}
	PhysicalDeviceSparseProperties struct {
		_                                        structs.HostLayout
		ResidencyStandard2DBlockShape            uint32
		ResidencyStandard2DMultisampleBlockShape uint32
		ResidencyStandard3DBlockShape            uint32
		ResidencyAlignedMipSize                  uint32
		ResidencyNonResidentStrict               uint32
	}
	PhysicalDeviceProperties struct {
		_                 structs.HostLayout
		ApiVersion        uint32
		DriverVersion     uint32
		VendorID          uint32
		DeviceID          uint32
		DeviceType        uint32
		DeviceName        [256]byte
		PipelineCacheUUID [16]byte
		Limits            PhysicalDeviceLimits
		SparseProperties  PhysicalDeviceSparseProperties
	}
	PhysicalDeviceProperties2 struct {
		_          structs.HostLayout
		SType      uint32
		PNext      unsafe.Pointer
		Properties PhysicalDeviceProperties
	}
	PhysicalDeviceVulkan11Properties struct {
		_                                 structs.HostLayout
		SType                             uint32
		PNext                             unsafe.Pointer
		DeviceUUID                        [16]byte
		DriverUUID                        [16]byte
		DeviceLUID                        [8]byte
		DeviceNodeMask                    uint32
		DeviceLUIDValid                   uint32
		SubgroupSize                      uint32
		SubgroupSupportedStages           uint32
		SubgroupSupportedOperations       uint32
		SubgroupQuadOperationsInAllStages uint32
		PointClippingBehavior             uint32
		MaxMultiviewViewCount             uint32
		MaxMultiviewInstanceIndex         uint32
		ProtectedNoFault                  uint32
		MaxPerSetDescriptors              uint32
		MaxMemoryAllocationSize           uint64
	}
	PhysicalDeviceVulkan12Properties struct {
		_                                                    structs.HostLayout
		SType                                                uint32
		PNext                                                unsafe.Pointer
		DriverID                                             uint32
		DriverName                                           [256]byte
		DriverInfo                                           [256]byte
		ConformanceVersion                                   ConformanceVersion
		DenormBehaviorIndependence                           uint32
		RoundingModeIndependence                             uint32
		ShaderSignedZeroInfNanPreserveFloat16                uint32
		ShaderSignedZeroInfNanPreserveFloat32                uint32
		ShaderSignedZeroInfNanPreserveFloat64                uint32
		ShaderDenormPreserveFloat16                          uint32
		ShaderDenormPreserveFloat32                          uint32
		ShaderDenormPreserveFloat64                          uint32
		ShaderDenormFlushToZeroFloat16                       uint32
		ShaderDenormFlushToZeroFloat32                       uint32
		ShaderDenormFlushToZeroFloat64                       uint32
		ShaderRoundingModeRTEFloat16                         uint32
		ShaderRoundingModeRTEFloat32                         uint32
		ShaderRoundingModeRTEFloat64                         uint32
		ShaderRoundingModeRTZFloat16                         uint32
		ShaderRoundingModeRTZFloat32                         uint32
		ShaderRoundingModeRTZFloat64                         uint32
		MaxUpdateAfterBindDescriptorsInAllPools              uint32
		ShaderUniformBufferArrayNonUniformIndexingNative     uint32
		ShaderSampledImageArrayNonUniformIndexingNative      uint32
		ShaderStorageBufferArrayNonUniformIndexingNative     uint32
		ShaderStorageImageArrayNonUniformIndexingNative      uint32
		ShaderInputAttachmentArrayNonUniformIndexingNative   uint32
		RobustBufferAccessUpdateAfterBind                    uint32
		QuadDivergentImplicitLod                             uint32
		MaxPerStageDescriptorUpdateAfterBindSamplers         uint32
		MaxPerStageDescriptorUpdateAfterBindUniformBuffers   uint32
		MaxPerStageDescriptorUpdateAfterBindStorageBuffers   uint32
		MaxPerStageDescriptorUpdateAfterBindSampledImages    uint32
		MaxPerStageDescriptorUpdateAfterBindStorageImages    uint32
		MaxPerStageDescriptorUpdateAfterBindInputAttachments uint32
		MaxPerStageUpdateAfterBindResources                  uint32
		MaxDescriptorSetUpdateAfterBindSamplers              uint32
		MaxDescriptorSetUpdateAfterBindUniformBuffers        uint32
		MaxDescriptorSetUpdateAfterBindUniformBuffersDynamic uint32
		MaxDescriptorSetUpdateAfterBindStorageBuffers        uint32
		MaxDescriptorSetUpdateAfterBindStorageBuffersDynamic uint32
		MaxDescriptorSetUpdateAfterBindSampledImages         uint32
		MaxDescriptorSetUpdateAfterBindStorageImages         uint32
		MaxDescriptorSetUpdateAfterBindInputAttachments      uint32
		SupportedDepthResolveModes                           uint32
		SupportedStencilResolveModes                         uint32
		IndependentResolveNone                               uint32
		IndependentResolve                                   uint32
		FilterMinmaxSingleComponentFormats                   uint32
		FilterMinmaxImageComponentMapping                    uint32
		MaxTimelineSemaphoreValueDifference                  uint64
		FramebufferIntegerColorSampleCounts                  uint32
	}
	PhysicalDeviceSubgroupSizeControlProperties struct {
		_                            structs.HostLayout
		SType                        uint32
		PNext                        unsafe.Pointer
		MinSubgroupSize              uint32
		MaxSubgroupSize              uint32
		MaxComputeWorkgroupSubgroups uint32
		RequiredSubgroupSizeStages   uint32
	}
	PhysicalDevicePushDescriptorPropertiesKHR struct {
		_                  structs.HostLayout
		SType              uint32
		PNext              unsafe.Pointer
		MaxPushDescriptors uint32
	}
	PhysicalDeviceExternalMemoryHostPropertiesEXT struct {
		_                               structs.HostLayout
		SType                           uint32
		PNext                           unsafe.Pointer
		MinImportedHostPointerAlignment uint64
	}
	QueueFamilyProperties struct {
		_                           structs.HostLayout
		QueueFlags                  uint32
		QueueCount                  uint32
		TimestampValidBits          uint32
		MinImageTransferGranularity Extent3D
	}
	Extent3D struct {
		_      structs.HostLayout
		Width  uint32
		Height uint32
		Depth  uint32
	}
	MemoryType struct {
		_             structs.HostLayout
		PropertyFlags uint32
		HeapIndex     uint32
	}
	MemoryHeap struct {
		_     structs.HostLayout
		Size  uint64
		Flags uint32
	}
	PhysicalDeviceMemoryProperties struct {
		_               structs.HostLayout
		MemoryTypeCount uint32
		MemoryTypes     [32]MemoryType
		MemoryHeapCount uint32
		MemoryHeaps     [16]MemoryHeap
	}
	PhysicalDeviceMemoryProperties2 struct {
		_                structs.HostLayout
		SType            uint32
		PNext            unsafe.Pointer
		MemoryProperties PhysicalDeviceMemoryProperties
	}
	PhysicalDeviceMemoryBudgetPropertiesEXT struct {
		_          structs.HostLayout
		SType      uint32
		PNext      unsafe.Pointer
		HeapBudget [16]uint64
		HeapUsage  [16]uint64
	}
	CooperativeMatrixPropertiesKHR struct {
		_                      structs.HostLayout
		SType                  uint32
		PNext                  unsafe.Pointer
		MSize                  uint32 `vk:"MSize"`
		NSize                  uint32 `vk:"NSize"`
		KSize                  uint32 `vk:"KSize"`
		AType                  uint32 `vk:"AType"`
		BType                  uint32 `vk:"BType"`
		CType                  uint32 `vk:"CType"`
		ResultType             uint32 `vk:"ResultType"`
		SaturatingAccumulation uint32
		Scope                  uint32
	}
	ConformanceVersion struct {
		_        structs.HostLayout
		Major    byte
		Minor    byte
		Subminor byte
		Patch    byte
	}
)
