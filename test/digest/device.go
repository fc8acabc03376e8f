package main

import (
	"os"

	"nxvk/gen/exec/exectest"
	"nxvk/gen/exec/target"
	"nxvk/vulkan"
)

// device runs programs on a Vulkan device.
type device struct {
	vulkan *vulkan.Device
	driver *exectest.Driver
}

func openDevice() (*device, error) {
	v, err := vulkan.Open(os.Getenv("NXVK_DEVICE"), vulkan.Options{Watchdog: -1})
	if err != nil {
		return nil, err
	}
	target, err := target.Probe(v, nil)
	if err != nil {
		return nil, err
	}
	return &device{vulkan: v, driver: exectest.NewFor(v, target, -1)}, nil
}

// run runs a program until it has run in fusions.
func (d *device) run(p *program) string {
	return executed(d.driver, p, d.driver.Exec.Services().Enough()+1)
}

func (d *device) close() {
	d.driver.Close()
	d.vulkan.Close()
}
