package exec

import (
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/queue"
	"nxvk/gen/exec/target"
	"nxvk/gen/store"
	"nxvk/synth"
	"nxvk/vulkan"
)

// Batches end at so many dispatches or so much estimated time, whichever comes
// first: an idle device starts early, and no submission runs so long that a
// driver takes it for a hang.
const (
	batchIdle = 64
	batchBusy = 256
	batchTime = 50e-3 // seconds
	// shallow is so many submissions that the device will not run out of work
	// while a long batch is recorded.
	shallow = 4
	// deep is so many submissions that the device has enough to do: queues then
	// wait before they record more than another batch. package vulkan would
	// wait itself at a few more than that.
	deep = 12
)

// runOnDevice records work. Operands are brought to the device first, and a status is
// waited for afterwards.
func (e *Executor) runOnDevice(l *Queue, w *placement.Work, p *kernels.Plan) (wait queue.Wait, err error) {
	if l.verdict != nil {
		return e.judge(l, w)
	}
	if wait, err := e.ready(l, p); wait != 0 || err != nil {
		return wait, err
	}
	f := e.Feed(l)
	if f.inFlight >= deep && f.full(batchBusy) {
		f.throttled = append(f.throttled, l)
		return queue.ForDevice, nil
	}
	total := int64(0)
	for _, r := range w.In.Outs {
		total += int64(r.Type.Bytes())
	}
	if wait, err := e.reserve(l, total); wait != 0 || err != nil {
		return wait, err
	}
	for _, m := range w.Args {
		if m == nil {
			continue
		}
		if wait, err := e.onDevice(l, m); wait != 0 || err != nil {
			return wait, err
		}
	}
	outs, temps, wait, err := e.deviceResults(l, w, p)
	defer dropAll(temps)
	defer dropAll(outs)
	if wait != 0 || err != nil {
		return wait, err
	}
	checks, err := e.openChecks(l, w, p)
	if err != nil {
		return 0, err
	}
	w.CarryChecks(outs, p, ofChecks(checks))
	defer e.addChecks(f, checks)
	part := l.effort(p)
	for i := range p.Steps {
		f.progress.works(part)
		if err := e.record(f, w, p, i, outs, temps, checks); err != nil {
			return 0, e.DeviceError(err)
		}
		e.bound(f) // a plan may have thousands of steps
	}
	if s := p.Status; s != nil {
		e.ask(l, placement.Resolve(*s, w.Args, outs, temps), outs)
		return e.judge(l, w)
	}
	for i, m := range outs {
		e.keep(l, w.In.Outs[i], m)
	}
	e.Counters.Device++
	return 0, nil
}

// deviceResults takes memory for the results and temporaries of a plan.
func (e *Executor) deviceResults(l *Queue, w *placement.Work, p *kernels.Plan) (outs, temps []*store.Storage, wait queue.Wait, err error) {
	take := func(list *[]*store.Storage, n int) bool {
		var buf *vulkan.Buffer
		if buf, wait, err = e.alloc(l, n); wait != 0 || err != nil {
			return false
		}
		m := &store.Storage{Dev: buf}
		m.Retain()
		*list = append(*list, m)
		return true
	}
	outs, temps = e.outs[:0], e.temps[:0]
	defer func() { e.outs, e.temps = outs, temps }()
	for _, r := range w.In.Outs {
		if !take(&outs, r.Type.Bytes()) {
			return outs, temps, wait, err
		}
	}
	for _, n := range p.Temps {
		if !take(&temps, int(n)) {
			return outs, temps, wait, err
		}
	}
	return outs, temps, 0, nil
}

// record appends one step of a plan to a stream.
func (e *Executor) record(f *Feed, w *placement.Work, p *kernels.Plan, i int, outs, temps []*store.Storage, checks []*check) error {
	step := &p.Steps[i]
	args := e.args[:0]
	for _, a := range step.Args {
		if a.Ref.Kind == synth.CheckWord {
			args = append(args, checks[a.Ref.Index].word.arg())
			continue
		}
		m := placement.Resolve(a.Ref, w.Args, outs, temps)
		args = append(args, vulkan.Arg{Buffer: m.Dev, Offset: a.Offset, Size: a.Bytes, Access: vulkan.Access(a.Access)})
	}
	e.args = args
	push, err := e.pushed(w, step)
	if err != nil {
		return err
	}
	p.Kernels[i].Ran()
	return e.dispatch(f, p.Kernels[i], step, args, push)
}

// dispatch records a step.
func (e *Executor) dispatch(f *Feed, c *kernels.Kernel, step *synth.Step, args []vulkan.Arg, push []byte) error {
	e.note(f)
	e.Counters.Dispatches++
	seconds := e.seconds(step)
	f.cost += seconds
	err := f.stream.Dispatch(c.Pipeline(), args, push, step.Grid[0], step.Grid[1], step.Grid[2])
	f.stream.Expect(seconds)
	return err
}

// pushed is what a step pushes, with the values of literals. It is valid until the next
// call.
func (e *Executor) pushed(w *placement.Work, s *synth.Step) ([]byte, error) {
	if len(s.Lits) == 0 {
		return target.Push(s), nil
	}
	e.push = append(e.push[:0], s.Push...)
	for _, lit := range s.Lits {
		if err := placement.Patch(e.push, lit, w.In.Ins[lit.Operand].Lit); err != nil {
			return nil, err
		}
	}
	return e.push[len(s.Push)-len(target.Push(s)):], nil
}

// seconds estimates how long a step takes.
func (e *Executor) seconds(s *synth.Step) float64 {
	bytesPerSecond, flopsPerSecond := 200e9, 5e12
	if e.target.CPU {
		bytesPerSecond, flopsPerSecond = 5e9, 15e9
	}
	return float64(s.Bytes)/bytesPerSecond + float64(s.Flops)/flopsPerSecond
}
