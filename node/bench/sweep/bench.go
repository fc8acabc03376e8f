package sweep

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"nxvk/gen/exec/exectest"
	"nxvk/gen/exec/target"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// Result is what was measured of a case. Times are in microseconds.
type Result struct {
	ID     int     `json:"id"`
	Family string  `json:"family"`
	Name   string  `json:"name"`
	Time   float64 `json:"us"`    // median of a repetition, operands resident, results not read
	First  float64 `json:"first"` // from the first instruction to the first element of the result
	Bytes  float64 `json:"bytes"`
	Ops    float64 `json:"ops"`
	Share  float64 `json:"share,omitempty"` // of the device's own copy or product rate, the larger
	Error  string  `json:"error,omitempty"`
}

// machine is a device with the executors that measure it.
type machine struct {
	device *vulkan.Device // nil is the host
	cold   *exectest.Driver
	warm   *exectest.Driver // the same, but for a processor, where cold interprets kernels at first
	copies float64          // bytes a second
	rates  map[ops.DType]float64
}

// noCaches switches the disk caches of Mesa's and of NVIDIA's drivers off.
var noCaches = map[string]string{"MESA_SHADER_CACHE_DISABLE": "true", "MESA_GLSL_CACHE_DISABLE": "true", "__GL_SHADER_DISK_CACHE": "0"}

// open opens a device by index, name or UUID; host is the host.
func open(name string) (*machine, error) {
	m := &machine{rates: make(map[ops.DType]float64)}
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

// How a case is repeated: samples of at least a duration each, until they have taken enough.
const (
	samples    = 5
	maxRepeats = 2000
)

// filling is how long one sample takes at least.
func (m *machine) filling() time.Duration {
	if m.cpu() {
		return 10 * time.Millisecond
	}
	return 4 * time.Millisecond
}

// work is a case on a driver.
type work struct {
	*exectest.Driver
	c        *Case
	program  *ops.Region
	outs     []ops.Type
	operands []ops.Operand // of params, with literals
	last     [][]int       // the values that each step uses last
}

// prepare fills the operands of a case.
func prepare(d *exectest.Driver, c *Case) (*work, error) {
	w := &work{Driver: d, c: c}
	var err error
	if w.program, w.outs, err = c.Region(); err != nil {
		return nil, err
	}
	f := filler{d}
	for i := range c.Params {
		o, err := f.operand(&c.Params[i])
		if err != nil {
			w.free()
			return nil, fmt.Errorf("operand %d: %w", i, err)
		}
		w.operands = append(w.operands, o)
	}
	w.last = c.lastUses()
	if err := errors.Join(d.Sync(), d.Built()); err != nil {
		w.free()
		return nil, err
	}
	if c.Program {
		d.Define(w.key(), w.program)
	}
	return w, nil
}

func (w *work) key() string { return strconv.Itoa(w.c.ID) + " " + w.c.Name }

// free frees the operands.
func (w *work) free() {
	for _, o := range w.operands {
		if o.Lit == nil {
			w.Free(o.ID)
		}
	}
}

// lastUses lists for each step the results of steps that nothing after it needs.
func (c *Case) lastUses() [][]int {
	last := make([][]int, len(c.Steps))
	needed := make(map[int]bool)
	for _, v := range c.Values {
		needed[v] = true
	}
	first := len(c.Params)
	for i := range c.Steps {
		first += len(c.Steps[i].Outs)
	}
	for i, s := range slices.Backward(c.Steps) {
		for v := first - len(s.Outs); v < first; v++ {
			if !needed[v] {
				needed[v] = true
				last[i] = append(last[i], v)
			}
		}
		first -= len(s.Outs)
		for _, v := range s.Ins {
			if v >= len(c.Params) && !needed[v] {
				needed[v] = true
				last[i] = append(last[i], v)
			}
		}
	}
	return last
}

// once carries the case out and returns the ids of its values.
func (w *work) once() []ops.ID {
	if w.c.Program {
		operands := make([]ops.Operand, 0, len(w.operands))
		for _, o := range w.operands {
			if o.Lit == nil {
				operands = append(operands, o)
			}
		}
		return w.Run(w.key(), w.outs, operands...)
	}
	values := slices.Clone(w.operands)
	for i := range w.program.Body {
		in := &w.program.Body[i]
		ins := make([]ops.Operand, len(in.Ins))
		for k, v := range w.c.Steps[i].Ins {
			ins[k] = values[v]
		}
		outs := make([]ops.Type, len(in.Outs))
		for k, o := range in.Outs {
			outs[k] = o.Type
		}
		for _, id := range w.DoAll(in.Op, outs, in.Attrs, ins...) {
			values = append(values, ops.Operand{ID: id})
		}
		for _, v := range w.last[i] {
			w.Free(values[v].ID)
		}
	}
	ids := make([]ops.ID, len(w.c.Values))
	for i, v := range w.c.Values {
		ids[i] = values[v].ID
	}
	return ids
}

// repeat carries the case out n times and waits for the device.
func (w *work) repeat(n int) error {
	for range n {
		ids := w.once()
		err := w.Err(ids[0])
		w.Free(ids...)
		if err != nil {
			return err
		}
	}
	return w.Sync()
}

// first is the time until the first element of the first result can be read.
func (w *work) first() (time.Duration, error) {
	start := time.Now()
	ids := w.once()
	err := w.ReadSome(ids[0], 0, 1)
	d := time.Since(start)
	w.Free(ids...)
	return d, errors.Join(err, w.Sync())
}

// median is the time of a repetition: the median of samples that each take filling at least.
// There are fewer where a repetition takes long, but two.
func (w *work) median(filling time.Duration) (time.Duration, error) {
	if err := w.settle(); err != nil {
		return 0, err
	}
	n, took, err := 1, time.Duration(0), error(nil)
	for {
		if took, err = w.sample(n); err != nil {
			return 0, err
		}
		if took >= filling || n >= maxRepeats {
			break
		}
		n = min(maxRepeats, max(n+1, int(1.2*float64(n)*filling.Seconds()/took.Seconds())))
	}
	times := []time.Duration{took}
	for all := took; len(times) < 2 || len(times) < samples && all < 4*samples*filling; all += took {
		if took, err = w.sample(n); err != nil {
			return 0, err
		}
		times = append(times, took)
	}
	slices.Sort(times)
	return times[(len(times)-1)/2] / time.Duration(n), nil
}

// settle carries the case out until nothing is compiled for it any more.
func (w *work) settle() error {
	for range max(2, w.Exec.Enough()) { // what is seen again is fused
		if err := w.repeat(1); err != nil {
			return err
		}
	}
	for range 2 {
		if err := errors.Join(w.Built(), w.repeat(1)); err != nil {
			return err
		}
	}
	return w.Built()
}

func (w *work) sample(n int) (time.Duration, error) {
	start := time.Now()
	err := w.repeat(n)
	return time.Since(start), err
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

func (m *machine) times(c *Case) (first, took time.Duration, err error) {
	w, err := prepare(m.cold, c)
	if err != nil {
		return 0, 0, err
	}
	defer func() { w.free() }()
	if first, err = w.first(); err != nil {
		return first, 0, err
	}
	if m.warm != m.cold {
		w.free()
		if err := w.Built(); err != nil {
			return first, 0, err
		}
		if w, err = prepare(m.warm, c); err != nil {
			w = &work{}
			return first, 0, err
		}
	}
	if first > time.Second/2 {
		if err := m.heat(); err != nil {
			return first, 0, err
		}
	}
	took, err = w.median(m.filling())
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
