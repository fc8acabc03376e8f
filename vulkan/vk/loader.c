//go:build cgo

// loader.c finds the Vulkan loader. Only the library's name differs between
// operating systems.
#include "vk.h"
#include "loader.h"

#ifdef _WIN32
#include <windows.h>
static void *open_library(const char *name) { return (void *)LoadLibraryA(name); }
static void *find_symbol(void *lib, const char *name) { return (void *)GetProcAddress((HMODULE)lib, name); }
static const char *names[] = {"vulkan-1.dll", NULL};
#else
#include <dlfcn.h>
static void *open_library(const char *name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }
static void *find_symbol(void *lib, const char *name) { return dlsym(lib, name); }
#ifdef __APPLE__
static const char *names[] = {"libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib",
	"/usr/local/lib/libvulkan.1.dylib", "/opt/homebrew/lib/libvulkan.1.dylib", NULL};
#else
static const char *names[] = {"libvulkan.so.1", "libvulkan.so", NULL};
#endif
#endif

PFN_vkGetInstanceProcAddr nxvk_gipa;

// nxvk_load opens the loader once and returns NULL, or the first name it
// looked for. The caller serialises it.
const char *nxvk_load(void) {
	if (nxvk_gipa) return NULL;
	for (int i = 0; names[i]; i++) {
		void *lib = open_library(names[i]);
		if (!lib) continue;
		nxvk_gipa = (PFN_vkGetInstanceProcAddr)find_symbol(lib, "vkGetInstanceProcAddr");
		if (nxvk_gipa) return NULL;
	}
	return names[0];
}

void *nxvk_proc_addr(void) { return (void *)nxvk_gipa; }
