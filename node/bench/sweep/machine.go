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
	name     string         // by which it was opened
	serial   bool           // its kernels run one after the other
	device   *vulkan.Device // nil is the host
	cold     *exectest.Driver
	warm     *exectest.Driver // the same, but for a processor, where cold interprets kernels at first
	copies   float64          // bytes a second
	products map[ops.DType]reference
	hot      time.Duration // of a sample of work at the highest clock seen
}

// noCaches switches the disk caches of Mesa's and of NVIDIA's drivers off.
var noCaches = map[string]string{"MESA_SHADER_CACHE_DISABLE": "true", "MESA_GLSL_CACHE_DISABLE": "true", "__GL_SHADER_DISK_CACHE": "0"}

// open opens a device by index, name or UUID; host is the host. With serial its kernels run one after the other.
func open(name string, serial bool) (*machine, error) {
	m := &machine{name: name, serial: serial, products: make(map[ops.DType]reference)}
	if name == "host" {
		m.cold = exectest.NewFor(nil, synth.Target{}, 0)
		m.warm = m.cold
		m.cold.Patience = patience
		return m, nil
	}
	for key, value := range noCaches {
		if err := os.Setenv(key, value); err != nil {
			return nil, err
		}
	}
	d, err := vulkan.Open(name, vulkan.Options{Serial: serial})
	if err != nil {
		return nil, err
	}
	known, err := target.Probe(d, nil)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	m.drive(d, known)
	return m, nil
}

// drive makes the executors of a device.
func (m *machine) drive(d *vulkan.Device, known synth.Target) {
	m.device, m.cold = d, exectest.NewWarmUp(d, known, 0)
	m.warm = m.cold
	if d.Info().Kind == vulkan.CPU {
		m.warm = exectest.NewFor(d, known, 0)
	}
	m.cold.Patience, m.warm.Patience = patience, patience
}

// patience is how long a case waits for an answer.
const patience = 2 * time.Minute

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

// measure measures cases: first all of their first results, then all of their repetitions. So
// nothing is compiled between repetitions, which would let the clock of the device fall.
// It stops before a case for which goes on is false.
func (m *machine) measure(cases []Case, goesOn func() bool) (results []Result) {
	results = m.firsts(cases, goesOn)
	for i := range results {
		r := &results[i]
		r.attempt(func() error {
			took, err := m.medianOf(&cases[i])
			m.note(r, &cases[i], took, err)
			return err
		})
	}
	return results
}

// firsts measures the first results of cases. It stops before a case for which goes on is false.
func (m *machine) firsts(cases []Case, goesOn func() bool) (results []Result) {
	for i := range cases {
		if !goesOn() {
			break
		}
		c := &cases[i]
		r := Result{ID: c.ID, Family: c.Family, Name: c.Name, Bytes: c.Bytes, Ops: c.Ops}
		r.attempt(func() error {
			first, err := m.firstOf(c)
			r.First = micros(first)
			return err
		})
		results = append(results, r)
	}
	return results
}

// note notes the time of a repetition.
func (m *machine) note(r *Result, c *Case, took time.Duration, err error) {
	if r.Time = micros(took); err == nil {
		r.Share = m.share(c, took.Seconds())
	}
}

// attempt notes the error of f, or its panic. It does nothing after an error.
func (r *Result) attempt(f func() error) {
	defer func() {
		if p := recover(); p != nil {
			r.Error = fmt.Sprint("panic: ", p)
		}
	}()
	if r.Error != "" {
		return
	}
	if err := f(); err != nil {
		r.Error = err.Error()
	}
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// firstOf is the time of the first result of a case. The kernels that its repetition needs are
// compiled then, too.
func (m *machine) firstOf(c *Case) (first time.Duration, err error) {
	err = with(m.cold, c, func(w *work) error {
		if first, err = w.first(); err != nil || m.warm != m.cold {
			return errors.Join(err, w.Built())
		}
		return w.settle(m.filling())
	})
	return first, err
}

// medianOf is the time of a repetition of a case.
func (m *machine) medianOf(c *Case) (took time.Duration, err error) {
	if err := m.heat(); err != nil {
		return 0, err
	}
	err = with(m.warm, c, func(w *work) error {
		took, err = w.median(m.filling())
		return err
	})
	return took, err
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
