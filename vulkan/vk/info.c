//go:build cgo

// info.c reads the properties, features and limits of a physical device.
#include <stdlib.h>
#include <string.h>
#include "loader.h"
#include "chain.h"

// pick_family prefers a family that computes and does not draw: its queues
// have lower latency and overlap with one another.
static uint32_t pick_family(nxvk_instance *in, VkPhysicalDevice gpu, uint32_t *timestamps, uint32_t *queues) {
	VkQueueFamilyProperties f[32];
	uint32_t n = 32, best = UINT32_MAX;
	in->GetPhysicalDeviceQueueFamilyProperties(gpu, &n, f);
	for (uint32_t i = 0; i < n; i++) {
		if (!(f[i].queueFlags & VK_QUEUE_COMPUTE_BIT) || !f[i].queueCount) continue;
		int only = !(f[i].queueFlags & VK_QUEUE_GRAPHICS_BIT);
		if (best == UINT32_MAX || (only && (f[best].queueFlags & VK_QUEUE_GRAPHICS_BIT))) best = i;
	}
	*timestamps = best != UINT32_MAX && f[best].timestampValidBits == 64;
	*queues = best != UINT32_MAX ? f[best].queueCount : 0;
	return best;
}

// pick_copy_queues finds queues that do nothing but copy: two of a family. Those of other families, for video or optical
// flow, copy as well.
static void pick_copy_queues(nxvk_instance *in, VkPhysicalDevice gpu, nxvk_info *out) {
	VkQueueFamilyProperties f[NXVK_MAX_FAMILIES];
	uint32_t n = NXVK_MAX_FAMILIES, only = UINT32_MAX;
	in->GetPhysicalDeviceQueueFamilyProperties(gpu, &n, f);
	for (uint32_t i = 0; i < n && only == UINT32_MAX; i++) {
		VkQueueFlags what = f[i].queueFlags & ~(VK_QUEUE_SPARSE_BINDING_BIT | VK_QUEUE_PROTECTED_BIT);
		if (what == VK_QUEUE_TRANSFER_BIT && f[i].queueCount) only = i;
	}
	if (only == UINT32_MAX) return;
	out->copy_family[0] = out->copy_family[1] = only;
	out->copy_index[1] = 1;
	out->copy_queues = f[only].queueCount > 1 ? 2 : 1;
}

uint32_t nxvk_extensions(nxvk_instance *in, VkPhysicalDevice gpu, VkExtensionProperties **out) {
	uint32_t n = 0;
	in->EnumerateDeviceExtensionProperties(gpu, NULL, &n, NULL);
	*out = calloc(n + 1, sizeof **out);
	in->EnumerateDeviceExtensionProperties(gpu, NULL, &n, *out);
	return n;
}

