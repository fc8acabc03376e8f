package sweep

import (
	"errors"
	"fmt"
	"os"
	"time"

	"nxvk/gen/exec/exectest"
	"nxvk/gen/exec/target"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// machine is a device with the executors that measure it.
type machine struct {
	device   *vulkan.Device // nil is the host
	cold     *exectest.Driver
	warm     *exectest.Driver // the same, but for a processor, where cold interprets kernels at first
	copies   float64          // bytes a second
	products map[ops.DType]reference
}

// noCaches switches the disk caches of Mesa's and of NVIDIA's drivers off.
var noCaches = map[string]string{"MESA_SHADER_CACHE_DISABLE": "true", "MESA_GLSL_CACHE_DISABLE": "true", "__GL_SHADER_DISK_CACHE": "0"}

// open opens a device by index, name or UUID; host is the host.
func open(name string) (*machine, error) {
	m := &machine{products: make(map[ops.DType]reference)}
	if name == "host" {
		m.cold = exectest.NewFor(nil, synth.Target{}, 0)
		m.warm = m.cold
		return m, nil
	}
	for key, value := range noCaches {
		if err := os.Setenv(key, value); err != nil {
			return nil, err
		}
	}
	d, err := vulkan.Open(name, vulkan.Options{})
	if err != nil {
		return nil, err
	}
	known, err := target.Probe(d)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	m.drive(d, known)
	return m, nil
}

// drive makes the executors of a device.
func (m *machine) drive(d *vulkan.Device, known synth.Target) {
	m.device, m.cold = d, exectest.NewPrompt(d, known, 0)
	m.warm = m.cold
	if d.Info().Kind == vulkan.CPU {
		m.warm = exectest.NewFor(d, known, 0)
	}
}

func (m *machine) close() {
	m.cold.Close()
	if m.warm != m.cold {
		m.warm.Close()
	}
	if m.device != nil {
		m.device.Close()
	}
}

func (m *machine) cpu() bool { return m.device == nil || m.device.Info().Kind == vulkan.CPU }

// String describes the device.
func (m *machine) String() string {
	if m.device == nil {
		return "host"
	}
	i := m.device.Info()
	return fmt.Sprintf("%s (%v, %s %s)", i.Name, i.Kind, i.Driver, i.DriverInfo)
}

// filling is how long one sample takes at least.
func (m *machine) filling() time.Duration {
	if m.cpu() {
		return 10 * time.Millisecond
	}
	return 4 * time.Millisecond
}

// measure measures a case.
func (m *machine) measure(c *Case) (r Result) {
	r = Result{ID: c.ID, Family: c.Family, Name: c.Name, Bytes: c.Bytes, Ops: c.Ops}
	defer func() {
		if p := recover(); p != nil {
			r.Error = fmt.Sprint("panic: ", p)
		}
	}()
	first, took, err := m.times(c)
	r.First, r.Time = micros(first), micros(took)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.Share = m.share(c, took.Seconds())
	return r
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// times are those of the first result and of a repetition.
func (m *machine) times(c *Case) (first, took time.Duration, err error) {
	warm := func(w *work) error {
		if first > time.Second/2 { // the device was idle meanwhile
			if err := m.heat(); err != nil {
				return err
			}
		}
		took, err = w.median(m.filling())
		return err
	}
	err = with(m.cold, c, func(w *work) error {
		if first, err = w.first(); err != nil || m.warm != m.cold {
			return errors.Join(err, w.Built())
		}
		return warm(w)
	})
	if err == nil && m.warm != m.cold {
		err = with(m.warm, c, warm)
	}
	return first, took, err
}

// share is the part of the device's own rates that a case reached.
func (m *machine) share(c *Case, seconds float64) float64 {
	share := 0.0
	if m.copies > 0 {
		share = c.Bytes / seconds / m.copies
	}
	if rate := m.rate(c); c.Ops > 0 && rate > 0 {
		share = max(share, c.Ops/seconds/rate)
	}
	return share
}
