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

// dispatcher carries out plans: on the device, or by the host in its stead.
type dispatcher struct {
	exec  *Executor
	stead bool             // the host may compute in the device's stead, see stead.go
	push  []byte           // scratch of record
	args  []vulkan.Arg     // scratch of record
	outs  []*store.Storage // scratch of deviceResults
	temps []*store.Storage // scratch of deviceResults
}

// runOnDevice records work. Operands are brought to the device first, and a status is
// waited for afterwards.
func (dp *dispatcher) runOnDevice(l *Queue, w *placement.Work, p *kernels.Plan) (wait queue.Wait, err error) {
	if l.verdict != nil {
		return dp.judge(l, w)
	}
	if wait, err := dp.ready(l, p); wait != 0 || err != nil {
		return wait, err
	}
	f := dp.exec.Feed(l)
	if f.Full() {
		f.Throttle(func() { dp.exec.Resume(l) })
		return queue.ForDevice, nil
	}
	total := int64(0)
	for _, r := range w.In.Outs {
		total += int64(r.Type.Bytes())
	}
	if wait, err := dp.exec.memory.Reserve(l, total); wait != 0 || err != nil {
		return wait, err
	}
	for _, m := range w.Args {
		if m == nil {
			continue
		}
		if wait, err := dp.exec.transfers.toDevice(l, m); wait != 0 || err != nil {
			return wait, err
		}
	}
	outs, temps, wait, err := dp.deviceResults(l, w, p)
	defer dropAll(temps)
	defer dropAll(outs)
	if wait != 0 || err != nil {
		return wait, err
	}
	checks, err := dp.exec.checker.open(l, w, p)
	if err != nil {
		return 0, err
	}
	w.CarryChecks(outs, p, checks.carried())
	defer f.AddChecks(checks.words())
	part := l.effort(p)
	for i := range p.Steps {
		f.Works(part)
		if err := dp.record(f, w, p, i, outs, temps, checks); err != nil {
			return 0, dp.exec.DeviceError(err)
		}
		f.Bound() // a plan may have thousands of steps
	}
	if s := p.Status; s != nil {
		dp.readStatus(l, placement.Resolve(*s, w.Args, outs, temps), outs)
		return dp.judge(l, w)
	}
	for i, m := range outs {
		dp.exec.keep(l, w.In.Outs[i], m)
	}
	dp.exec.Counters.Device++
	return 0, nil
}

// deviceResults takes memory for the results and temporaries of a plan.
func (dp *dispatcher) deviceResults(l *Queue, w *placement.Work, p *kernels.Plan) (outs, temps []*store.Storage, wait queue.Wait, err error) {
	take := func(list *[]*store.Storage, n int) bool {
		var buf *vulkan.Buffer
		if buf, wait, err = dp.exec.memory.OnDevice(l, n); wait != 0 || err != nil {
			return false
		}
		m := &store.Storage{Dev: buf}
		m.Retain()
		*list = append(*list, m)
		return true
	}
	outs, temps = dp.outs[:0], dp.temps[:0]
	defer func() { dp.outs, dp.temps = outs, temps }()
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
func (dp *dispatcher) record(f *feed.Feed, w *placement.Work, p *kernels.Plan, i int, outs, temps []*store.Storage, checks checks) error {
	step := &p.Steps[i]
	args := dp.args[:0]
	for _, a := range step.Args {
		if a.Ref.Kind == synth.CheckWord {
			args = append(args, checks[a.Ref.Index].word.Arg())
			continue
		}
		m := placement.Resolve(a.Ref, w.Args, outs, temps)
		args = append(args, vulkan.Arg{Buffer: m.Dev, Offset: a.Offset, Size: a.Bytes, Access: vulkan.Access(a.Access)})
	}
	dp.args = args
	push, err := dp.pushed(w, step)
	if err != nil {
		return err
	}
	p.Kernels[i].Ran()
	return f.DispatchWith(p.Kernels[i], step, args, push)
}

// pushed is what a step pushes, with the values of literals. It is valid until the next
// call.
func (dp *dispatcher) pushed(w *placement.Work, s *synth.Step) ([]byte, error) {
	if len(s.Lits) == 0 {
		return target.Push(s), nil
	}
	dp.push = append(dp.push[:0], s.Push...)
	for _, lit := range s.Lits {
		if err := placement.Patch(dp.push, lit, w.In.Ins[lit.Operand].Lit); err != nil {
			return nil, err
		}
	}
	return dp.push[len(s.Push)-len(target.Push(s)):], nil
}
