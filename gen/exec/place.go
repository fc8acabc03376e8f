package exec

import (
	"errors"
	"fmt"

	"nxvk/fallback"
	"nxvk/fallback/sched"
	"nxvk/gen/exec/hostjob"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
)

// place carries out work where it belongs. The choice looks at the operation,
// the sizes and where the operands are, never at the clock.
func (e *Executor) place(q *Queue, w *placement.Work) (wait queue.Wait, err error) {
	if w.In.Op == ops.Tensor {
		m, wait, err := e.transfers.Literal(q, w.In.Ins[0].Lit)
		if m != nil {
			defer m.Drop()
			e.Counters.Uploaded += uint64(w.In.Outs[0].Type.Bytes())
			e.keep(q, w.In.Outs[0], m)
		}
		return wait, err
	}
	w.SettleLiterals()
	if q.recording != nil {
		return e.dispatcher.continueRecording(q)
	}
	if m := w.Alias(); m != nil {
		e.keep(q, w.In.Outs[0], m)
		return 0, nil
	}
	if e.dev == nil || w.Small(e.limit) {
		return e.runOnHost(q, w)
	}
	if e.dispatcher.rule(w) >= placement.Alone {
		return e.dispatcher.standIn(q, w, nil)
	}
	if err := w.SettleStarts(); err != nil {
		return 0, err
	}
	if err := placement.CheckIndex(w); err != nil {
		return 0, err
	}
	p, err := e.plan(w)
	switch {
	case err == kernels.ErrBeingMade:
		p.Then(func() { e.Resume(q) })
		return queue.ForPlan, nil
	case errors.Is(err, synth.ErrUnsupported):
		e.Counters.Fallbacks++
		return e.runOnHost(q, w)
	case err != nil:
		return 0, err
	case p.Alias >= 0:
		e.keep(q, w.In.Outs[0], w.Args[p.Alias])
		return 0, nil
	}
	if wait, err = e.dispatcher.carryOut(q, w, p); kernels.Refused(err) {
		e.Counters.Fallbacks++
		return e.runOnHost(q, w)
	}
	return wait, err
}

// runOnHost computes work with package fallback. Operands that are only on the
// device are read back first.
func (e *Executor) runOnHost(q *Queue, w *placement.Work) (wait queue.Wait, err error) {
	for i, m := range w.Args {
		if m != nil && !m.Bring() {
			return e.transfers.ReadBack(q, m, w.Types[i])
		}
	}
	args := make([]fallback.Value, len(w.Args))
	for i := range w.Args {
		args[i] = fallback.Value{Type: w.Types[i], Data: w.Data(i)}
	}
	mems, wait, err := e.hostResults(q, w)
	if wait != 0 || err != nil {
		return wait, err
	}
	outs := make([]fallback.Value, len(mems))
	for i, m := range mems {
		outs[i] = fallback.Value{Type: w.In.Outs[i].Type, Data: m.Host}
	}
	defer store.DropAll(mems)
	give := func() error {
		e.Counters.Host++
		for i, m := range mems {
			e.keep(q, w.In.Outs[i], m)
		}
		return nil
	}
	if cost := placement.HostCost(w.In, w.Types); cost > placement.InlineCost {
		in := w.In
		e.jobs.Start(q, w, hostjob.WorkInstruction, mems, func(by *sched.Worker) error { return fallback.RunOn(by, in, args, outs) }, give)
		return queue.ForHost, nil
	} else {
		e.turns.Charge(cost >> 12)
	}
	if err := fallback.Run(w.In, args, outs); err != nil {
		return 0, placement.Fault(err)
	}
	return 0, give()
}

// hostResults makes memory on the host for the results of work.
func (e *Executor) hostResults(q *Queue, w *placement.Work) (mems []*store.Storage, wait queue.Wait, err error) {
	total := int64(0)
	for _, r := range w.In.Outs {
		total += int64(r.Type.Bytes())
	}
	if wait, err := e.memory.Reserve(q, total); wait != 0 || err != nil {
		return nil, wait, err
	}
	for _, r := range w.In.Outs {
		m, wait, err := e.memory.OnHost(q, r.Type.Bytes())
		if wait != 0 || err != nil {
			store.DropAll(mems)
			return nil, wait, err
		}
		mems = append(mems, m)
	}
	return mems, 0, nil
}

// noteRefused counts and tells that the driver does not compile a kernel.
func (dp *dispatcher) noteRefused(k *kernels.Kernel) {
	dp.exec.Counters.Refused++
	dp.exec.cfg.Log.Warn().Err(k.Err()).Str("kernel", k.Name).Msg("what needs the kernel is carried out without it, on the host at worst")
}

// ready reports whether all pipelines of a plan are made; the queue waits for
// the first that is not.
func (dp *dispatcher) ready(q *Queue, p *kernels.Plan) (wait queue.Wait, err error) {
	k, err := dp.exec.kernels.Ready(p)
	if k != nil {
		k.Then(func() { dp.exec.Resume(q) })
		return queue.ForKernel, nil
	}
	return 0, err
}

// plan returns how the device carries out work, or errors: kernels.ErrBeingMade where that is
// being found out.
func (e *Executor) plan(w *placement.Work) (*kernels.Plan, error) {
	p, made, err := e.kernels.Plan(w.Instr())
	if made {
		e.turns.Charge(queue.Look) // it takes as long as many instructions
	}
	return p, err
}

// gather finds the operands of an instruction. A literal tensor becomes memory
// on the host; a literal scalar stays in the instruction. An operand that
// carries an error is that error, and one that is not held says which it is.
func (e *Executor) gather(q *Queue, in *wire.Instr) (w *placement.Work, first error) {
	w = placement.New(in)
	for i := range in.Ins {
		o := &in.Ins[i]
		if o.Lit != nil {
			w.Types[i] = o.Lit.Type
			continue
		}
		if lit := q.literal(o.ID); lit != nil {
			w.Replace(i, lit)
			continue
		}
		v, err := q.value(o.ID)
		if err != nil {
			err = &wire.Fault{Kind: wire.KindOf(err), Err: fmt.Errorf("operand %d: %w", i, err)}
		} else {
			err = v.Failure()
		}
		if err != nil && first == nil {
			first = err
		}
		w.Types[i], w.Args[i] = v.Type, v.Mem
	}
	return w, first
}

// keep gives a result its id. The memory is charged to the session.
func (e *Executor) keep(q *Queue, r ops.Result, m *store.Storage) {
	if m.Owner == nil && m.Size == 0 {
		q.Session.Charge(m, int64(r.Type.Bytes()))
	}
	m.Retain()
	q.put(r.ID, store.Value{Type: r.Type, Mem: m})
}
