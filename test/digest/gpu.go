package main

import (
	"errors"

	"nxvk/gen/exec/exectest"
	"nxvk/gen/exec/target"
)

// openGPU is openDevice with the kernels that a GPU gets, which a processor with addresses runs, too.
func openGPU() (*device, error) {
	d, err := openDevice()
	if err != nil {
		return nil, err
	}
	target, err := target.Probe(d.vulkan, nil)
	if err == nil && !d.vulkan.Info().Features.BufferDeviceAddress {
		err = errors.New("the kernels of GPUs take addresses, which the device does not have")
	}
	if err != nil {
		d.close()
		return nil, err
	}
	d.driver.Close()
	target.Addresses, target.CPU = true, false
	d.driver = exectest.NewFor(d.vulkan, target, -1)
	return d, nil
}
