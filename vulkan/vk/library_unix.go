//go:build !cgo && !novulkan && (amd64 || arm64) && (linux || freebsd || darwin)

package vk

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// libraries are the names of the loader, in the order of preference. Names without a folder are
// looked for where the system looks; folders of package managers need not be among those.
var libraries = map[string][]string{
	"linux":   {"libvulkan.so.1", "libvulkan.so"},
	"freebsd": {"libvulkan.so.1", "libvulkan.so", "/usr/local/lib/libvulkan.so.1"},
	"darwin": {"libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib",
		"/usr/local/lib/libvulkan.1.dylib", "/opt/homebrew/lib/libvulkan.1.dylib"},
}[runtime.GOOS]

// openLoader opens a library and returns its vkGetInstanceProcAddr. What the linker says of an error, it says to the
// thread that has made it.
func openLoader(name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	lib, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return 0, err
	}
	return purego.Dlsym(lib, "vkGetInstanceProcAddr")
}
