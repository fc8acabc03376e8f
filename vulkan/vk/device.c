//go:build cgo

// device.c creates a device, with those features of kernels that it has.
#include <stdlib.h>
#include "loader.h"
#include "chain.h"

static void enable(nxvk_features *f, uint32_t b) {
#define ON(bit) ((b & (bit)) ? VK_TRUE : VK_FALSE)
	VkPhysicalDeviceVulkan12Features *v = &f->v12;
	f->core.features.shaderFloat64 = ON(NXVK_FLOAT64);
	f->core.features.shaderInt64 = ON(NXVK_INT64);
	f->core.features.shaderInt16 = ON(NXVK_INT16);
	f->v11.storageBuffer16BitAccess = ON(NXVK_STORAGE16);
	v->shaderInt8 = ON(NXVK_INT8);
	v->shaderFloat16 = ON(NXVK_FLOAT16);
	v->storageBuffer8BitAccess = ON(NXVK_STORAGE8);
	v->bufferDeviceAddress = ON(NXVK_ADDRESS);
	v->timelineSemaphore = ON(NXVK_TIMELINE);
	v->scalarBlockLayout = ON(NXVK_SCALAR_LAYOUT);
	v->vulkanMemoryModel = v->vulkanMemoryModelDeviceScope = ON(NXVK_MEMORY_MODEL);
	v->shaderBufferInt64Atomics = ON(NXVK_ATOMIC_INT64);
	f->subgroup.subgroupSizeControl = ON(NXVK_SUBGROUP_SIZE);
	f->cache.pipelineCreationCacheControl = ON(NXVK_CACHE_ONLY);
	f->atomics.shaderBufferFloat32Atomics = f->atomics.shaderBufferFloat32AtomicAdd = ON(NXVK_ATOMIC_FLOAT);
	f->matrix.cooperativeMatrix = ON(NXVK_MATRIX);
	f->matrix.cooperativeMatrixRobustBufferAccess = VK_FALSE;
	f->bf16.shaderBFloat16Type = f->bf16.shaderBFloat16CooperativeMatrix = ON(NXVK_MATRIX_BF16);
#undef ON
}

static uint32_t pick_extensions(const VkExtensionProperties *list, uint32_t n, uint32_t api, const char **out) {
	static const char *wanted[] = {
		VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME,
		VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME,
		VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME,
		"VK_KHR_portability_subset", // must be enabled wherever it is listed
	};
	uint32_t k = 0;
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		if (nxvk_has(list, n, wanted[i])) out[k++] = wanted[i];
	static const char *core[] = { // since 1.3
		VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, VK_EXT_PIPELINE_CREATION_CACHE_CONTROL_EXTENSION_NAME};
	for (size_t i = 0; i < sizeof core / sizeof *core; i++)
		if (api < VK_API_VERSION_1_3 && nxvk_has(list, n, core[i])) out[k++] = core[i];
	return k;
}

static int load_device(nxvk_instance *in, nxvk_device *d) {
	int ok = 1;
#define LOAD(name) ok &= (d->name = (PFN_vk##name)in->GetDeviceProcAddr(d->handle, "vk" #name)) != NULL;
	NXVK_DEVICE_FUNCS(LOAD)
#undef LOAD
#define LOAD(name) d->name = (PFN_vk##name)in->GetDeviceProcAddr(d->handle, "vk" #name);
	NXVK_OPTIONAL_FUNCS(LOAD)
#undef LOAD
	return ok && d->GetSemaphoreCounterValue && d->WaitSemaphores;
}

// add_queues has a device get so many queues of a family, at least.
static void add_queues(
	VkDeviceQueueCreateInfo *list, uint32_t *n, uint32_t family, uint32_t queues, const float *priorities) {
	for (uint32_t i = 0; i < *n; i++) {
		if (list[i].queueFamilyIndex != family) continue;
		if (list[i].queueCount < queues) list[i].queueCount = queues;
		return;
	}
	list[(*n)++] = (VkDeviceQueueCreateInfo){
		.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
		.queueFamilyIndex = family,
		.queueCount = queues,
		.pQueuePriorities = priorities,
	};
}

int32_t nxvk_create_device(nxvk_instance *in, uint64_t handle, const nxvk_info *info, nxvk_device **out) {
	VkPhysicalDevice gpu = (VkPhysicalDevice)(uintptr_t)handle;
	VkExtensionProperties *list;
	uint32_t n = nxvk_extensions(in, gpu, &list);
	const char *names[8];
	uint32_t queues = info->queues > NXVK_MAX_QUEUES ? NXVK_MAX_QUEUES : info->queues ? info->queues : 1;
	uint32_t copying = info->copy_queues > NXVK_MAX_COPY_QUEUES ? NXVK_MAX_COPY_QUEUES : info->copy_queues;
	static const float priorities[] = {1, 1, 1, 1, 1, 1, 1, 1};
	VkDeviceQueueCreateInfo q[1 + NXVK_MAX_COPY_QUEUES];
	uint32_t families = 0;
	add_queues(q, &families, info->family, queues, priorities);
	for (uint32_t i = 0; i < copying; i++)
		add_queues(q, &families, info->copy_family[i], info->copy_index[i] + 1, priorities);
	nxvk_features f;
	nxvk_chain(&f, info->api, list, n);
	enable(&f, info->features);
	VkDeviceCreateInfo ci = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
		.pNext = &f.core,
		.queueCreateInfoCount = families,
		.pQueueCreateInfos = q,
		.enabledExtensionCount = pick_extensions(list, n, info->api, names),
		.ppEnabledExtensionNames = names,
	};
	nxvk_device *d = calloc(1, sizeof *d);
	VkResult r = in->CreateDevice(gpu, &ci, NULL, &d->handle);
	free(list);
	if (r != VK_SUCCESS) {
		free(d);
		return r;
	}
	d->family = info->family, d->computing = queues, d->copying = copying, d->distinct = families;
	for (uint32_t i = 0; i < families; i++) d->families[i] = q[i].queueFamilyIndex;
	for (uint32_t i = 0; i < copying; i++) d->copy_family[i] = info->copy_family[i];
	d->DestroyDevice = (PFN_vkDestroyDevice)in->GetDeviceProcAddr(d->handle, "vkDestroyDevice");
	if (!load_device(in, d)) {
		nxvk_destroy_device(d);
		return VK_ERROR_INCOMPATIBLE_DRIVER;
	}
	for (uint32_t i = 0; i < queues; i++) d->GetDeviceQueue(d->handle, info->family, i, &d->queues[i]);
	for (uint32_t i = 0; i < copying; i++)
		d->GetDeviceQueue(d->handle, info->copy_family[i], info->copy_index[i], &d->queues[queues + i]);
	*out = d;
	return VK_SUCCESS;
}

void nxvk_destroy_device(nxvk_device *d) {
	d->DestroyDevice(d->handle, NULL);
	free(d);
}

int32_t nxvk_wait_idle(nxvk_device *d) { return d->DeviceWaitIdle(d->handle); }
