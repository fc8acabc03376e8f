package exec

import (
	"slices"

	"nxvk/fallback"
	"nxvk/fallback/sched"
	"nxvk/gen/exec/hostjob"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/queue"
	"nxvk/gen/exec/target"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/synth"
	"nxvk/vulkan"
)

// carryOut carries out work by a plan, on the device or in its stead.
func (dp *dispatcher) carryOut(q *Queue, w *placement.Work, p *kernels.Plan) (wait queue.Wait, err error) {
	dp.exec.kernels.Refresh(p)
	if q.recording == nil && dp.rule(w) != placement.Never && dp.exec.kernels.Unready(p) {
		return dp.standIn(q, w, p)
	}
	if q.recording == nil && dp.exec.kernels.Cold(p) {
		return dp.interpret(q, w, p)
	}
	return dp.runOnDevice(q, w, p)
}

// interpret carries out work by a plan on the host. What only the device has is read first,
// at the expense of the kernels.
func (dp *dispatcher) interpret(q *Queue, w *placement.Work, p *kernels.Plan) (wait queue.Wait, err error) {
	if wait, err := dp.bring(q, w); wait != 0 || err != nil {
		for _, k := range p.Kernels {
			k.Charge(kernels.ReadCost)
		}
		return wait, err
	}
	outs, wait, err := dp.results(q, w)
	defer store.DropAll(outs)
	switch {
	case wire.KindOf(err) == wire.OutOfMemory:
		return dp.runOnDevice(q, w, p) // which may have some
	case wait != 0 || err != nil:
		return wait, err
	}
	temps, err := dp.hostTemps(p)
	defer store.DropAll(temps)
	if err != nil {
		return dp.runOnDevice(q, w, p) // the same
	}
	words := make([][]byte, len(p.Checks))
	for i := range words {
		words[i] = make([]byte, 8)
	}
	steps, cost, err := dp.hostSteps(w, p, outs, temps, words)
	if err != nil {
		return 0, err
	}
	routines := dp.exec.kernels.RunsRoutines(p)
	give := func() error {
		for i := range steps {
			dp.exec.Counters.Interpreted++
			if !routines {
				dp.exec.kernels.Spend(steps[i].k, steps[i].ran)
			}
		}
		errs := dp.exec.checker.OnHost(q.note, w, p, words)
		for i, m := range outs {
			if err := w.FirstError(i, p, errs); err != nil {
				q.put(w.In.Outs[i].ID, store.Value{Type: w.In.Outs[i].Type, Err: err})
				continue
			}
			m.Shadow = true
			dp.exec.keep(q, w.In.Outs[i], m)
		}
		return nil
	}
	if cost > placement.InlineCost {
		dp.exec.jobs.Start(q, w, hostjob.WorkKernel, slices.Concat(outs, temps), func(by *sched.Worker) error {
			return sched.Caught(func() error { return runSteps(by, steps) })
		}, give)
		dp.exec.kernels.Overtake(p, dp.exec.jobs.Overtaken(q))
		return queue.ForHost, nil
	}
	dp.exec.turns.Charge(int(cost) >> 12)
	if err := runSteps(nil, steps); err != nil {
		return 0, placement.Fault(err)
	}
	return 0, give()
}

// hostTemps makes memory for the temporaries of a plan, also where it returns an error.
func (dp *dispatcher) hostTemps(p *kernels.Plan) (temps []*store.Storage, err error) {
	for _, n := range p.Temps {
		m := &store.Storage{}
		if err := dp.exec.memory.Host.Fill(m, int(n)); err != nil {
			return temps, err
		}
		m.Retain()
		temps = append(temps, m)
	}
	return temps, nil
}

// hostSteps makes the steps of a plan ready for the host, and tells what they cost there.
func (dp *dispatcher) hostSteps(w *placement.Work, p *kernels.Plan, outs, temps []*store.Storage, words [][]byte) (steps []hostStep, cost float64, err error) {
	steps = make([]hostStep, len(p.Steps))
	for i := range p.Steps {
		s := &p.Steps[i]
		push, err := dp.pushed(w, s)
		if err != nil {
			return nil, 0, err
		}
		steps[i] = hostStep{k: p.Kernels[i], does: s.Does, push: slices.Clone(push), grid: s.Grid, buffers: make([][]byte, len(s.Args))}
		for k, a := range s.Args {
			if a.Ref.Kind == synth.CheckWord {
				steps[i].buffers[k] = target.Whole(words[a.Ref.Index])
				continue
			}
			steps[i].buffers[k] = target.Whole(placement.Resolve(a.Ref, w.Args, outs, temps).Host)[a.Offset:]
		}
		cost += kernels.StepCost(s)
	}
	return steps, cost, nil
}

// hostStep is a step that the host carries out.
type hostStep struct {
	k       *kernels.Kernel
	does    *synth.Typed // by a routine of its own
	buffers [][]byte
	push    []byte
	grid    [3]uint32
	ran     int // what it cost, in elementary operations
}

// run carries out the step.
func (s *hostStep) run(by *sched.Worker) error {
	if s.does == nil {
		s.ran = s.k.Interpret(by, s.buffers, s.push, s.grid)
		return nil
	}
	in, from, to := s.does.Instr, s.does.Types[0], s.does.Outs[0].Type
	s.ran = from.Size()
	return fallback.RunOn(by, in, []fallback.Value{{Type: from, Data: s.buffers[0][:from.Bytes()]}},
		[]fallback.Value{{Type: to, Data: s.buffers[1][:to.Bytes()]}})
}

func runSteps(by *sched.Worker, steps []hostStep) error {
	for i := range steps {
		s := &steps[i]
		if err := s.run(by); err != nil {
			return err
		}
		if err := by.Yield(); err != nil {
			return err
		}
	}
	return nil
}

// warm submits a kernel without work.
func (dp *dispatcher) warm(k *kernels.Kernel) (vulkan.Ticket, error) {
	b, err := dp.exec.feeds.Own().Stream().Alloc(16)
	if err != nil {
		return vulkan.Ticket{}, err
	}
	defer b.Free()
	if err := dp.exec.feeds.Own().Stream().Warm(k.Pipeline(), b); err != nil {
		return vulkan.Ticket{}, err
	}
	return dp.exec.feeds.Own().Submit()
}
