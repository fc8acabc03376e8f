package abi

// Numbers of Vulkan. The comment of each is its name in the headers.
const (
	TypeApplicationInfo                                    uint32 = 0          // VK_STRUCTURE_TYPE_APPLICATION_INFO
	TypeInstanceCreateInfo                                 uint32 = 1          // VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO
	TypeDebugUtilsMessengerCreateInfoEXT                   uint32 = 1000128004 // VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT
	TypeValidationFeaturesEXT                              uint32 = 1000247000 // VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT
	TypePhysicalDeviceProperties2                          uint32 = 1000059001 // VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2
	TypePhysicalDeviceFeatures2                            uint32 = 1000059000 // VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2
	TypePhysicalDeviceMemoryProperties2                    uint32 = 1000059006 // VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2
	TypePhysicalDeviceVulkan11Features                     uint32 = 49         // VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES
	TypePhysicalDeviceVulkan12Features                     uint32 = 51         // VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES
	TypePhysicalDeviceVulkan11Properties                   uint32 = 50         // VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES
	TypePhysicalDeviceVulkan12Properties                   uint32 = 52         // VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES
	TypePhysicalDevicePipelineCreationCacheControlFeatures uint32 = 1000297000 // VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_CREATION_CACHE_CONTROL_FEATURES
	TypePhysicalDeviceSubgroupSizeControlFeatures          uint32 = 1000225002 // VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES
	TypePhysicalDeviceSubgroupSizeControlProperties        uint32 = 1000225000 // VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES
	TypePhysicalDeviceShaderAtomicFloatFeaturesEXT         uint32 = 1000260000 // VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT
	TypePhysicalDeviceCooperativeMatrixFeaturesKHR         uint32 = 1000506000 // VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR
	TypeCooperativeMatrixPropertiesKHR                     uint32 = 1000506001 // VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR
	TypePhysicalDeviceShaderBfloat16FeaturesKHR            uint32 = 1000141000 // VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR
	TypePhysicalDevicePushDescriptorPropertiesKHR          uint32 = 1000080000 // VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR
	TypePhysicalDeviceMemoryBudgetPropertiesEXT            uint32 = 1000237000 // VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT
	TypeDeviceQueueCreateInfo                              uint32 = 2          // VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO
	TypeDeviceCreateInfo                                   uint32 = 3          // VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO
	TypeBufferCreateInfo                                   uint32 = 12         // VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO
	TypeMemoryAllocateInfo                                 uint32 = 5          // VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO
	TypeMemoryAllocateFlagsInfo                            uint32 = 1000060000 // VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO
	TypeBufferDeviceAddressInfo                            uint32 = 1000244001 // VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO
	TypeExternalMemoryBufferCreateInfo                     uint32 = 1000072000 // VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO
	TypeImportMemoryHostPointerInfoEXT                     uint32 = 1000178000 // VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT
	TypeMemoryHostPointerPropertiesEXT                     uint32 = 1000178001 // VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT
	TypePhysicalDeviceExternalMemoryHostPropertiesEXT      uint32 = 1000178002 // VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT
	TypePipelineCacheCreateInfo                            uint32 = 17         // VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO
	TypeDescriptorSetLayoutCreateInfo                      uint32 = 32         // VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO
	TypePipelineLayoutCreateInfo                           uint32 = 30         // VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO
	TypeShaderModuleCreateInfo                             uint32 = 16         // VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO
	TypePipelineShaderStageRequiredSubgroupSizeCreateInfo  uint32 = 1000225001 // VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO
	TypePipelineShaderStageCreateInfo                      uint32 = 18         // VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO
	TypeComputePipelineCreateInfo                          uint32 = 29         // VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO
	TypeSemaphoreTypeCreateInfo                            uint32 = 1000207002 // VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO
	TypeSemaphoreCreateInfo                                uint32 = 9          // VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO
	TypeSemaphoreWaitInfo                                  uint32 = 1000207004 // VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO
	TypeTimelineSemaphoreSubmitInfo                        uint32 = 1000207003 // VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO
	TypeSubmitInfo                                         uint32 = 4          // VK_STRUCTURE_TYPE_SUBMIT_INFO
	TypeCommandPoolCreateInfo                              uint32 = 39         // VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO
	TypeCommandBufferAllocateInfo                          uint32 = 40         // VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO
	TypeCommandBufferBeginInfo                             uint32 = 42         // VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO
	TypeMemoryBarrier                                      uint32 = 46         // VK_STRUCTURE_TYPE_MEMORY_BARRIER
	TypeDescriptorPoolCreateInfo                           uint32 = 33         // VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO
	TypeDescriptorSetAllocateInfo                          uint32 = 34         // VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO
	TypeWriteDescriptorSet                                 uint32 = 35         // VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET
	TypeQueryPoolCreateInfo                                uint32 = 11         // VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO

	InstanceCreateEnumeratePortabilityKHR               uint32 = 0x1    // VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR
	DebugUtilsMessageSeverityWarningEXT                 uint32 = 0x100  // VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT
	DebugUtilsMessageSeverityErrorEXT                   uint32 = 0x1000 // VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT
	DebugUtilsMessageTypeValidationEXT                  uint32 = 0x2    // VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT
	DebugUtilsMessageTypePerformanceEXT                 uint32 = 0x4    // VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT
	ValidationFeatureEnableSynchronizationValidationEXT uint32 = 4      // VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT

	QueueGraphics                          uint32 = 0x1  // VK_QUEUE_GRAPHICS_BIT
	ExternalMemoryHandleTypeHostAllocation uint32 = 0x80 // VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
	QueueCompute                           uint32 = 0x2  // VK_QUEUE_COMPUTE_BIT
	QueueTransfer                          uint32 = 0x4  // VK_QUEUE_TRANSFER_BIT
	QueueSparseBinding                     uint32 = 0x8  // VK_QUEUE_SPARSE_BINDING_BIT
	QueueProtected                         uint32 = 0x10 // VK_QUEUE_PROTECTED_BIT
	SharingModeConcurrent                  uint32 = 1    // VK_SHARING_MODE_CONCURRENT
	ShaderFloatControlsIndependenceAll     uint32 = 1    // VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL

	BufferUsageTransferSrc         uint32 = 0x1     // VK_BUFFER_USAGE_TRANSFER_SRC_BIT
	BufferUsageTransferDst         uint32 = 0x2     // VK_BUFFER_USAGE_TRANSFER_DST_BIT
	BufferUsageStorageBuffer       uint32 = 0x20    // VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
	BufferUsageShaderDeviceAddress uint32 = 0x20000 // VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT
	MemoryAllocateDeviceAddress    uint32 = 0x2     // VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT

	DescriptorTypeStorageBuffer                uint32 = 7     // VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
	ShaderStageCompute                         uint32 = 0x20  // VK_SHADER_STAGE_COMPUTE_BIT
	DescriptorSetLayoutCreatePushDescriptorKHR uint32 = 0x1   // VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR
	PipelineCreateDispatchBase                 uint32 = 0x10  // VK_PIPELINE_CREATE_DISPATCH_BASE_BIT
	PipelineCreateFailOnCompileRequired        uint32 = 0x100 // VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT

	SemaphoreTypeTimeline      uint32 = 1      // VK_SEMAPHORE_TYPE_TIMELINE
	PipelineStageComputeShader uint32 = 0x800  // VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT
	PipelineStageTransfer      uint32 = 0x1000 // VK_PIPELINE_STAGE_TRANSFER_BIT
	PipelineStageBottomOfPipe  uint32 = 0x2000 // VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT
	PipelineStageHost          uint32 = 0x4000 // VK_PIPELINE_STAGE_HOST_BIT

	CommandPoolCreateTransient      uint32 = 0x1 // VK_COMMAND_POOL_CREATE_TRANSIENT_BIT
	CommandBufferLevelPrimary       uint32 = 0   // VK_COMMAND_BUFFER_LEVEL_PRIMARY
	CommandBufferUsageOneTimeSubmit uint32 = 0x1 // VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT
	PipelineBindPointCompute        uint32 = 1   // VK_PIPELINE_BIND_POINT_COMPUTE

	AccessShaderRead    uint32 = 0x20   // VK_ACCESS_SHADER_READ_BIT
	AccessShaderWrite   uint32 = 0x40   // VK_ACCESS_SHADER_WRITE_BIT
	AccessTransferRead  uint32 = 0x800  // VK_ACCESS_TRANSFER_READ_BIT
	AccessTransferWrite uint32 = 0x1000 // VK_ACCESS_TRANSFER_WRITE_BIT
	AccessHostRead      uint32 = 0x2000 // VK_ACCESS_HOST_READ_BIT

	QueryTypeTimestamp uint32 = 2   // VK_QUERY_TYPE_TIMESTAMP
	QueryResult64Bit   uint32 = 0x1 // VK_QUERY_RESULT_64_BIT
	QueryResultWait    uint32 = 0x2 // VK_QUERY_RESULT_WAIT_BIT

	WholeSize uint64 = 1<<64 - 1     // VK_WHOLE_SIZE
	Version10 uint32 = 1 << 22       // VK_API_VERSION_1_0
	Version11 uint32 = 1<<22 | 1<<12 // VK_API_VERSION_1_1
	Version12 uint32 = 1<<22 | 2<<12 // VK_API_VERSION_1_2
	Version13 uint32 = 1<<22 | 3<<12 // VK_API_VERSION_1_3
)
