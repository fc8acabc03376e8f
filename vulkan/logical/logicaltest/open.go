// Package logicaltest opens devices for tests of the packages below vulkan.
package logicaltest

import (
	"errors"
	"os"
	"testing"

	"nxvk/vulkan/adapter"
	"nxvk/vulkan/logical"
	"nxvk/vulkan/vk"
)

// Open opens the best device, or the one of NXVK_DEVICE, with validation layers; any of
// their messages fails the test. Without a device it skips. The device is destroyed at the
// end of the test.
func Open(t testing.TB, o logical.Options) *logical.Device {
	t.Helper()
	o.Watchdog = -1 // a busy machine is no lost device
	in, err := adapter.Instance(func(severity, text string) { t.Errorf("%s: %s", severity, text) })
	if errors.Is(err, adapter.ErrNoVulkan) {
		t.Skipf("no device: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	a, err := adapter.Choose(in, os.Getenv("NXVK_DEVICE"))
	if errors.Is(err, adapter.ErrNoDevice) {
		t.Skipf("no device: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := logical.Open(in, a, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		vk.DestroyDevice(d.VK)
		adapter.Release(in)
	})
	return d
}
