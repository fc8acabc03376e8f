//go:build cgo

// instance.c creates instances, with the validation layer when asked.
#include <stdlib.h>
#include <string.h>
#include "loader.h"
#include "_cgo_export.h"

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
	VkDebugUtilsMessageTypeFlagsEXT type, const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
	(void)type;
	nxvkMessage((uintptr_t)user, (uint32_t)severity, (char *)data->pMessage);
	return VK_FALSE;
}

static int has_layer(const char *name) {
	uint32_t n = 0;
	NXVK_GLOBAL(EnumerateInstanceLayerProperties)(&n, NULL);
	VkLayerProperties *all = calloc(n + 1, sizeof *all);
	NXVK_GLOBAL(EnumerateInstanceLayerProperties)(&n, all);
	int found = 0;
	for (uint32_t i = 0; i < n; i++) found |= !strcmp(all[i].layerName, name);
	free(all);
	return found;
}

static void load_instance(nxvk_instance *in) {
#define LOAD(name) in->name = (PFN_vk##name)nxvk_gipa(in->handle, "vk" #name);
	NXVK_INSTANCE_FUNCS(LOAD)
	LOAD(GetPhysicalDeviceCooperativeMatrixPropertiesKHR)
#undef LOAD
}

static int32_t create_messenger(nxvk_instance *in, const VkDebugUtilsMessengerCreateInfoEXT *ci) {
	PFN_vkCreateDebugUtilsMessengerEXT create =
		(PFN_vkCreateDebugUtilsMessengerEXT)nxvk_gipa(in->handle, "vkCreateDebugUtilsMessengerEXT");
	in->DestroyDebugUtilsMessengerEXT =
		(PFN_vkDestroyDebugUtilsMessengerEXT)nxvk_gipa(in->handle, "vkDestroyDebugUtilsMessengerEXT");
	return create ? create(in->handle, ci, NULL, &in->messenger) : VK_ERROR_EXTENSION_NOT_PRESENT;
}

int32_t nxvk_create_instance(int validation, uintptr_t handle, nxvk_instance **out) {
	static const char *layer = "VK_LAYER_KHRONOS_validation";
	if (validation && !has_layer(layer)) return VK_ERROR_LAYER_NOT_PRESENT;
	uint32_t api = VK_API_VERSION_1_0;
	PFN_vkEnumerateInstanceVersion version = NXVK_GLOBAL(EnumerateInstanceVersion);
	if (version) version(&api);
	if (api < VK_API_VERSION_1_1) return VK_ERROR_INCOMPATIBLE_DRIVER;
	if (api > VK_API_VERSION_1_3) api = VK_API_VERSION_1_3;

	uint32_t n = 0, exts = 0;
	NXVK_GLOBAL(EnumerateInstanceExtensionProperties)(NULL, &n, NULL);
	VkExtensionProperties *list = calloc(n + 1, sizeof *list);
	NXVK_GLOBAL(EnumerateInstanceExtensionProperties)(NULL, &n, list);
	const char *names[4];
	VkInstanceCreateFlags flags = 0;
	if (nxvk_has(list, n, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
		names[exts++] = VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
		flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
	}
	free(list);

	VkDebugUtilsMessengerCreateInfoEXT debug = {
		.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
		.messageSeverity =
			VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
		.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
		.pfnUserCallback = on_message,
		.pUserData = (void *)handle,
	};
	VkValidationFeatureEnableEXT enables[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
	VkValidationFeaturesEXT features = {
		.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
		.pNext = &debug,
		.enabledValidationFeatureCount = 1,
		.pEnabledValidationFeatures = enables,
	};
	VkApplicationInfo app = {
		.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pApplicationName = "nxvk", .apiVersion = api};
	VkInstanceCreateInfo ci = {
		.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .flags = flags, .pApplicationInfo = &app};
	if (validation) {
		names[exts++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
		ci.pNext = &features;
		ci.enabledLayerCount = 1;
		ci.ppEnabledLayerNames = &layer;
	}
	ci.enabledExtensionCount = exts;
	ci.ppEnabledExtensionNames = names;

	nxvk_instance *in = calloc(1, sizeof *in);
	in->api = api;
	VkResult r = NXVK_GLOBAL(CreateInstance)(&ci, NULL, &in->handle);
	if (r != VK_SUCCESS) {
		free(in);
		return r;
	}
	load_instance(in);
	if (validation && (r = create_messenger(in, &debug)) != VK_SUCCESS) {
		nxvk_destroy_instance(in);
		return r;
	}
	*out = in;
	return VK_SUCCESS;
}

void nxvk_destroy_instance(nxvk_instance *in) {
	if (in->messenger) in->DestroyDebugUtilsMessengerEXT(in->handle, in->messenger, NULL);
	in->DestroyInstance(in->handle, NULL);
	free(in);
}
