package exec

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/queue"
	"nxvk/gen/nuts"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// A density that a kernel can compute takes its leapfrog steps on the device:
// one dispatch takes those of many chains, each leg a workgroup.

// instance is one leg of a chain in a dispatch.
type instance struct {
	dim, steps int
	operands   [5][]byte // position, momentum, gradient, metric and step size, as a kernel takes them
}

// newInstance is a leg of a density of numbers of a type. The goroutine of a chain makes it:
// thousands of them would keep that of the Executor busy.
func newInstance(t ops.DType, g nuts.Leg, metric []float64, steps int) instance {
	i := instance{dim: len(g.From.Q), steps: steps}
	for k, xs := range [...][]float64{g.From.Q, g.From.P, g.From.Grad, metric, {g.Eps}} {
		i.operands[k] = appendFloats(nil, t, xs)
	}
	return i
}

// trajectory is what the device takes the leapfrog steps of a program with. The kernel is
// made apart from the goroutine of the Executor, which takes some 10 ms; plans for other
// numbers of steps are then made from it in no time.
type trajectory struct {
	density *synth.Density
	err     error // why there is no kernel
	ready   bool
	waiting []*Lane
	plans   map[synth.Leapfrog]*planned
}

// device returns why there is no kernel of a density. It looks at the program alone.
func (d *density) device() error {
	if d.program.refused {
		return fmt.Errorf("%w: the driver does not compile the kernel", synth.ErrUnsupported)
	}
	return d.program.steps.err
}

// trajectory has the kernel of a density made, once. The lane waits for it.
func (e *Executor) trajectory(l *Lane, p *program) (wait queue.Wait) {
	switch t := p.steps; {
	case t != nil && t.ready:
		return 0
	case t != nil:
		t.waiting = append(t.waiting, l)
		return queue.ForPlan
	case e.dev == nil:
		p.steps = &trajectory{err: synth.ErrUnsupported, ready: true}
		return 0
	}
	t := &trajectory{waiting: []*Lane{l}}
	p.steps = t
	var data []ops.Type
	for _, param := range p.body.params[1:] {
		data = append(data, param.Type)
	}
	region, target := p.region, e.target
	e.aside(nil, workPlan, func(*sched.Worker) error {
		t.density = synth.NewDensity(region, data, regionKey(region))
		_, t.err = synth.LowerLeapfrog(t.density, synth.Leapfrog{Instances: 1, Rows: 1}, &target)
		return nil
	}, func(err error) {
		if err != nil {
			t.err = &wire.Fault{Kind: wire.Internal, Err: err}
		}
		t.ready = true
		waiting := t.waiting
		t.waiting = nil
		for _, l := range waiting {
			e.resume(l)
		}
	})
	return queue.ForPlan
}

// operationsAnElement is how many operations of a density the host carries out in
// the time of an element of an instruction, about.
const operationsAnElement = 4

// sampled reports whether chains of a density that has a kernel take their steps
// with it. A device that is a processor computes no faster than the host, and a
// dispatch for a few steps takes longer than a small density: such chains stay on
// the host, by the limit that instructions have. The two may round differently, so
// the choice looks at the density and the device alone.
func (d *density) sampled(e *Executor) bool {
	work, err := d.program.steps.density.Work()
	return err == nil && (!e.target.CPU || work > operationsAnElement*e.limit)
}

// What steps cost in operations, about: a step of no density, for its barriers, and a
// dispatch. The latter is some 60 µs on a GPU, where a workgroup does 10 operations a
// nanosecond, and 100 µs on a processor.
const (
	gpuStep, gpuDispatch = 10_000, 600_000
	cpuStep, cpuDispatch = 500, 100_000
)

// callCost is what a dispatch costs, in steps of a density that has a kernel.
func (e *Executor) callCost(d *density) float64 {
	work, _ := d.program.steps.density.Work()
	if e.target.CPU {
		return cpuDispatch / float64(cpuStep+work)
	}
	return gpuDispatch / float64(gpuStep+work)
}

// regionKey is the structure of a region, with its literals.
func regionKey(r *ops.Region) []byte {
	var key []byte
	results := func(list []ops.Result) {
		key = binary.AppendUvarint(key, uint64(len(list)))
		for _, o := range list {
			key = appendType(binary.AppendUvarint(key, uint64(o.ID)), o.Type)
		}
	}
	operands := func(list []ops.Operand) {
		key = binary.AppendUvarint(key, uint64(len(list)))
		for _, o := range list {
			if key = binary.AppendUvarint(key, uint64(o.ID)); o.Lit != nil {
				key = append(appendType(key, o.Lit.Type), o.Lit.Data...)
			}
		}
	}
	results(r.Params)
	for i := range r.Body {
		in := &r.Body[i]
		key = binary.AppendUvarint(key, uint64(in.Op))
		operands(in.Ins)
		results(in.Outs)
		key = appendAttrs(key, in.Attrs)
		for _, inner := range in.Regions {
			key = append(key, regionKey(inner)...)
		}
	}
	operands(r.Values)
	return key
}

// leapfrog takes steps of instances of a density, with one dispatch, and gives
// the states after each, on any goroutine.
func (e *Executor) leapfrog(d *density, data []*store.Storage, list []instance, done func([][]nuts.State, error)) {
	in := inputsOf(list)
	e.leapfrogRows(d, data, in, func(r Rows, err error) {
		if err != nil {
			done(nil, err)
			return
		}
		var states [][]nuts.State
		e.common.Start(workLeapfrog, func(*sched.Worker) error { // there may be many of them
			states = statesOf(r, list, in.steps.Rows, d.typ.DType)
			return nil
		}, func(err error) {
			r.release()
			done(states, err)
		})
	})
}

