//go:build !cgo && !novulkan && (amd64 || arm64)

package vk

import "golang.org/x/sys/windows"

// libraries are the names of the loader, which drivers install among the system's libraries.
var libraries = []string{"vulkan-1.dll"}

// openLoader opens a library of the program's folder or of the system, not of the current
// folder, and returns its vkGetInstanceProcAddr.
func openLoader(name string) (uintptr, error) {
	lib, err := windows.LoadLibraryEx(name, 0, windows.LOAD_LIBRARY_SEARCH_DEFAULT_DIRS)
	if err != nil {
		return 0, err
	}
	return windows.GetProcAddress(lib, "vkGetInstanceProcAddr")
}
