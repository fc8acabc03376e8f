package exec

import (
	"nxvk/synth"
	"nxvk/vulkan"
)

// Compile compiles a kernel for a device as an Executor does.
func Compile(d *vulkan.Device, k *synth.Kernel) (*vulkan.Pipeline, error) {
	return d.Pipeline(k.Name, k.Code, layoutOf(k, d.Info()))
}
