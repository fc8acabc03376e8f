#ifndef NXVK_CHAIN_H
#define NXVK_CHAIN_H
#include "vk.h"

// The chain of feature structures, linked by nxvk_chain as far as the device
// knows them. It is filled by a query and, cut down, enables a device.
typedef struct {
	VkPhysicalDeviceFeatures2 core;
	VkPhysicalDeviceVulkan11Features v11;
	VkPhysicalDeviceVulkan12Features v12;
	VkPhysicalDeviceSubgroupSizeControlFeatures subgroup;
	VkPhysicalDevicePipelineCreationCacheControlFeatures cache;
	VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomics;
	VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix;
	VkPhysicalDeviceShaderBfloat16FeaturesKHR bf16;
} nxvk_features;

void nxvk_chain(nxvk_features *f, uint32_t api, const VkExtensionProperties *list, uint32_t n);
uint32_t nxvk_extensions(nxvk_instance *in, VkPhysicalDevice gpu, VkExtensionProperties **out);
#endif