void nxvk_chain(nxvk_features *f, uint32_t api, const VkExtensionProperties *list, uint32_t n) {
	memset(f, 0, sizeof *f);
	f->core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
	f->v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
	f->v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
	f->subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
	f->cache.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_CREATION_CACHE_CONTROL_FEATURES;
	f->atomics.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT;
	void **next = &f->core.pNext;
	if (api >= VK_API_VERSION_1_2) {
		*next = &f->v11;
		next = &f->v11.pNext;
		*next = &f->v12;
		next = &f->v12.pNext;
	}
	if (api >= VK_API_VERSION_1_3 || nxvk_has(list, n, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) {
		*next = &f->subgroup;
		next = &f->subgroup.pNext;
	}
	if (api >= VK_API_VERSION_1_3 || nxvk_has(list, n, VK_EXT_PIPELINE_CREATION_CACHE_CONTROL_EXTENSION_NAME)) {
		*next = &f->cache;
		next = &f->cache.pNext;
	}
	f->matrix.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
	f->bf16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR;
	if (nxvk_has(list, n, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME)) {
		*next = &f->atomics;
		next = &f->atomics.pNext;
	}
	if (nxvk_has(list, n, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME)) {
		*next = &f->matrix;
		next = &f->matrix.pNext;
	}
	if (nxvk_has(list, n, VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME)) *next = &f->bf16;
}

static uint32_t feature_bits(const nxvk_features *f, const VkExtensionProperties *list, uint32_t n) {
	uint32_t b = 0;
	const VkPhysicalDeviceVulkan12Features *v = &f->v12;
	if (f->core.features.shaderFloat64) b |= NXVK_FLOAT64;
	if (f->core.features.shaderInt64) b |= NXVK_INT64;
	if (f->core.features.shaderInt16) b |= NXVK_INT16;
	if (v->shaderInt8) b |= NXVK_INT8;
	if (v->shaderFloat16) b |= NXVK_FLOAT16;
	if (f->v11.storageBuffer16BitAccess) b |= NXVK_STORAGE16;
	if (v->storageBuffer8BitAccess) b |= NXVK_STORAGE8;
	if (v->bufferDeviceAddress) b |= NXVK_ADDRESS;
	if (v->timelineSemaphore) b |= NXVK_TIMELINE;
	if (v->scalarBlockLayout) b |= NXVK_SCALAR_LAYOUT;
	if (v->vulkanMemoryModel && v->vulkanMemoryModelDeviceScope) b |= NXVK_MEMORY_MODEL;
	if (v->shaderBufferInt64Atomics) b |= NXVK_ATOMIC_INT64;
	if (f->subgroup.subgroupSizeControl) b |= NXVK_SUBGROUP_SIZE;
	if (f->cache.pipelineCreationCacheControl) b |= NXVK_CACHE_ONLY;
	if (f->atomics.shaderBufferFloat32AtomicAdd) b |= NXVK_ATOMIC_FLOAT;
	if (f->matrix.cooperativeMatrix) b |= NXVK_MATRIX;
	if (f->bf16.shaderBFloat16Type && f->bf16.shaderBFloat16CooperativeMatrix) b |= NXVK_MATRIX_BF16;
	if (nxvk_has(list, n, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME)) b |= NXVK_PUSH_DESCRIPTOR;
	if (nxvk_has(list, n, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME)) b |= NXVK_MEMORY_BUDGET;
	if (nxvk_has(list, n, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) b |= NXVK_HOST_IMPORT;
	return b;
}

static void copy_limits(nxvk_info *out, const VkPhysicalDeviceProperties *p) {
	const VkPhysicalDeviceLimits *l = &p->limits;
	memcpy(out->name, p->deviceName, sizeof out->name);
	memcpy(out->cache_uuid, p->pipelineCacheUUID, 16);
	out->kind = p->deviceType;
	out->vendor = p->vendorID;
	out->device = p->deviceID;
	out->api = p->apiVersion;
	out->driver_version = p->driverVersion;
	out->max_push = l->maxPushConstantsSize;
	out->max_bindings = l->maxPerStageDescriptorStorageBuffers;
	out->shared = l->maxComputeSharedMemorySize;
	out->max_invocations = l->maxComputeWorkGroupInvocations;
	memcpy(out->max_size, l->maxComputeWorkGroupSize, sizeof out->max_size);
	memcpy(out->max_count, l->maxComputeWorkGroupCount, sizeof out->max_count);
	out->max_range = l->maxStorageBufferRange;
	out->offset_align = l->minStorageBufferOffsetAlignment;
	out->timestamp_period = l->timestampPeriod;
}

static void copy_memory(nxvk_instance *in, VkPhysicalDevice gpu, nxvk_info *out) {
	VkPhysicalDeviceMemoryProperties2 m = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
	in->GetPhysicalDeviceMemoryProperties2(gpu, &m);
	out->types = m.memoryProperties.memoryTypeCount;
	out->heaps = m.memoryProperties.memoryHeapCount;
	for (uint32_t i = 0; i < out->types; i++) {
		out->type_flags[i] = m.memoryProperties.memoryTypes[i].propertyFlags;
		out->type_heap[i] = m.memoryProperties.memoryTypes[i].heapIndex;
	}
	for (uint32_t i = 0; i < out->heaps; i++) {
		out->heap_size[i] = m.memoryProperties.memoryHeaps[i].size;
		out->heap_flags[i] = m.memoryProperties.memoryHeaps[i].flags;
	}
}

// float_controls returns which modes of floats a kernel may ask for. Modes of rounding and of
// subnormals count only where each width has its own.
static uint32_t float_controls(const VkPhysicalDeviceVulkan12Properties *p) {
	uint32_t bits = 0;
	if (p->shaderSignedZeroInfNanPreserveFloat32) bits |= NXVK_PRESERVE32;
	if (p->shaderSignedZeroInfNanPreserveFloat64) bits |= NXVK_PRESERVE64;
	if (p->roundingModeIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL) {
		if (p->shaderRoundingModeRTEFloat32) bits |= NXVK_ROUND_EVEN32;
		if (p->shaderRoundingModeRTEFloat64) bits |= NXVK_ROUND_EVEN64;
	}
	if (p->denormBehaviorIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL) {
		if (p->shaderDenormPreserveFloat32) bits |= NXVK_DENORM32;
		if (p->shaderDenormPreserveFloat64) bits |= NXVK_DENORM64;
	}
	return bits;
}

// copy_matrices lists the shapes of cooperative matrices.
static void copy_matrices(nxvk_instance *in, VkPhysicalDevice gpu, nxvk_info *out) {
	VkCooperativeMatrixPropertiesKHR list[NXVK_MAX_MATRICES];
	uint32_t n = NXVK_MAX_MATRICES;
	if (!in->GetPhysicalDeviceCooperativeMatrixPropertiesKHR) return;
	memset(list, 0, sizeof list);
	for (uint32_t i = 0; i < n; i++) list[i].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
	if (in->GetPhysicalDeviceCooperativeMatrixPropertiesKHR(gpu, &n, list) < 0) return;
	out->matrices = n;
	for (uint32_t i = 0; i < n; i++) {
		const VkCooperativeMatrixPropertiesKHR *p = &list[i];
		out->matrix[i] = (nxvk_matrix){p->MSize, p->NSize, p->KSize, p->AType, p->BType, p->CType, p->ResultType,
			p->scope, p->saturatingAccumulation};
	}
}

void nxvk_get_info(nxvk_instance *in, uint64_t handle, nxvk_info *out) {
	VkPhysicalDevice gpu = (VkPhysicalDevice)(uintptr_t)handle;
	memset(out, 0, sizeof *out);
	VkPhysicalDeviceProperties base;
	in->GetPhysicalDeviceProperties(gpu, &base);
	copy_limits(out, &base);
	if (out->api > in->api) out->api = in->api;
	uint32_t timestamps;
	out->family = pick_family(in, gpu, &timestamps, &out->queues);
	pick_copy_queues(in, gpu, out);
	copy_memory(in, gpu, out);
	if (base.apiVersion < VK_API_VERSION_1_2) return;

	VkExtensionProperties *list;
	uint32_t n = nxvk_extensions(in, gpu, &list);
	VkPhysicalDeviceSubgroupSizeControlProperties sg = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
	VkPhysicalDeviceVulkan12Properties v12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
	VkPhysicalDeviceVulkan11Properties v11 = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES, .pNext = &v12};
	VkPhysicalDevicePushDescriptorPropertiesKHR pd = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR};
	VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
	VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &v11};
	if (out->api >= VK_API_VERSION_1_3 || nxvk_has(list, n, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME))
		v12.pNext = &sg;
	if (nxvk_has(list, n, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME)) pd.pNext = v12.pNext, v12.pNext = &pd;
	if (nxvk_has(list, n, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) host.pNext = v12.pNext, v12.pNext = &host;
	in->GetPhysicalDeviceProperties2(gpu, &p);
	nxvk_features f;
	nxvk_chain(&f, out->api, list, n);
	in->GetPhysicalDeviceFeatures2(gpu, &f.core);
	out->features = feature_bits(&f, list, n) | float_controls(&v12) | (timestamps ? NXVK_TIMESTAMPS : 0);
	free(list);
	if (f.matrix.cooperativeMatrix) copy_matrices(in, gpu, out);

	out->import_align = host.minImportedHostPointerAlignment;
	if (pd.maxPushDescriptors && pd.maxPushDescriptors < out->max_bindings) out->max_bindings = pd.maxPushDescriptors;
	memcpy(out->uuid, v11.deviceUUID, 16);
	memcpy(out->driver, v12.driverName, sizeof out->driver);
	memcpy(out->driver_info, v12.driverInfo, sizeof out->driver_info);
	out->driver_id = v12.driverID;
	out->max_alloc = v11.maxMemoryAllocationSize;
	out->subgroup = v11.subgroupSize;
	out->subgroup_ops = v11.subgroupSupportedOperations;
	out->subgroup_min = sg.minSubgroupSize ? sg.minSubgroupSize : v11.subgroupSize;
	out->subgroup_max = sg.maxSubgroupSize ? sg.maxSubgroupSize : v11.subgroupSize;
}

void nxvk_get_budget(nxvk_instance *in, uint64_t handle, uint64_t *budget, uint64_t *usage) {
	VkPhysicalDeviceMemoryBudgetPropertiesEXT b = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
	VkPhysicalDeviceMemoryProperties2 m = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, .pNext = &b};
	in->GetPhysicalDeviceMemoryProperties2((VkPhysicalDevice)(uintptr_t)handle, &m);
	for (uint32_t i = 0; i < VK_MAX_MEMORY_HEAPS; i++) budget[i] = b.heapBudget[i], usage[i] = b.heapUsage[i];
}