// leapfrogRows takes steps of instances with one dispatch.
func (e *Executor) leapfrogRows(d *density, data []*store.Storage, in leapInputs, done func(Rows, error)) {
	e.withKernel(d, in.steps, func(plan *planned, err error) {
		var outs []vulkan.Arg
		var sizes []int
		if err == nil {
			outs, sizes, err = e.dispatchLeapfrog(d.feed, plan, data, in, d.typ)
		}
		if err != nil {
			done(Rows{}, e.deviceError(err))
			return
		}
		e.rows(d.feed, outs, sizes, true, done)
		freeAll(outs)
	})
}

// mostLeaps bounds the plans of a density that are kept.
const mostLeaps = 512

// withKernel gives the plan of a dispatch, now or when its kernel is compiled.
// Plans of a density share the kernel.
func (e *Executor) withKernel(d *density, steps synth.Leapfrog, done func(*planned, error)) {
	p := d.program
	plans := &p.steps.plans
	plan := (*plans)[steps]
	if plan == nil {
		lowered, err := synth.LowerLeapfrog(p.steps.density, steps, &e.target)
		if err != nil {
			done(nil, err)
			return
		}
		if *plans == nil || len(*plans) == mostLeaps {
			*plans = make(map[synth.Leapfrog]*planned)
		}
		plan = &planned{Plan: lowered, pipes: []*compiled{e.wanted(lowered.Steps[0].Kernel)}}
		(*plans)[steps] = plan
	}
	e.refresh(plan)
	c := plan.pipes[0]
	e.compile(c)
	then := func() {
		p.refused = p.refused || refused(c.err)
		switch {
		case c.gone: // while others were told
			e.withKernel(d, steps, done)
		case c.err != nil:
			done(nil, fmt.Errorf("make the kernel of the density: %w", c.err))
		default:
			done(plan, nil)
		}
	}
	if !c.done {
		c.then = append(c.then, then)
		return
	}
	then()
}

// leapInputs is what a dispatch is given, but for the data.
type leapInputs struct {
	steps    synth.Leapfrog
	operands [6][]byte // of all instances; no gradients where the kernel finds them
}

// inputsOf are instances as a kernel takes them.
func inputsOf(list []instance) leapInputs {
	in := leapInputs{steps: synth.Leapfrog{Instances: len(list)}}
	for _, i := range list {
		in.steps.Rows = max(in.steps.Rows, i.steps)
		for k, b := range i.operands {
			in.operands[k] = append(in.operands[k], b...)
		}
		in.operands[5] = binary.LittleEndian.AppendUint32(in.operands[5], uint32(i.steps))
	}
	return in
}

func freeAll(args []vulkan.Arg) {
	for _, a := range args {
		a.Buffer.Free()
	}
}

// dispatchLeapfrog records a dispatch and gives the buffers of its results. The
// kernel writes a row as soon as the step is taken, and they are all read, so it
// writes where the host reads: nothing is left to copy when the last step is.
func (e *Executor) dispatchLeapfrog(f *feed, p *planned, data []*store.Storage, in leapInputs, t ops.Type) (outs []vulkan.Arg, sizes []int, err error) {
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
		b, err := e.copied(f, x)
		if err != nil {
			return nil, nil, err
		}
		ins, args = append(ins, b), append(args, vulkan.ReadOnly(b))
	}
	for _, m := range data {
		if err := e.refill(m); err != nil {
			return nil, nil, err
		}
		if m.Dev == nil {
			if m.Dev, err = e.copied(f, m.Host); err != nil {
				return nil, nil, err
			}
		}
	}
	rows := in.steps.Instances * in.steps.Rows
	vectors, width := rows*t.Bytes(), t.DType.Size()
	sizes = []int{vectors, vectors, vectors, rows * width}
	for _, n := range sizes {
		b, err := e.dev.AllocReader(n)
		if err != nil {
			return outs, nil, err
		}
		outs = append(outs, vulkan.Arg{Buffer: b, Access: vulkan.Write})
	}
	for _, m := range data {
		args = append(args, vulkan.ReadOnly(m.Dev))
	}
	args = append(args, outs...)
	step := &p.Steps[0]
	return outs, sizes, e.dispatch(f, p.pipes[0], step, args, pushOf(step))
}

// copied is a buffer with the bytes.
func (e *Executor) copied(f *feed, x []byte) (*vulkan.Buffer, error) {
	b, err := e.allocNow(f, len(x))
	if err != nil {
		return nil, err
	}
	if err := f.stream.Upload(b, 0, x); err != nil {
		b.Free()
		return nil, err
	}
	return b, nil
}

func appendFloats(b []byte, t ops.DType, xs []float64) []byte {
	at, size := len(b), t.Size()
	b = slices.Grow(b, size*len(xs))[:at+size*len(xs)]
	putFloats(b[at:], t, xs)
	return b
}

func putFloats(to []byte, t ops.DType, xs []float64) {
	for i, x := range xs {
		if t == ops.F32 {
			binary.LittleEndian.PutUint32(to[4*i:], math.Float32bits(float32(x)))
		} else {
			binary.LittleEndian.PutUint64(to[8*i:], math.Float64bits(x))
		}
	}
}

func floatsOf(b []byte, t ops.DType) []float64 {
	out := make([]float64, len(b)/t.Size())
	for i := range out {
		out[i] = floatAt(b, t, i)
	}
	return out
}

func floatAt(b []byte, t ops.DType, i int) float64 {
	if t == ops.F32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
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
