package sweep

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
)

// How a case is repeated: samples of at least a duration each, until they have taken enough.
const (
	samples    = 5
	maxRepeats = 2000
	long       = 50 // samples; what takes longer is measured once
)

// work is a case on a driver.
type work struct {
	*exectest.Driver
	c        *Case
	program  *ops.Region
	outs     []ops.Type
	operands []ops.Operand // of params, with literals
	last     [][]int       // the values that each step uses last
}

// begin fills the operands of a case on a driver. The caller frees the work, also after an error.
func begin(d *exectest.Driver, c *Case) (w *work, err error) {
	w = &work{Driver: d, c: c, last: c.lastUses()}
	if w.program, w.outs, err = c.Region(); err != nil {
		return w, err
	}
	fill := filler{d}
	for i := range c.Params {
		o, err := fill.operand(&c.Params[i])
		if err != nil {
			return w, fmt.Errorf("operand %d: %w", i, err)
		}
		w.operands = append(w.operands, o)
	}
	if c.Program {
		d.Define(w.key(), w.program)
	}
	return w, errors.Join(d.Sync(), d.Built())
}

// with calls f with a case whose operands are filled, and frees them.
func with(d *exectest.Driver, c *Case, f func(w *work) error) error {
	w, err := begin(d, c)
	defer w.free()
	if err != nil {
		return err
	}
	return f(w)
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
// There are fewer where a repetition takes long.
func (w *work) median(filling time.Duration) (time.Duration, error) {
	n, took, err := w.pace(filling)
	if err != nil {
		return 0, err
	}
	times := []time.Duration{took}
	for all := took; all < long*filling && (len(times) < 2 || len(times) < samples && all < 4*samples*filling); all += took {
		if took, err = w.sample(n); err != nil {
			return 0, err
		}
		times = append(times, took)
	}
	slices.Sort(times)
	return times[(len(times)-1)/2] / time.Duration(n), nil
}

// pace settles the case, and finds how many repetitions take filling. The last sample took so long.
func (w *work) pace(filling time.Duration) (n int, took time.Duration, err error) {
	if err := w.settle(filling); err != nil {
		return 0, 0, err
	}
	for n = 1; ; n = min(maxRepeats, max(n+1, int(1.2*float64(n)*filling.Seconds()/took.Seconds()))) {
		if took, err = w.sample(n); err != nil || took >= filling || n >= maxRepeats {
			return n, took, err
		}
	}
}

// settle carries the case out until nothing is compiled for it any more: what is seen again
// is fused, and where the device is a processor the host competes with it. A case that takes long is not repeated for that.
func (w *work) settle(filling time.Duration) error {
	start := time.Now()
	for range max(2, w.Exec.Services().Enough()) + w.Exec.Services().Trials() + 2 {
		if err := errors.Join(w.repeat(1), w.Built()); err != nil {
			return err
		}
		if !w.c.Program && time.Since(start) > long*filling {
			break
		}
	}
	return nil
}

func (w *work) sample(n int) (time.Duration, error) {
	start := time.Now()
	err := w.repeat(n)
	return time.Since(start), err
}
