package dispatch

import (
	"slices"
	"time"

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
)

// interpret carries out work by a plan on the host. What only the device has is read first,
// at the expense of the kernels.
func (dp *Dispatcher[Q]) interpret(q Q, w *placement.Work, p *kernels.Plan) (wait queue.Wait, err error) {
	if wait, err := dp.bring(q, w); wait != 0 || err != nil {
		for _, k := range p.Kernels {
			k.Charge(kernels.ReadCost)
		}
		return wait, err
	}
	outs, temps, taken, wait, err := dp.hostMemory(q, w, p)
	defer store.DropAll(outs)
	defer store.DropAll(temps)
	switch {
	case wire.KindOf(err) == wire.OutOfMemory:
		return dp.runOnDevice(q, w, p) // which may have some
	case wait != 0 || err != nil:
		return wait, err
	}
	words := checkWords(p)
	steps, cost, err := dp.hostSteps(w, p, outs, temps, words, taken)
	if err != nil {
		return 0, err
	}
	routines := dp.cfg.Kernels.RunsRoutines(p)
	took, alone := time.Duration(0), false
	give := func() error {
		dp.cfg.Counts.Interpreted += uint64(len(steps))
		if !routines {
			dp.spend(steps, took)
		}
		p.Contest.NoteHost(took, alone)
		errs := dp.cfg.Checker.OnHost(dp.cfg.Note(q), w, p, words)
		for i, m := range outs {
			if err := w.FirstError(i, p, errs); err != nil {
				dp.cfg.Put(q, w.In.Outs[i].ID, store.Value{Type: w.In.Outs[i].Type, Err: err})
				continue
			}
			m.Shadow = true
			dp.give(q, w.In.Outs[i], m)
		}
		return nil
	}
	if cost = dp.measured(p, cost); cost > placement.InlineCost {
		run := func(by *sched.Worker) error {
			return sched.Caught(func() error { return timed(&took, func() error { return runSteps(by, steps) }) })
		}
		if ran, err := dp.atOnce(q, w, p, cost, run); err != nil {
			return 0, err
		} else if ran {
			return 0, give()
		}
		dp.cfg.Jobs.Start(q, w, hostjob.WorkKernel, slices.Concat(outs, temps), run, give)
		dp.overtake(q, p, taken == 0)
		return queue.ForHost, nil
	}
	dp.cfg.Turns.Charge(int(cost) >> 12)
	alone = true
	if err := timed(&took, func() error { return runSteps(nil, steps) }); err != nil {
		return 0, placement.Fault(err)
	}
	return 0, give()
}

// atOnce carries a plan out without a job, where it is short and nobody else computes. It reports whether it has.
func (dp *Dispatcher[Q]) atOnce(q Q, w *placement.Work, p *kernels.Plan, cost float64, run func(*sched.Worker) error) (ran bool, err error) {
	if !p.Contest.Short() || !dp.cfg.Jobs.Idle() {
		return false, nil
	}
	dp.cfg.Turns.Charge(int(cost) >> 12)
	return dp.cfg.Jobs.Here(q, w, hostjob.WorkKernel, run)
}

// overtake has the device end the job of a queue when it can carry out the plan sooner, unless it has no operand to begin with.
func (dp *Dispatcher[Q]) overtake(q Q, p *kernels.Plan, begins bool) {
	overtaken := func() {}
	if begins {
		overtaken = dp.cfg.Jobs.Overtaken(q)
	}
	dp.cfg.Kernels.Overtake(p, overtaken)
}

// spend counts what steps have cost for their kernels: their elementary operations, or the time where that is more. Where few
// invocations share the work, each operation is interpreted for few of them.
func (dp *Dispatcher[Q]) spend(steps []hostStep, took time.Duration) {
	ran := 0
	for i := range steps {
		ran += steps[i].ran
	}
	slower := max(1, float64(took)/float64(max(1, ran)))
	for i := range steps {
		dp.cfg.Kernels.Spend(steps[i].k, int(slower*float64(steps[i].ran)))
	}
}

