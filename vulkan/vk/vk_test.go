//go:build cgo

package vk

import (
	"testing"

	binding "github.com/vulkan-go/vulkan"
)

// TestConstants compares the constants with those of the binding, which are generated from Vulkan's
// registry.
func TestConstants(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want int64
	}{
		{"DeviceLocal", int64(DeviceLocal), int64(binding.MemoryPropertyDeviceLocalBit)},
		{"HostVisible", int64(HostVisible), int64(binding.MemoryPropertyHostVisibleBit)},
		{"HostCoherent", int64(HostCoherent), int64(binding.MemoryPropertyHostCoherentBit)},
		{"HostCached", int64(HostCached), int64(binding.MemoryPropertyHostCachedBit)},
		{"HeapDeviceLocal", int64(HeapDeviceLocal), int64(binding.MemoryHeapDeviceLocalBit)},
		{"TypeOther", TypeOther, int64(binding.PhysicalDeviceTypeOther)},
		{"TypeIntegrated", TypeIntegrated, int64(binding.PhysicalDeviceTypeIntegratedGpu)},
		{"TypeDiscrete", TypeDiscrete, int64(binding.PhysicalDeviceTypeDiscreteGpu)},
		{"TypeVirtual", TypeVirtual, int64(binding.PhysicalDeviceTypeVirtualGpu)},
		{"TypeCPU", TypeCPU, int64(binding.PhysicalDeviceTypeCpu)},
		{"VersionMinimum", VersionMinimum, int64(binding.MakeVersion(1, 2, 0))},
		{"Success", int64(Success), int64(binding.Success)},
		{"NotReady", int64(NotReady), int64(binding.NotReady)},
		{"Timeout", int64(Timeout), int64(binding.Timeout)},
		{"Incomplete", int64(Incomplete), int64(binding.Incomplete)},
		{"ErrorOutOfHostMemory", int64(ErrorOutOfHostMemory), int64(binding.ErrorOutOfHostMemory)},
		{"ErrorOutOfDeviceMemory", int64(ErrorOutOfDeviceMemory), int64(binding.ErrorOutOfDeviceMemory)},
		{"ErrorInitialization", int64(ErrorInitialization), int64(binding.ErrorInitializationFailed)},
		{"ErrorDeviceLost", int64(ErrorDeviceLost), int64(binding.ErrorDeviceLost)},
		{"ErrorMemoryMapFailed", int64(ErrorMemoryMapFailed), int64(binding.ErrorMemoryMapFailed)},
		{"ErrorLayerNotPresent", int64(ErrorLayerNotPresent), int64(binding.ErrorLayerNotPresent)},
		{"ErrorIncompatibleDriver", int64(ErrorIncompatibleDriver), int64(binding.ErrorIncompatibleDriver)},
		{"ErrorTooManyObjects", int64(ErrorTooManyObjects), int64(binding.ErrorTooManyObjects)},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, c.got, c.want)
		}
	}
}

func TestResultNames(t *testing.T) {
	if got := ErrorDeviceLost.Error(); got != "VK_ERROR_DEVICE_LOST" {
		t.Errorf("got %q", got)
	}
	if got := Result(-77).Error(); got != "VkResult -77" {
		t.Errorf("got %q", got)
	}
	if Success.Err() != nil || ErrorDeviceLost.Err() == nil {
		t.Error("Err of success or of a failure")
	}
}
