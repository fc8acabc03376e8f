#ifndef NXVK_LOADER_H
#define NXVK_LOADER_H
#include "vk.h"

extern PFN_vkGetInstanceProcAddr nxvk_gipa;

#define NXVK_GLOBAL(name) ((PFN_vk##name)nxvk_gipa(NULL, "vk" #name))

// nxvk_has reports whether an extension is in a list.
static inline int nxvk_has(const VkExtensionProperties *list, uint32_t n, const char *name) {
	for (uint32_t i = 0; i < n; i++) {
		const char *a = list[i].extensionName, *b = name;
		while (*a && *a == *b) a++, b++;
		if (*a == *b) return 1;
	}
	return 0;
}
#endif
