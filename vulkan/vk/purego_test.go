//go:build !cgo && !novulkan && (amd64 || arm64) && (linux || freebsd || darwin || windows)

package vk

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"nxvk/vulkan/vk/abi"
)

// The error of a loader that is not there has its name and what the system says.
func TestLoadNamesLibrary(t *testing.T) {
	_, err := load([]string{"libnxvk-absent.so.1", "libnxvk-absent.so"})
	if err == nil || !strings.HasPrefix(err.Error(), "libnxvk-absent.so.1 not found: ") || len(err.Error()) < 60 {
		t.Errorf("%v", err)
	}
	if len(libraries) == 0 {
		t.Error("no names of the loader on this system")
	}
}

// A feature is what all its members say, and a chain has only structures that the device knows.
func TestFeatures(t *testing.T) {
	var pin runtime.Pinner
	defer pin.Unpin()
	f := newFeatures(&pin, abi.Version13, nil)
	if f.core.PNext != unsafe.Pointer(&f.v11) || f.v12.PNext != unsafe.Pointer(&f.subgroup) ||
		f.subgroup.PNext != unsafe.Pointer(&f.cache) || f.cache.PNext != nil {
		t.Error("the chain of Vulkan 1.3 without extensions is not 1.1, 1.2, subgroup sizes and cache control")
	}
	for feature := range f.members() {
		f.enable(feature)
		if got := f.bits(nil); got != feature {
			t.Errorf("enabled %#x, the chain has %#x", feature, got)
		}
	}
	f.enable(MemoryModel)
	f.v12.VulkanMemoryModelDeviceScope = 0
	if f.bits(nil) != 0 {
		t.Error("a memory model without the scope of devices counts")
	}
}

// Messages of the validation layer reach the function of the instance, whatever thread they come from.
func TestMessage(t *testing.T) {
	if err := Load(); err != nil {
		t.Skipf("no Vulkan: %v", err)
	}
	var got []string
	in, r := CreateInstance(func(severity, text string) { got = append(got, severity+": "+text) })
	if errors.Is(r, ErrorLayerNotPresent) {
		t.Skip("no validation layer (Debian and Ubuntu: apt-get install vulkan-validationlayers)")
	}
	if r != Success {
		t.Fatal(r)
	}
	defer DestroyInstance(in)
	list, err := EnumeratePhysicalDevices(in)
	if err != nil || len(list) == 0 {
		t.Skipf("no device: %v", err)
	}
	// The layer has to complain about a structure of a wrong type.
	p := &abi.PhysicalDeviceProperties2{SType: abi.TypeSubmitInfo}
	call(in.get().GetPhysicalDeviceProperties2, uintptr(list[0]), uintptr(unsafe.Pointer(p)))
	if len(got) == 0 || !strings.HasPrefix(got[0], "error: ") || !strings.Contains(got[0], "sType") {
		t.Errorf("the layer said %q", got)
	}
}
