package exec

import (
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/queue"
	"nxvk/gen/exec/target"
	"nxvk/gen/store"
	"nxvk/synth"
	"nxvk/vulkan"
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
	if f.Full() {
		f.Throttle(func() { e.Resume(l) })
		return queue.ForDevice, nil
	}
	total := int64(0)
	for _, r := range w.In.Outs {
		total += int64(r.Type.Bytes())
	}
	if wait, err := e.memory.Reserve(l, total); wait != 0 || err != nil {
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
	w.CarryChecks(outs, p, checks.carried())
	defer f.AddChecks(checks.words())
	part := l.effort(p)
	for i := range p.Steps {
		f.Works(part)
		if err := e.record(f, w, p, i, outs, temps, checks); err != nil {
			return 0, e.DeviceError(err)
		}
		f.Bound() // a plan may have thousands of steps
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
		if buf, wait, err = e.memory.OnDevice(l, n); wait != 0 || err != nil {
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
func (e *Executor) record(f *feed.Feed, w *placement.Work, p *kernels.Plan, i int, outs, temps []*store.Storage, checks checks) error {
	step := &p.Steps[i]
	args := e.args[:0]
	for _, a := range step.Args {
		if a.Ref.Kind == synth.CheckWord {
			args = append(args, checks[a.Ref.Index].word.Arg())
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
	return f.DispatchWith(p.Kernels[i], step, args, push)
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