// measured is the cost of a plan on the host, or what it has been measured to take where that is less than handing it over: an
// estimate knows no vector instructions. Jobs of others have their share of the processors, which nothing takes from them.
func (dp *Dispatcher[Q]) measured(p *kernels.Plan, cost float64) float64 {
	if least, ok := p.Contest.Quick(); ok && dp.cfg.Jobs.Idle() {
		return min(cost, float64(least), placement.InlineCost)
	}
	return cost
}

// checkWords is memory for what the kernels of a plan check.
func checkWords(p *kernels.Plan) [][]byte {
	words := make([][]byte, len(p.Checks))
	for i := range words {
		words[i] = make([]byte, 8)
	}
	return words
}

// hostMemory takes memory for the results and temporaries of a plan, also where it returns an error. Results of the updates in
// taken, a bit each, have that of the operands.
func (dp *Dispatcher[Q]) hostMemory(q Q, w *placement.Work, p *kernels.Plan) (outs, temps []*store.Storage, taken uint64, wait queue.Wait, err error) {
	updated := dp.updates(q, w, p).onHost()
	outs, wait, err = dp.hostResults(q, w, true, func(i int) bool { return updated.of(p, i) != nil })
	if wait != 0 || err != nil {
		return outs, nil, 0, wait, err
	}
	if temps, err = dp.hostTemps(p); err != nil {
		return outs, temps, 0, 0, &wire.Fault{Kind: wire.OutOfMemory, Err: err}
	}
	return outs, temps, dp.takeOver(updated, p, outs, true), 0, nil
}

// hostTemps makes memory for the temporaries of a plan, also where it returns an error.
func (dp *Dispatcher[Q]) hostTemps(p *kernels.Plan) (temps []*store.Storage, err error) {
	for _, n := range p.Temps {
		m := &store.Storage{}
		if err := dp.cfg.Memory.Host.Fill(m, int(n)); err != nil {
			return temps, err
		}
		m.Retain()
		temps = append(temps, m)
	}
	return temps, nil
}

// hostSteps makes the steps of a plan ready for the host, and tells what they cost there. The copies of the updates in taken,
// a bit each, are left out.
func (dp *Dispatcher[Q]) hostSteps(w *placement.Work, p *kernels.Plan, outs, temps []*store.Storage, words [][]byte, taken uint64) (steps []hostStep, cost float64, err error) {
	steps = make([]hostStep, len(p.Steps))
	for i := range p.Steps {
		s := &p.Steps[i]
		if p.LeftOut(i, taken) {
			steps[i] = hostStep{k: p.Kernels[i], covered: true}
			continue
		}
		push, err := dp.pushed(w, s)
		if err != nil {
			return nil, 0, err
		}
		steps[i] = hostStep{k: p.Kernels[i], does: s.Does, routine: dp.cfg.Kernels.Routine(s), covered: s.Covered, push: slices.Clone(push), grid: s.Grid, buffers: make([][]byte, len(s.Args))}
		for k, a := range s.Args {
			if a.Ref.Kind == synth.CheckWord {
				steps[i].buffers[k] = target.Whole(words[a.Ref.Index])
				continue
			}
			steps[i].buffers[k] = target.Whole(placement.Resolve(a.Ref, w.Args, outs, temps).Host)[a.Offset:]
		}
		cost += dp.cfg.Kernels.StepCost(s)
	}
	return steps, cost, nil
}

// hostStep is a step that the host carries out.
type hostStep struct {
	k       *kernels.Kernel
	does    *synth.Typed   // by a routine of package fallback
	routine *synth.Routine // by that of the step
	covered bool           // nothing is left of it: the step before has carried it out, or it is the copy of an update in place
	buffers [][]byte
	push    []byte
	grid    [3]uint32
	ran     int // what it cost, in elementary operations
}

// run carries out the step.
func (s *hostStep) run(by *sched.Worker) error {
	for _, b := range s.buffers {
		s.ran += len(b) / 4
	}
	switch {
	case s.covered:
		return nil
	case s.routine != nil:
		s.routine.Run(by, s.buffers)
		return nil
	case s.does == nil:
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
