package sample

import (
	"encoding/binary"
	"fmt"

	"nxvk/fallback/sched"
	"nxvk/gen/exec"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/nuts"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// A density that a kernel can compute takes its leapfrog steps on the device:
// one dispatch takes those of many chains, each segment a workgroup.

// instance is one segment of a chain in a dispatch.
type instance struct {
	dim, steps int
	operands   [5][]byte // position, momentum, gradient, metric and step size, as a kernel takes them
}

// newInstance is a segment of a density of numbers of a type. The goroutine of a chain makes it:
// thousands of them would keep that of the Executor busy.
func newInstance(t ops.DType, g nuts.Segment, metric []float64, steps int) instance {
	i := instance{dim: len(g.From.Q), steps: steps}
	for k, xs := range [...][]float64{g.From.Q, g.From.P, g.From.Grad, metric, {g.Eps}} {
		i.operands[k] = AppendFloats(nil, t, xs)
	}
	return i
}

// trajectory is what the device takes the leapfrog steps of a program with. The kernel is
// made apart from the goroutine of the Executor, which takes some 10 ms; plans for other
// numbers of steps are then made from it in no time.
type trajectory struct {
	density *synth.Density
	err     error // why there is no kernel
	refused bool  // the driver does not compile it
	ready   bool
	waiting []*exec.Queue
	plans   map[synth.Leapfrog]*synth.Plan
}

// device returns why there is no kernel of a density. It looks at the program alone.
func (d *density) device() error {
	if d.steps.refused {
		return fmt.Errorf("%w: the driver does not compile the kernel", synth.ErrUnsupported)
	}
	return d.steps.err
}

// trajectory has the kernel of a program made, once. The queue waits for it.
func (s *Sampler) trajectory(q *exec.Queue, p *program.Program) (*trajectory, queue.Wait) {
	switch t, asked := p.Above.(*trajectory); {
	case asked && t.ready:
		return t, 0
	case asked:
		t.waiting = append(t.waiting, q)
		return nil, queue.ForPlan
	case s.e.Device() == nil:
		t = &trajectory{err: synth.ErrUnsupported, ready: true}
		p.Above = t
		return t, 0
	}
	t := &trajectory{waiting: []*exec.Queue{q}}
	p.Above = t
	var data []ops.Type
	for _, param := range p.Params()[1:] {
		data = append(data, param.Type)
	}
	region, target := p.Region, s.e.Target()
	s.e.Aside(nil, "plan", func(*sched.Worker) error {
		t.density = synth.NewDensity(region, data, kernels.RegionKey(region))
		_, t.err = synth.LowerLeapfrog(t.density, synth.Leapfrog{Instances: 1, Rows: 1}, &target)
		return nil
	}, func(err error) {
		if err != nil {
			t.err = &wire.Fault{Kind: wire.Internal, Err: err}
		}
		t.ready = true
		waiting := t.waiting
		t.waiting = nil
		for _, q := range waiting {
			s.e.Resume(q)
		}
	})
	return nil, queue.ForPlan
}

// operationsAnElement is how many operations of a density the host carries out in
// the time of an element of an instruction, about.
const operationsAnElement = 4

// sampled reports whether chains of a density that has a kernel take their steps
// with it. A device that is a processor computes no faster than the host, and a
// dispatch for a few steps takes longer than a small density: such chains stay on
// the host, by the limit that instructions have. The two may round differently, so
// the choice looks at the density and the device alone.
func (d *density) sampled(e exec.Services) bool {
	work, err := d.steps.density.Work()
	return err == nil && (!e.Target().CPU || work > operationsAnElement*e.HostLimit())
}

// The approximate cost, in operations, of the barriers of a step and of a dispatch. The latter
// is some 60 µs on a GPU, where a workgroup does 10 operations a nanosecond, and 100 µs on a
// processor.
const (
	gpuStep, gpuDispatch = 10_000, 600_000
	cpuStep, cpuDispatch = 500, 100_000
)

// callCost is what a dispatch costs, in steps of a density that has a kernel.
func (s *Sampler) callCost(d *density) float64 {
	work, _ := d.steps.density.Work()
	if s.e.Target().CPU {
		return cpuDispatch / float64(cpuStep+work)
	}
	return gpuDispatch / float64(gpuStep+work)
}

// leapfrog takes steps of instances of a density, with one dispatch, and gives
// the states after each, on any goroutine.
func (s *Sampler) leapfrog(d *density, data *deviceData, list []instance, done func([][]nuts.State, error)) {
	in := inputsOf(list)
	s.leapfrogRows(d, data, in, func(r Rows, err error) {
		if err != nil {
			done(nil, err)
			return
		}
		var states [][]nuts.State
		s.e.Common().Start(workLeapfrog, func(*sched.Worker) error { // there may be many of them
			states = statesOf(r, list, in.steps.Rows, d.typ.DType)
			return nil
		}, func(err error) {
			r.Free()
			done(states, err)
		})
	})
}

// leapfrogRows takes steps of instances with one dispatch.
func (s *Sampler) leapfrogRows(d *density, data *deviceData, in stepInputs, done func(Rows, error)) {
	plan, err := s.plan(d, in.steps)
	if err != nil {
		done(Rows{}, s.e.DeviceError(err))
		return
	}
	s.e.WithKernel(plan.Steps[0].Kernel, func(k *kernels.Kernel, err error) {
		d.steps.refused = d.steps.refused || kernels.Refused(err)
		var outs []vulkan.Arg
		var sizes []int
		if err != nil {
			err = fmt.Errorf("make the kernel of the density: %w", err)
		} else {
			outs, sizes, err = s.dispatch(d.feed, k, &plan.Steps[0], data, in, d.typ)
		}
		if err != nil {
			done(Rows{}, s.e.DeviceError(err))
			return
		}
		ReadRows(d.feed, outs, sizes, true, done)
		freeAll(outs)
	})
}

// mostPlans bounds the plans of a density that are kept.
const mostPlans = 512

// plan gives the plan of a dispatch. Plans of a density share the kernel.
func (s *Sampler) plan(d *density, steps synth.Leapfrog) (*synth.Plan, error) {
	t := d.steps
	if plan := t.plans[steps]; plan != nil {
		return plan, nil
	}
	target := s.e.Target()
	plan, err := synth.LowerLeapfrog(t.density, steps, &target)
	if err != nil {
		return nil, err
	}
	if t.plans == nil || len(t.plans) == mostPlans {
		t.plans = make(map[synth.Leapfrog]*synth.Plan)
	}
	t.plans[steps] = plan
	return plan, nil
}

// stepInputs is what a dispatch is given, but for the data.
type stepInputs struct {
	steps    synth.Leapfrog
	operands [6][]byte // of all instances; no gradients where the kernel finds them
}

// inputsOf are instances as a kernel takes them.
func inputsOf(list []instance) stepInputs {
	in := stepInputs{steps: synth.Leapfrog{Instances: len(list)}}
	for _, i := range list {
		in.steps.Rows = max(in.steps.Rows, i.steps)
		for k, b := range i.operands {
			in.operands[k] = append(in.operands[k], b...)
		}
		in.operands[5] = binary.LittleEndian.AppendUint32(in.operands[5], uint32(i.steps))
	}
	return in
}

// deviceData is what a density takes besides positions, on the device.
type deviceData struct {
	host [][]byte
	dev  []*vulkan.Buffer // nil where it has yet to go there
}

// on brings the data to the device. Data of an upload that a deadline has discarded goes there
// again.
func (x *deviceData) on(f *feed.Feed) (err error) {
	for i, b := range x.dev {
		if b != nil && b.Err() != nil {
			b.Free()
			x.dev[i] = nil
		}
		if x.dev[i] == nil {
			if x.dev[i], err = f.Copied(x.host[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// free gives the memory of the device back.
func (x *deviceData) free() {
	for i, b := range x.dev {
		if b != nil {
			b.Free()
			x.dev[i] = nil
		}
	}
}

// dispatch records a dispatch and gives the buffers of its results. The
// kernel writes a row as soon as the step is taken, and they are all read, so it
// writes where the host reads: nothing is left to copy when the last step is.
func (s *Sampler) dispatch(f *feed.Feed, k *kernels.Kernel, step *synth.Step, data *deviceData, in stepInputs, t ops.Type) (outs []vulkan.Arg, sizes []int, err error) {
	var ins []*vulkan.Buffer
	var args []vulkan.Arg
	defer func() {
		for _, b := range ins {
			b.Free()
		}
		if err != nil {
			freeAll(outs)
		}
	}()
	for _, x := range in.operands {
		if x == nil {
			args = append(args, args[0]) // numbers that are not looked at
			continue
		}
		b, err := f.Copied(x)
		if err != nil {
			return nil, nil, err
		}
		ins, args = append(ins, b), append(args, vulkan.ReadOnly(b))
	}
	if err := data.on(f); err != nil {
		return nil, nil, err
	}
	rows := in.steps.Instances * in.steps.Rows
	vectors, width := rows*t.Bytes(), t.DType.Size()
	sizes = []int{vectors, vectors, vectors, rows * width}
	for _, n := range sizes {
		b, err := s.e.Device().AllocReader(n)
		if err != nil {
			return outs, nil, err
		}
		outs = append(outs, vulkan.Arg{Buffer: b, Access: vulkan.Write})
	}
	for _, b := range data.dev {
		args = append(args, vulkan.ReadOnly(b))
	}
	args = append(args, outs...)
	k.NameOp(func() string { return "leapfrog" })
	return outs, sizes, f.DispatchStep(k, step, args)
}

func freeAll(args []vulkan.Arg) {
	for _, a := range args {
		a.Buffer.Free()
	}
}

// statesOf are the rows of each instance.
func statesOf(r Rows, list []instance, rows int, t ops.DType) [][]nuts.State {
	q, p, grad, logp := floatsOf(r.Q, t), floatsOf(r.P, t), floatsOf(r.Grad, t), floatsOf(r.LogP, t)
	out := make([][]nuts.State, len(list))
	for i, x := range list {
		d := x.dim
		for k := range x.steps {
			row := i*rows + k
			of := func(v []float64) []float64 { return v[row*d : (row+1)*d : (row+1)*d] }
			out[i] = append(out[i], nuts.State{Q: of(q), P: of(p), Grad: of(grad), LogP: logp[row]})
		}
	}
	return out
}
