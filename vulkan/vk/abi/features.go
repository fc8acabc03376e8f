package abi

//lint:file-ignore ST1003 The names are those of Vulkan.

import (
	"structs"
	"unsafe"
)

// Structures of the features of physical devices.
type (
	PhysicalDeviceFeatures struct {
		_                                       structs.HostLayout
		RobustBufferAccess                      uint32
		FullDrawIndexUint32                     uint32
		ImageCubeArray                          uint32
		IndependentBlend                        uint32
		GeometryShader                          uint32
		TessellationShader                      uint32
		SampleRateShading                       uint32
		DualSrcBlend                            uint32
		LogicOp                                 uint32
		MultiDrawIndirect                       uint32
		DrawIndirectFirstInstance               uint32
		DepthClamp                              uint32
		DepthBiasClamp                          uint32
		FillModeNonSolid                        uint32
		DepthBounds                             uint32
		WideLines                               uint32
		LargePoints                             uint32
		AlphaToOne                              uint32
		MultiViewport                           uint32
		SamplerAnisotropy                       uint32
		TextureCompressionETC2                  uint32
		TextureCompressionASTC_LDR              uint32
		TextureCompressionBC                    uint32
		OcclusionQueryPrecise                   uint32
		PipelineStatisticsQuery                 uint32
		VertexPipelineStoresAndAtomics          uint32
		FragmentStoresAndAtomics                uint32
		ShaderTessellationAndGeometryPointSize  uint32
		ShaderImageGatherExtended               uint32
		ShaderStorageImageExtendedFormats       uint32
		ShaderStorageImageMultisample           uint32
		ShaderStorageImageReadWithoutFormat     uint32
		ShaderStorageImageWriteWithoutFormat    uint32
		ShaderUniformBufferArrayDynamicIndexing uint32
		ShaderSampledImageArrayDynamicIndexing  uint32
		ShaderStorageBufferArrayDynamicIndexing uint32
		ShaderStorageImageArrayDynamicIndexing  uint32
		ShaderClipDistance                      uint32
		ShaderCullDistance                      uint32
		ShaderFloat64                           uint32
		ShaderInt64                             uint32
		ShaderInt16                             uint32
		ShaderResourceResidency                 uint32
		ShaderResourceMinLod                    uint32
		SparseBinding                           uint32
		SparseResidencyBuffer                   uint32
		SparseResidencyImage2D                  uint32
		SparseResidencyImage3D                  uint32
		SparseResidency2Samples                 uint32
		SparseResidency4Samples                 uint32
		SparseResidency8Samples                 uint32
		SparseResidency16Samples                uint32
		SparseResidencyAliased                  uint32
		VariableMultisampleRate                 uint32
		InheritedQueries                        uint32
	}
	PhysicalDeviceFeatures2 struct {
		_        structs.HostLayout
		SType    uint32
		PNext    unsafe.Pointer
		Features PhysicalDeviceFeatures
	}
	PhysicalDeviceVulkan11Features struct {
		_                                  structs.HostLayout
		SType                              uint32
		PNext                              unsafe.Pointer
		StorageBuffer16BitAccess           uint32
		UniformAndStorageBuffer16BitAccess uint32
		StoragePushConstant16              uint32
		StorageInputOutput16               uint32
		Multiview                          uint32
		MultiviewGeometryShader            uint32
		MultiviewTessellationShader        uint32
		VariablePointersStorageBuffer      uint32
		VariablePointers                   uint32
		ProtectedMemory                    uint32
		SamplerYcbcrConversion             uint32
		ShaderDrawParameters               uint32
	}
	PhysicalDeviceVulkan12Features struct {
		_                                                  structs.HostLayout
		SType                                              uint32
		PNext                                              unsafe.Pointer
		SamplerMirrorClampToEdge                           uint32
		DrawIndirectCount                                  uint32
		StorageBuffer8BitAccess                            uint32
		UniformAndStorageBuffer8BitAccess                  uint32
		StoragePushConstant8                               uint32
		ShaderBufferInt64Atomics                           uint32
		ShaderSharedInt64Atomics                           uint32
		ShaderFloat16                                      uint32
		ShaderInt8                                         uint32
		DescriptorIndexing                                 uint32
		ShaderInputAttachmentArrayDynamicIndexing          uint32
		ShaderUniformTexelBufferArrayDynamicIndexing       uint32
		ShaderStorageTexelBufferArrayDynamicIndexing       uint32
		ShaderUniformBufferArrayNonUniformIndexing         uint32
		ShaderSampledImageArrayNonUniformIndexing          uint32
		ShaderStorageBufferArrayNonUniformIndexing         uint32
		ShaderStorageImageArrayNonUniformIndexing          uint32
		ShaderInputAttachmentArrayNonUniformIndexing       uint32
		ShaderUniformTexelBufferArrayNonUniformIndexing    uint32
		ShaderStorageTexelBufferArrayNonUniformIndexing    uint32
		DescriptorBindingUniformBufferUpdateAfterBind      uint32
		DescriptorBindingSampledImageUpdateAfterBind       uint32
		DescriptorBindingStorageImageUpdateAfterBind       uint32
		DescriptorBindingStorageBufferUpdateAfterBind      uint32
		DescriptorBindingUniformTexelBufferUpdateAfterBind uint32
		DescriptorBindingStorageTexelBufferUpdateAfterBind uint32
		DescriptorBindingUpdateUnusedWhilePending          uint32
		DescriptorBindingPartiallyBound                    uint32
		DescriptorBindingVariableDescriptorCount           uint32
		RuntimeDescriptorArray                             uint32
		SamplerFilterMinmax                                uint32
		ScalarBlockLayout                                  uint32
		ImagelessFramebuffer                               uint32
		UniformBufferStandardLayout                        uint32
		ShaderSubgroupExtendedTypes                        uint32
		SeparateDepthStencilLayouts                        uint32
		HostQueryReset                                     uint32
		TimelineSemaphore                                  uint32
		BufferDeviceAddress                                uint32
		BufferDeviceAddressCaptureReplay                   uint32
		BufferDeviceAddressMultiDevice                     uint32
		VulkanMemoryModel                                  uint32
		VulkanMemoryModelDeviceScope                       uint32
		VulkanMemoryModelAvailabilityVisibilityChains      uint32
		ShaderOutputViewportIndex                          uint32
		ShaderOutputLayer                                  uint32
		SubgroupBroadcastDynamicId                         uint32
	}
	PhysicalDeviceSubgroupSizeControlFeatures struct {
		_                    structs.HostLayout
		SType                uint32
		PNext                unsafe.Pointer
		SubgroupSizeControl  uint32
		ComputeFullSubgroups uint32
	}
	PhysicalDevicePipelineCreationCacheControlFeatures struct {
		_                            structs.HostLayout
		SType                        uint32
		PNext                        unsafe.Pointer
		PipelineCreationCacheControl uint32
	}
	PhysicalDeviceShaderAtomicFloatFeaturesEXT struct {
		_                            structs.HostLayout
		SType                        uint32
		PNext                        unsafe.Pointer
		ShaderBufferFloat32Atomics   uint32
		ShaderBufferFloat32AtomicAdd uint32
		ShaderBufferFloat64Atomics   uint32
		ShaderBufferFloat64AtomicAdd uint32
		ShaderSharedFloat32Atomics   uint32
		ShaderSharedFloat32AtomicAdd uint32
		ShaderSharedFloat64Atomics   uint32
		ShaderSharedFloat64AtomicAdd uint32
		ShaderImageFloat32Atomics    uint32
		ShaderImageFloat32AtomicAdd  uint32
		SparseImageFloat32Atomics    uint32
		SparseImageFloat32AtomicAdd  uint32
	}
	PhysicalDeviceCooperativeMatrixFeaturesKHR struct {
		_                                   structs.HostLayout
		SType                               uint32
		PNext                               unsafe.Pointer
		CooperativeMatrix                   uint32
		CooperativeMatrixRobustBufferAccess uint32
	}
	PhysicalDeviceShaderBfloat16FeaturesKHR struct {
		_                               structs.HostLayout
		SType                           uint32
		PNext                           unsafe.Pointer
		ShaderBFloat16Type              uint32
		ShaderBFloat16DotProduct        uint32
		ShaderBFloat16CooperativeMatrix uint32
	}
)
