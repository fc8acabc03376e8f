package exec

import (
	"time"

	"nxvk/fallback"
	"nxvk/fallback/sched"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/hostjob"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/memory"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/synth"
	"nxvk/vulkan"
)

// mayStandIn reports whether the host may compute in the stead of a device: of a processor that
// rounds as the host does. A limit of the host that the user has set says where work belongs.
func mayStandIn(cfg *Config) bool {
	t := &cfg.Target
	return cfg.Device != nil && cfg.Device.Info().Kind == vulkan.CPU && cfg.HostLimit == 0 &&
		t.CPU && t.PreciseDiv && t.Subnormals && t.Rounds != synth.Unlike
}

// rule says when the host computes work in the device's stead.
func (dp *dispatcher) rule(w *placement.Work) placement.Stead {
	if !dp.stead || w.Fusion != nil {
		return placement.Never
	}
	return placement.InStead(w.In, w.Types)
}

// divides reports whether a fusion goes one instruction at a time, for the host to compute them.
func (dp *dispatcher) divides(w *placement.Work) bool {
	return dp.stead && w.Fusion.Divided(placement.Divides)
}

// onHost reports whether the host carries out a plan of instructions in the device's stead, once
// everything is compiled. It may be called from any goroutine.
func (dp *dispatcher) onHost(body []kernels.Instr, p *synth.Plan) bool {
	switch {
	case !dp.stead:
		return false
	case len(body) > 1:
		return placement.Divides(body)
	}
	return placement.InStead(body[0].Instr, body[0].Types) >= placement.Alone || kernels.HasRoutines(p)
}

// standIn has the host compute work by the routine of its operation, in the device's stead. p is
// the plan that is not carried out, or nil.
func (dp *dispatcher) standIn(q *Queue, w *placement.Work, p *kernels.Plan) (wait queue.Wait, err error) {
	if wait, err := dp.bring(q, w); wait != 0 || err != nil {
		return wait, err
	}
	mems, wait, err := dp.results(q, w)
	if wait != 0 || err != nil {
		return wait, err
	}
	defer store.DropAll(mems)
	args, outs := make([]fallback.Value, len(w.Args)), make([]fallback.Value, len(mems))
	for i := range w.Args {
		args[i] = fallback.Value{Type: w.Types[i], Data: w.Data(i)}
	}
	for i, m := range mems {
		outs[i] = fallback.Value{Type: w.In.Outs[i].Type, Data: m.Host}
	}
	cost := placement.HostCost(w.In, w.Types)
	var took time.Duration
	give := func() error {
		dp.exec.Counters.Host++
		if p != nil {
			p.Contest.Note(kernels.ByHost, took)
			for _, k := range p.Kernels {
				dp.exec.kernels.Spend(k, cost)
			}
		}
		dp.keep(q, w, mems)
		return nil
	}
	if cost > placement.InlineCost {
		in := w.In
		dp.exec.jobs.Start(q, w, hostjob.WorkInstruction, mems, func(by *sched.Worker) error {
			return timed(&took, func() error { return fallback.RunOn(by, in, args, outs) })
		}, give)
		return queue.ForHost, nil
	}
	dp.exec.turns.Charge(cost >> 12)
	if err := timed(&took, func() error { return fallback.Run(w.In, args, outs) }); err != nil {
		return 0, placement.Fault(err)
	}
	return 0, give()
}

// bring brings the operands of work to the host, where they still count as the device's.
func (dp *dispatcher) bring(q *Queue, w *placement.Work) (wait queue.Wait, err error) {
	for i, m := range w.Args {
		if m != nil && m.Host == nil {
			m.Shadow = true
			return dp.exec.transfers.ReadBack(q, m, w.Types[i])
		}
	}
	return 0, nil
}

// results makes memory for the results of work that the host computes in the device's stead.
// The device finds large ones where the host writes them.
func (dp *dispatcher) results(q *Queue, w *placement.Work) (mems []*store.Storage, wait queue.Wait, err error) {
	total := int64(0)
	for _, r := range w.In.Outs {
		total += int64(r.Type.Bytes())
	}
	if wait, err := dp.exec.memory.Reserve(q, total); wait != 0 || err != nil {
		return nil, wait, err
	}
	for _, r := range w.In.Outs {
		m := dp.shared(q, r.Type.Bytes())
		if m == nil {
			if m, wait, err = dp.exec.memory.OnHost(q, r.Type.Bytes()); wait != 0 || err != nil {
				store.DropAll(mems)
				return nil, wait, err
			}
		}
		mems = append(mems, m)
	}
	return mems, 0, nil
}

// shared takes memory that both the host and the device see, for a large value. It is nil where
// there is none that the host may write at once.
func (dp *dispatcher) shared(q *Queue, n int) *store.Storage {
	if n < memory.Large {
		return nil
	}
	b, err := dp.exec.Feed(q).TryAlloc((n + 7) / 8 * 8)
	if err != nil {
		return nil
	}
	data := b.Share()
	if data == nil {
		b.Free()
		return nil
	}
	m := &store.Storage{Dev: b, Host: data[:n]}
	m.Retain()
	return m
}

// keep gives the results of work their ids. They count as the device's.
func (dp *dispatcher) keep(q *Queue, w *placement.Work, mems []*store.Storage) {
	for i, m := range mems {
		m.Shadow = true
		dp.exec.keep(q, w.In.Outs[i], m)
	}
}

// Where the device is a processor, the host and the device measure who is sooner done with a plan
// (kernels.Contest). Their results have the same bits.

// Trials is how many runs of the same work it takes until the host and a processor are both measured.
func (e *Executor) Trials() int {
	if !e.dispatcher.stead {
		return 0
	}
	return kernels.Trials
}

// contested returns what the host does for a plan in the device's stead, in elementary operations. It is not
// ok where the host cannot, or is not to.
func (dp *dispatcher) contested(w *placement.Work, p *kernels.Plan) (cost float64, ok bool) {
	switch {
	case !dp.stead:
		return 0, false
	case dp.rule(w) != placement.Never:
		return float64(placement.HostCost(w.In, w.Types)), true
	}
	return dp.exec.kernels.Contestable(p)
}

// next returns who carries out a plan that the device is ready to carry out.
func (dp *dispatcher) next(w *placement.Work, p *kernels.Plan) kernels.Way {
	cost, ok := dp.contested(w, p)
	if !ok {
		return kernels.ByDevice
	}
	return p.Contest.Next(cost)
}

// measures reports whether what the device takes for a plan is to be measured.
func (dp *dispatcher) measures(w *placement.Work, p *kernels.Plan) bool {
	if !p.Contest.Wants(kernels.ByDevice) {
		return false
	}
	_, ok := dp.contested(w, p)
	return ok
}

// noteDevice notes what the device has taken for a plan, unless that was discarded.
func noteDevice(p *kernels.Plan) func([]feed.Interval) {
	return func(list []feed.Interval) {
		if n := len(list); n > 0 {
			if took := list[n-1].End.Sub(list[0].Start); took > 0 {
				p.Contest.Note(kernels.ByDevice, took)
			}
		}
	}
}

// timed calls f and notes what it takes.
func timed(took *time.Duration, f func() error) error {
	start := time.Now()
	err := f()
	*took = time.Since(start)
	return err
}
