package node

import (
	"errors"
	"fmt"

	"nxvk/gen/exec/target"
	"nxvk/synth"
	"nxvk/vulkan"
)

// openDevices opens the devices that the selection names: every GPU where it
// is all, else a software device, else none, which is the host. A nil among
// them is the host.
func openDevices(cfg *Config) ([]*vulkan.Device, error) {
	if cfg.Device == "host" {
		return []*vulkan.Device{nil}, nil
	}
	if cfg.Device != "all" && cfg.Device != "" {
		d, err := vulkan.Open(cfg.Device, cfg.vulkan())
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoDevice, err)
		}
		return []*vulkan.Device{d}, nil
	}
	infos, err := vulkan.Devices()
	if errors.Is(err, vulkan.ErrNoVulkan) || (err == nil && len(infos) == 0) {
		cfg.Log.Warn().Msg(noDevice(err))
		return []*vulkan.Device{nil}, nil
	}
	if err != nil {
		return nil, err
	}
	return openAll(cfg, gpus(infos))
}

// noDevice is what to tell the user of a node that computes on the host, and what
// to do about it.
func noDevice(err error) string {
	const ending = "; until then everything is computed on the host's processor (--device host is silent about it)"
	switch {
	case errors.Is(err, vulkan.ErrNoCgo):
		return "this nxvk-node was built without Vulkan (CGO_ENABLED=0, or without a C compiler), so it uses no GPU: install one " +
			"(Debian and Ubuntu: apt-get install gcc libc6-dev libvulkan-dev) and build again" + ending
	case err != nil:
		return err.Error() + ending
	}
	return "Vulkan is installed, but no driver for a device of this machine: nxvk-node doctor says what to install" + ending
}

// probe says what the kernel compiler may use; nothing on the host.
func (c *Config) probe(d *vulkan.Device) (t synth.Target, err error) {
	off, err := c.rules()
	if err != nil || d == nil {
		return t, err
	}
	t, err = target.Probe(d)
	t.Off = off
	return t, err
}

// oneByOne reports whether programs are carried out one instruction at a time.
func (c *Config) oneByOne() bool { return c.No == "all" }

// rules are the rules of fusion that are switched off.
func (c *Config) rules() (synth.Rules, error) {
	if c.oneByOne() {
		return 0, nil
	}
	return synth.ParseRules(c.No)
}

// gpus leaves out software devices where there is hardware.
func gpus(infos []vulkan.Info) []vulkan.Info {
	var hardware []vulkan.Info
	for _, i := range infos {
		if i.Kind != vulkan.CPU {
			hardware = append(hardware, i)
		}
	}
	if len(hardware) > 0 {
		return hardware
	}
	return infos[:1]
}

func openAll(cfg *Config, infos []vulkan.Info) ([]*vulkan.Device, error) {
	var open []*vulkan.Device
	for _, i := range infos {
		d, err := vulkan.Open(fmt.Sprint(i.Index), cfg.vulkan())
		if err != nil {
			cfg.Log.Error().Err(err).Str("device", i.Name).Msg("open")
			continue
		}
		open = append(open, d)
	}
	if len(open) == 0 {
		return nil, fmt.Errorf("%w: none of the %d devices could be opened", ErrNoDevice, len(infos))
	}
	return open, nil
}

func (c *Config) vulkan() vulkan.Options {
	log := c.Log
	return vulkan.Options{
		Validation:  c.Validation,
		OnMessage:   func(severity, text string) { log.Warn().Str("severity", severity).Msg(text) },
		CacheDir:    c.cacheDir(),
		OnCache:     func(err error) { log.Warn().Err(err).Msg("pipelines are compiled anew") },
		MemoryLimit: c.MemoryLimit,
		KeepMemory:  c.KeepMemory,
	}
}
