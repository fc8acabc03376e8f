package node

import (
	"errors"
	"fmt"
	"strings"

	"nxvk/gen/exec/target"
	"nxvk/synth"
	"nxvk/vulkan"
	"nxvk/vulkan/devfile"
)

// allDevices selects every GPU; without a GPU, a software device; without that, the host.
const allDevices = "all"

// openDevices opens the selected devices, each as often as it is named. A nil device is the host.
func openDevices(cfg *Config) ([]*vulkan.Device, error) {
	if cfg.selectsAll() {
		return openEvery(cfg)
	}
	var open []*vulkan.Device
	for _, name := range cfg.Devices {
		if name == "host" {
			open = append(open, nil)
			continue
		}
		d, err := vulkan.Open(name, cfg.vulkanOptions())
		if err != nil {
			closeDevices(cfg, open)
			return nil, fmt.Errorf("%w: %w", ErrNoDevice, err)
		}
		open = append(open, d)
	}
	return open, nil
}

// selectsAll reports whether the node chooses its devices itself.
func (c *Config) selectsAll() bool {
	return len(c.Devices) == 0 || len(c.Devices) == 1 && (c.Devices[0] == allDevices || c.Devices[0] == "")
}

// openEvery opens the devices that the node chooses itself.
func openEvery(cfg *Config) ([]*vulkan.Device, error) {
	infos, err := vulkan.Devices()
	if errors.Is(err, vulkan.ErrNoVulkan) || (err == nil && len(infos) == 0) {
		cfg.Log.Warn().Msg(explainHost(err))
		return []*vulkan.Device{nil}, nil
	}
	if err != nil {
		return nil, err
	}
	selected := preferGPUs(infos)
	if selected[0].Kind == vulkan.CPU {
		for _, o := range devfile.Find() {
			cfg.Log.Warn().Str("device", selected[0].Name).Msg(o.String() + "; until then the node uses a software device")
		}
	}
	return openAll(cfg, selected)
}

// explainHost says why the node computes on the host, and what to do about it.
func explainHost(err error) string {
	const ending = "; until then the host's processor computes everything (--device host silences this warning)"
	if errors.Is(err, vulkan.ErrNotBuilt) {
		return "this nxvk-node was built without Vulkan, so it uses no GPU: build it without the tag novulkan, and on 64-bit ARM or x86 " +
			"or with a C compiler (Debian and Ubuntu: apt-get install gcc libc6-dev libvulkan-dev)" + ending
	}
	var reasons []string
	for _, o := range devfile.Find() {
		reasons = append(reasons, o.String())
	}
	if err != nil {
		reasons = append(reasons, err.Error())
	}
	if reasons == nil {
		reasons = append(reasons, "Vulkan is installed, but no driver for a device of this machine: run nxvk-node doctor, which says what to install")
	}
	return strings.Join(reasons, "; ") + ending
}

// probe returns the features that the kernel compiler may use; none on the host.
func (c *Config) probe(d *vulkan.Device, cache synth.Archive) (t synth.Target, err error) {
	off, err := c.parseRules()
	if err == nil {
		err = c.checkMatrix()
	}
	if err != nil || d == nil {
		return t, err
	}
	t, err = target.Probe(d, cache)
	t.Off = off
	c.restrict(&t)
	return t, err
}

// checkMatrix returns an error where Matrix is not known.
func (c *Config) checkMatrix() error {
	switch c.Matrix {
	case "", MatrixHardware, MatrixOrdered:
		return nil
	}
	return fmt.Errorf("--matrix %q is not known: write %s or %s", c.Matrix, MatrixHardware, MatrixOrdered)
}

// restrict hides matrix hardware where sums are to have the order of their terms.
func (c *Config) restrict(t *synth.Target) {
	if c.Matrix == MatrixOrdered {
		t.Matrices = nil
	}
}

// oneByOne reports whether programs run one instruction at a time.
func (c *Config) oneByOne() bool { return c.DisablePasses == "all" }

// parseRules returns the disabled passes and fusion rules.
func (c *Config) parseRules() (synth.Rules, error) {
	if c.oneByOne() {
		return 0, nil
	}
	return synth.ParseRules(c.DisablePasses)
}

// preferGPUs leaves out software devices if there is a GPU.
func preferGPUs(infos []vulkan.Info) []vulkan.Info {
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
		d, err := vulkan.Open(fmt.Sprint(i.Index), cfg.vulkanOptions())
		if err != nil {
			cfg.Log.Error().Err(err).Str("device", i.Name).Msg("the device cannot be opened and is not served; nxvk-node doctor says what to check")
			continue
		}
		open = append(open, d)
	}
	if len(open) == 0 {
		return nil, fmt.Errorf("%w: none of the %d devices could be opened: run nxvk-node doctor, or compute on the host with --device host", ErrNoDevice, len(infos))
	}
	return open, nil
}

func (c *Config) vulkanOptions() vulkan.Options {
	log := c.Log
	return vulkan.Options{
		Validation: c.Validation,
		OnMessage:  func(severity, text string) { log.Warn().Str("severity", severity).Msg(text) },
		CacheDir:   c.cacheDir(),
		OnCache: func(err error) {
			log.Warn().Err(err).Msg("the pipeline cache cannot be used, so pipelines are compiled again; check --cache-dir")
		},
		MemoryLimit: c.MemoryLimit,
		KeepMemory:  c.KeepMemory,
	}
}
