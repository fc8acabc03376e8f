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
	if (api < VK_API_VERSION_1_3 && nxvk_has(list, n, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME))
		out[k++] = VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME;
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

int32_t nxvk_create_device(nxvk_instance *in, uint64_t handle, const nxvk_info *info, nxvk_device **out) {
	VkPhysicalDevice gpu = (VkPhysicalDevice)(uintptr_t)handle;
	VkExtensionProperties *list;
	uint32_t n = nxvk_extensions(in, gpu, &list);
	const char *names[8];
	float priorities[NXVK_MAX_QUEUES];
	uint32_t queues = info->queues > NXVK_MAX_QUEUES ? NXVK_MAX_QUEUES : info->queues ? info->queues : 1;
	uint32_t copying = info->copy_queues > NXVK_MAX_COPY_QUEUES ? NXVK_MAX_COPY_QUEUES : info->copy_queues;
	for (uint32_t i = 0; i < NXVK_MAX_QUEUES; i++) priorities[i] = 1;
	nxvk_features f;
	nxvk_chain(&f, info->api, list, n);
	enable(&f, info->features);
	VkDeviceQueueCreateInfo q[2] = {
		{
			.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
			.queueFamilyIndex = info->family,
			.queueCount = queues,
			.pQueuePriorities = priorities,
		},
		{
			.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
			.queueFamilyIndex = info->copy_family,
			.queueCount = copying,
			.pQueuePriorities = priorities,
		},
	};
	VkDeviceCreateInfo ci = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
		.pNext = &f.core,
		.queueCreateInfoCount = copying ? 2 : 1,
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
	d->families[0] = info->family, d->families[1] = info->copy_family;
	d->computing = queues, d->copying = copying;
	d->DestroyDevice = (PFN_vkDestroyDevice)in->GetDeviceProcAddr(d->handle, "vkDestroyDevice");
	if (!load_device(in, d)) {
		nxvk_destroy_device(d);
		return VK_ERROR_INCOMPATIBLE_DRIVER;
	}
	for (uint32_t i = 0; i < queues + copying; i++)
		d->GetDeviceQueue(d->handle, d->families[i >= queues], i >= queues ? i - queues : i, &d->queues[i]);
	*out = d;
	return VK_SUCCESS;
}

void nxvk_destroy_device(nxvk_device *d) {
	d->DestroyDevice(d->handle, NULL);
	free(d);
}

int32_t nxvk_wait_idle(nxvk_device *d) { return d->DeviceWaitIdle(d->handle); }
