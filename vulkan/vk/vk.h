// vk.h declares the functions that Go calls. Arguments are flat: numbers, byte
// ranges, and pointers to memory that C owns or that lives for the call.
#ifndef NXVK_VK_H
#define NXVK_VK_H

#include <stdbool.h>
#include <stdint.h>
#define VK_NO_PROTOTYPES
#define VK_ENABLE_BETA_EXTENSIONS
#include <vulkan/vulkan_core.h>
#include "matrix.h"

// Entry points by the handle that resolves them. NXVK_OPTIONAL_FUNCS may be
// absent; the rest are core in Vulkan 1.2. clang-format would nest the lists.
// clang-format off
#define NXVK_INSTANCE_FUNCS(F) \
	F(DestroyInstance) F(EnumerateDeviceExtensionProperties) \
	F(GetPhysicalDeviceProperties2) F(GetPhysicalDeviceFeatures2) \
	F(GetPhysicalDeviceMemoryProperties2) F(GetPhysicalDeviceProperties) \
	F(GetPhysicalDeviceQueueFamilyProperties) F(CreateDevice) F(GetDeviceProcAddr)

#define NXVK_DEVICE_FUNCS(F) \
	F(DestroyDevice) F(GetDeviceQueue) F(DeviceWaitIdle) F(QueueSubmit) \
	F(AllocateMemory) F(FreeMemory) F(MapMemory) \
	F(CreateBuffer) F(DestroyBuffer) F(GetBufferMemoryRequirements) F(BindBufferMemory) \
	F(CreateShaderModule) F(DestroyShaderModule) \
	F(CreateDescriptorSetLayout) F(DestroyDescriptorSetLayout) \
	F(CreatePipelineLayout) F(DestroyPipelineLayout) \
	F(CreateComputePipelines) F(DestroyPipeline) \
	F(CreatePipelineCache) F(DestroyPipelineCache) F(GetPipelineCacheData) F(MergePipelineCaches) \
	F(CreateCommandPool) F(DestroyCommandPool) F(ResetCommandPool) F(AllocateCommandBuffers) \
	F(BeginCommandBuffer) F(EndCommandBuffer) F(CmdBindPipeline) F(CmdPushConstants) \
	F(CmdDispatch) F(CmdDispatchBase) F(CmdPipelineBarrier) F(CmdCopyBuffer) F(CmdFillBuffer) \
	F(CreateQueryPool) F(DestroyQueryPool) F(CmdResetQueryPool) F(CmdWriteTimestamp) \
	F(CmdCopyQueryPoolResults) \
	F(CreateDescriptorPool) F(DestroyDescriptorPool) F(ResetDescriptorPool) \
	F(AllocateDescriptorSets) F(UpdateDescriptorSets) F(CmdBindDescriptorSets) \
	F(CreateSemaphore) F(DestroySemaphore)

#define NXVK_OPTIONAL_FUNCS(F) \
	F(GetBufferDeviceAddress) F(GetSemaphoreCounterValue) F(WaitSemaphores) \
	F(CmdPushDescriptorSetKHR) F(GetMemoryHostPointerPropertiesEXT)
// clang-format on

#define NXVK_MAX_QUEUES 8
#define NXVK_MAX_COPY_QUEUES 4
#define NXVK_MAX_FAMILIES 32
#define NXVK_ALL_QUEUES (NXVK_MAX_QUEUES + NXVK_MAX_COPY_QUEUES)

#define NXVK_FIELD(name) PFN_vk##name name;

typedef struct {
	VkInstance handle;
	VkDebugUtilsMessengerEXT messenger;
	PFN_vkDestroyDebugUtilsMessengerEXT DestroyDebugUtilsMessengerEXT;
	uint32_t api;
	NXVK_INSTANCE_FUNCS(NXVK_FIELD)
	PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR
		GetPhysicalDeviceCooperativeMatrixPropertiesKHR; // may be absent
} nxvk_instance;

