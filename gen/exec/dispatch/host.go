package dispatch

import (
	"time"

	"nxvk/fallback"
	"nxvk/fallback/sched"
	"nxvk/gen/exec/hostjob"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
)

// runOnHost computes work with package fallback. Operands that are only on the
// device are read back first.
func (dp *Dispatcher[Q]) runOnHost(q Q, w *placement.Work) (wait queue.Wait, err error) {
	for i, m := range w.Args {
		if m != nil && !m.Bring() {
			return dp.readBack(q, m, w.Types[i])
		}
	}
	mems, wait, err := dp.hostResults(q, w, false, none)
	if wait != 0 || err != nil {
		return wait, err
	}
	defer store.DropAll(mems)
	return dp.compute(q, w, mems, nil, func() error {
		dp.cfg.Counts.Host++
		for i, m := range mems {
			dp.give(q, w.In.Outs[i], m)
		}
		return nil
	})
}

// compute has package fallback compute work whose operands are on the host: in a job if that may take long, at
// once otherwise. Then give gives the results their ids. took, which may be nil, is how long it took.
func (dp *Dispatcher[Q]) compute(q Q, w *placement.Work, mems []*store.Storage, took *time.Duration, give func() error) (wait queue.Wait, err error) {
	args, outs := hostValues(w, mems)
	cost := placement.HostCost(w.In, w.Types)
	if cost > placement.InlineCost {
		in := w.In
		dp.cfg.Jobs.Start(q, w, hostjob.WorkInstruction, mems, func(by *sched.Worker) error {
			return timed(took, func() error { return fallback.RunOn(by, in, args, outs) })
		}, give)
		return queue.ForHost, nil
	}
	dp.cfg.Turns.Charge(cost >> 12)
	if err := timed(took, func() error { return fallback.Run(w.In, args, outs) }); err != nil {
		return 0, placement.Fault(err)
	}
	return 0, give()
}

// hostValues are the operands and results of work as package fallback takes them.
func hostValues(w *placement.Work, mems []*store.Storage) (args, outs []fallback.Value) {
	args, outs = make([]fallback.Value, len(w.Args)), make([]fallback.Value, len(mems))
	for i := range w.Args {
		args[i] = fallback.Value{Type: w.Types[i], Data: w.Data(i)}
	}
	for i, m := range mems {
		outs[i] = fallback.Value{Type: w.In.Outs[i].Type, Data: m.Host}
	}
	return args, outs
}

// hostResults takes memory for the results of work that the host computes. With share, a device that is a
// processor finds large results where the host writes them. Those that have memory get an empty storage.
func (dp *Dispatcher[Q]) hostResults(q Q, w *placement.Work, share bool, have func(i int) bool) (mems []*store.Storage, wait queue.Wait, err error) {
	total := int64(0)
	for i, r := range w.In.Outs {
		if !have(i) {
			total += int64(r.Type.Bytes())
		}
	}
	if wait, err := dp.cfg.Memory.Reserve(q, total); wait != 0 || err != nil {
		return nil, wait, err
	}
	for i, r := range w.In.Outs {
		var m *store.Storage
		if have(i) {
			m = &store.Storage{}
			m.Retain()
			mems = append(mems, m)
			continue
		}
		if share {
			m = dp.shared(q, r.Type.Bytes())
		}
		if m == nil {
			if m, wait, err = dp.cfg.Memory.OnHost(q, r.Type.Bytes()); wait != 0 || err != nil {
				store.DropAll(mems)
				return nil, wait, err
			}
		}
		mems = append(mems, m)
	}
	return mems, 0, nil
}

// none says that no result has memory.
func none(int) bool { return false }

// littleLimit is how many elements a fusion touches at most that the host interprets as one kernel. With more elements
// its instructions are as quick.
const littleLimit = 512

// Little carries out a fusion that is small enough for the host by one kernel. It is not done where the instructions go
// one by one: where the host has no such kernel, or there is too little memory for all results at once.
func (dp *Dispatcher[Q]) Little(q Q, w *placement.Work) (wait queue.Wait, done bool, err error) {
	f := w.Fusion
	if f.Plan == nil || f.Plan.Err != nil || !w.Small(min(dp.HostLimit, littleLimit)) || !f.Joined(placement.Joins) {
		return 0, false, nil
	}
	p := dp.cfg.Kernels.Little(f.Plan, f.Lower)
	if p == nil {
		return 0, false, nil
	}
	w.SettleLiterals()
	mems, wait, err := dp.hostResults(q, w, false, none)
	if wait != 0 || err != nil {
		return wait, false, nil
	}
	defer store.DropAll(mems)
	steps, cost, err := dp.hostSteps(w, p, mems, nil, nil, 0)
	if err == nil {
		err = sched.Caught(func() error { return runSteps(nil, steps) })
	}
	if err != nil {
		return 0, false, placement.Fault(err)
	}
	dp.cfg.Turns.Charge(int(cost) >> 12)
	dp.cfg.Counts.Host += uint64(len(f.Body))
	dp.cfg.Counts.Interpreted += uint64(len(steps))
	for i, m := range mems {
		dp.give(q, w.In.Outs[i], m)
	}
	return 0, true, nil
}