typedef struct {
	VkDevice handle;
	VkQueue queues[NXVK_ALL_QUEUES]; // those that copy follow those that compute
	uint32_t computing, copying;	 // how many queues there are of either kind
	uint32_t family, copy_family[NXVK_MAX_COPY_QUEUES];
	uint32_t families[1 + NXVK_MAX_COPY_QUEUES], distinct; // those above, each once
	NXVK_DEVICE_FUNCS(NXVK_FIELD)
	NXVK_OPTIONAL_FUNCS(NXVK_FIELD)
} nxvk_device;

// Bits of nxvk_info.features; types.go has the same list.
enum {
	NXVK_FLOAT64 = 1 << 0,
	NXVK_INT64 = 1 << 1,
	NXVK_INT16 = 1 << 2,
	NXVK_INT8 = 1 << 3,
	NXVK_FLOAT16 = 1 << 4,
	NXVK_STORAGE16 = 1 << 5,
	NXVK_STORAGE8 = 1 << 6,
	NXVK_ADDRESS = 1 << 7,
	NXVK_TIMELINE = 1 << 8,
	NXVK_SCALAR_LAYOUT = 1 << 9,
	NXVK_MEMORY_MODEL = 1 << 10,
	NXVK_ATOMIC_INT64 = 1 << 11,
	NXVK_PUSH_DESCRIPTOR = 1 << 12,
	NXVK_SUBGROUP_SIZE = 1 << 13,
	NXVK_MEMORY_BUDGET = 1 << 14,
	NXVK_ATOMIC_FLOAT = 1 << 15,
	NXVK_TIMESTAMPS = 1 << 16,
	NXVK_PRESERVE32 = 1 << 17,
	NXVK_PRESERVE64 = 1 << 18,
	NXVK_ROUND_EVEN32 = 1 << 19,
	NXVK_ROUND_EVEN64 = 1 << 20,
	NXVK_DENORM32 = 1 << 21,
	NXVK_DENORM64 = 1 << 22,
	NXVK_MATRIX = 1 << 23,
	NXVK_MATRIX_BF16 = 1 << 24,
	NXVK_HOST_IMPORT = 1 << 25,
	NXVK_CACHE_ONLY = 1 << 26,
};

// A shape of cooperative matrices; types and scope are numbers of Vulkan.
typedef struct {
	uint32_t m, n, k, a, b, c, result, scope, saturating;
} nxvk_matrix;

#define NXVK_MAX_MATRICES 256

typedef struct {
	char name[256], driver[256], driver_info[256];
	uint8_t uuid[16], cache_uuid[16];
	uint32_t kind, vendor, device, api, driver_version, driver_id;
	uint32_t features, family, queues; // queues that the family has
	uint32_t copy_queues, copy_family[NXVK_MAX_COPY_QUEUES], copy_index[NXVK_MAX_COPY_QUEUES];
	uint32_t max_push, max_bindings, shared, max_invocations, max_size[3], max_count[3];
	uint32_t subgroup, subgroup_min, subgroup_max, subgroup_ops;
	uint64_t max_range, max_alloc, offset_align, import_align;
	float timestamp_period;
	uint32_t types, heaps;
	uint32_t type_flags[32], type_heap[32];
	uint64_t heap_size[16];
	uint32_t heap_flags[16];
	uint32_t matrices;
	nxvk_matrix matrix[NXVK_MAX_MATRICES];
} nxvk_info;

// One recorded command; the Go type Cmd has the same layout.
typedef struct {
	uint32_t op, barrier;
	uint64_t a, b;	  // pipeline and layout, or source and destination buffer
	uint64_t c, d, e; // source offset, destination offset, bytes; of a dispatch, its base
	uint32_t x, y, z; // workgroups; x is the word of a fill or a query index
	uint32_t push_at, push_n;
	uint32_t bind_at, bind_n;
	uint32_t pad;
} nxvk_cmd;

typedef struct {
	uint64_t buffer, offset, range;
} nxvk_bind;

enum { NXVK_DISPATCH = 1, NXVK_COPY, NXVK_FILL, NXVK_TIMESTAMP, NXVK_QUERY_RESULT, NXVK_HOST_BARRIER };

// A command buffer with its pools, recycled as one.
typedef struct {
	VkCommandPool pool;
	VkCommandBuffer buffer;
	VkDescriptorPool *sets; // grows while recording, reset as a whole
	uint32_t sets_len, sets_used;
	VkQueryPool queries;
	bool copies; // for queues that only copy
} nxvk_recorder;

#define NXVK_MAX_QUERIES 64

const char *nxvk_load(void);
void *nxvk_proc_addr(void);
int32_t nxvk_create_instance(int validation, uintptr_t handle, nxvk_instance **out);
void nxvk_destroy_instance(nxvk_instance *in);
void nxvk_get_info(nxvk_instance *in, uint64_t gpu, nxvk_info *out);
void nxvk_get_budget(nxvk_instance *in, uint64_t gpu, uint64_t *budget, uint64_t *usage);
int32_t nxvk_create_device(
	nxvk_instance *in, uint64_t gpu, const nxvk_info *info, nxvk_device **out); // with info->queues queues
void nxvk_destroy_device(nxvk_device *d);
int32_t nxvk_wait_idle(nxvk_device *d);

int32_t nxvk_create_buffer(
	nxvk_device *d, uint64_t size, int address, int imported, uint64_t *buffer, uint64_t *need, uint32_t *types);
void nxvk_destroy_buffer(nxvk_device *d, uint64_t buffer);
int32_t nxvk_allocate(nxvk_device *d, uint64_t size, uint32_t type, int address, uint64_t *memory);
int32_t nxvk_host_types(nxvk_device *d, void *p, uint32_t *types);
int32_t nxvk_import(nxvk_device *d, void *p, uint64_t size, uint32_t type, int address, uint64_t *memory);
int32_t nxvk_bind_memory(nxvk_device *d, uint64_t buffer, uint64_t memory);
int32_t nxvk_map(nxvk_device *d, uint64_t memory, void **p);
uint64_t nxvk_address(nxvk_device *d, uint64_t buffer);
void nxvk_free_memory(nxvk_device *d, uint64_t memory);

int32_t nxvk_create_cache(nxvk_device *d, const void *data, size_t n, uint64_t *out);
int32_t nxvk_cache_data(nxvk_device *d, uint64_t cache, void *data, size_t *n);
int32_t nxvk_merge_cache(nxvk_device *d, uint64_t cache, uint64_t from);
void nxvk_destroy_cache(nxvk_device *d, uint64_t cache);
int32_t nxvk_create_layout(
	nxvk_device *d, uint32_t buffers, int push_sets, uint32_t push, uint64_t *set, uint64_t *layout);
void nxvk_destroy_layout(nxvk_device *d, uint64_t set, uint64_t layout);
int32_t nxvk_create_pipeline(nxvk_device *d, const uint32_t *code, size_t words, uint64_t layout, uint64_t cache,
	const uint32_t *spec, uint32_t specs, uint32_t subgroup, int base, int cache_only, uint64_t *out);
void nxvk_destroy_pipeline(nxvk_device *d, uint64_t pipeline);

int32_t nxvk_create_recorder(nxvk_device *d, uint32_t copies, nxvk_recorder **out);
void nxvk_destroy_recorder(nxvk_device *d, nxvk_recorder *r);
int32_t nxvk_replay(nxvk_device *d, nxvk_recorder *r, const nxvk_cmd *cmds, uint32_t n, const uint8_t *push,
	const nxvk_bind *binds, uint32_t queries, bool once);

int32_t nxvk_create_timeline(nxvk_device *d, uint64_t *out);
void nxvk_destroy_semaphore(nxvk_device *d, uint64_t sem);
int32_t nxvk_counter(nxvk_device *d, uint64_t sem, uint64_t *value);
int32_t nxvk_wait(nxvk_device *d, uint64_t sem, uint64_t value, uint64_t timeout_ns);

// A point of a timeline.
typedef struct {
	uint64_t sem, value;
} nxvk_point;

int32_t nxvk_submit(nxvk_device *d, uint32_t queue, nxvk_recorder *r, uint64_t sem, uint64_t value,
	const nxvk_point *after, uint32_t n);

// Vulkan's non-dispatchable handles are pointers on 64-bit machines and
// integers on 32-bit ones; both fit in 64 bits.
#define NXVK_H(type, v) ((type)(v))
#define NXVK_U(h) ((uint64_t)(h))

#endif
