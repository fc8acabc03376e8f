package dispatch

import (
	"time"

	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/memory"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// rule says when the host computes work in the device's stead.
func (dp *Dispatcher[Q]) rule(w *placement.Work) placement.Stead {
	if !dp.Stead || w.Fusion != nil {
		return placement.Never
	}
	return placement.InStead(w.In, w.Types)
}

// Divides reports whether a fusion goes one instruction at a time, for the host to compute them.
func (dp *Dispatcher[Q]) Divides(w *placement.Work) bool {
	return dp.Stead && w.Fusion.Divided(placement.Divides)
}

// OnHost reports whether the host carries out a plan of instructions in the device's stead, once
// everything is compiled. It may be called from any goroutine.
func (dp *Dispatcher[Q]) OnHost(body []kernels.Instr, p *synth.Plan) bool {
	switch {
	case !dp.Stead:
		return false
	case len(body) > 1:
		return placement.Divides(body)
	}
	return placement.InStead(body[0].Instr, body[0].Types) >= placement.Alone || dp.cfg.Kernels.HasRoutines(p)
}

// standIn has the host compute work by the routine of its operation, in the device's stead. p is
// the plan that is not carried out, or nil.
func (dp *Dispatcher[Q]) standIn(q Q, w *placement.Work, p *kernels.Plan) (wait queue.Wait, err error) {
	if wait, err := dp.bring(q, w); wait != 0 || err != nil {
		return wait, err
	}
	mems, wait, err := dp.hostResults(q, w, true, none)
	if wait != 0 || err != nil {
		return wait, err
	}
	defer store.DropAll(mems)
	cost, took := placement.HostCost(w.In, w.Types), time.Duration(0)
	return dp.compute(q, w, mems, &took, func() error {
		dp.cfg.Counts.Host++
		if p != nil {
			p.Contest.Note(kernels.ByHost, took)
			for _, k := range p.Kernels {
				dp.cfg.Kernels.Spend(k, cost)
			}
		}
		dp.keep(q, w, mems)
		return nil
	})
}

// bring brings the operands of work to the host, where they still count as the device's.
func (dp *Dispatcher[Q]) bring(q Q, w *placement.Work) (wait queue.Wait, err error) {
	for i, m := range w.Args {
		if m != nil && m.Host == nil {
			m.Shadow = true
			return dp.readBack(q, m, w.Types[i])
		}
	}
	return 0, nil
}

// readBack has the host wait for what the device has.
func (dp *Dispatcher[Q]) readBack(q Q, m *store.Storage, t ops.Type) (wait queue.Wait, err error) {
	dp.cfg.Slot(q).awaited()
	return dp.cfg.Transfers.ReadBack(q, m, t)
}

// shared takes memory that both the host and the device see, for a large value. It is nil where
// there is none that the host may write at once.
func (dp *Dispatcher[Q]) shared(q Q, n int) *store.Storage {
	if n < memory.Large {
		return nil
	}
	b, err := dp.cfg.Feed(q).TryAlloc((n + 7) / 8 * 8)
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
func (dp *Dispatcher[Q]) keep(q Q, w *placement.Work, mems []*store.Storage) {
	for i, m := range mems {
		m.Shadow = true
		dp.give(q, w.In.Outs[i], m)
	}
}

// Where the device is a processor, the host and the device measure who is sooner done with a plan
// (kernels.Contest). Their results have the same bits.

// contested returns what the host does for a plan in the device's stead, in elementary operations. It is not
// ok where the host cannot, or is not to.
func (dp *Dispatcher[Q]) contested(w *placement.Work, p *kernels.Plan) (cost float64, ok bool) {
	switch {
	case !dp.Stead:
		return 0, false
	case dp.rule(w) != placement.Never:
		return float64(placement.HostCost(w.In, w.Types)), true
	}
	return dp.cfg.Kernels.Contestable(p)
}

// next returns who carries out a plan that the device is ready to carry out. For work it is asked once: a contest counts.
func (dp *Dispatcher[Q]) next(q Q, w *placement.Work, p *kernels.Plan) kernels.Way {
	if w.Way != nil {
		return *w.Way
	}
	cost, ok := dp.contested(w, p)
	if !ok {
		return kernels.ByDevice
	}
	return p.Contest.Next(kernels.Chances{kernels.ByHost: max(1, cost)}, dp.waits(q))
}

// GoesApart reports whether the instructions of a fusion are carried out one by one, since a processor is sooner done so
// or that is to be measured. Values that only they need must have room.
func (dp *Dispatcher[Q]) GoesApart(q Q, w *placement.Work, p *kernels.Plan) bool {
	if !dp.Stead || len(w.Fusion.Body) < 2 || dp.cfg.Kernels.RunsRoutines(p) {
		return false
	}
	cost, bytes := w.Fusion.Apart(placement.HostCost)
	if !dp.cfg.Session(q).Fits(bytes) {
		return false
	}
	chances := kernels.Chances{kernels.Apart: max(1, cost)}
	if cost, ok := dp.cfg.Kernels.Contestable(p); ok {
		chances[kernels.ByHost] = max(1, cost)
	}
	cold := dp.cfg.Kernels.Cold(p)
	if cold {
		chances[kernels.ByDevice] = kernels.NoDevice
	}
	way := p.Contest.Next(chances, dp.waits(q))
	switch {
	case !cold:
		w.Way = &way
	case way == kernels.Apart: // until the kernels are compiled
		for _, k := range p.Kernels {
			dp.cfg.Kernels.Spend(k, int(p.Contest.Least(way))/len(p.Kernels))
		}
	}
	return way == kernels.Apart
}

// waits is the part of what the device carries out for a queue that it begins with nothing else to do, and that the host waits for.
func (dp *Dispatcher[Q]) waits(q Q) float64 {
	if run := dp.cfg.Slot(q).run; run > 0 && dp.cfg.Feed(q).Idle() {
		return 1 / max(1, run)
	}
	return 0
}

// Measures reports whether it is to be measured how long the instructions of a fusion take one by one.
func (dp *Dispatcher[Q]) Measures(p *kernels.Plan) bool {
	return dp.Stead && p.Contest.Wants(kernels.Apart)
}

// Awaits waits until the device has nothing of a queue.
func (dp *Dispatcher[Q]) Awaits(q Q) queue.Wait {
	f := dp.cfg.Feed(q)
	if !f.Idle() {
		f.Flush()
	}
	if f.Idle() {
		return 0
	}
	f.Throttle(func() { dp.cfg.Resume(q) })
	return queue.ForDevice
}

// measures reports whether what the device takes for a plan is to be measured.
func (dp *Dispatcher[Q]) measures(w *placement.Work, p *kernels.Plan) bool {
	if !p.Contest.Wants(kernels.ByDevice) {
		return false
	}
	_, ok := dp.contested(w, p)
	return ok
}

// noteDevice notes what the device has taken for a plan that has been recorded since, unless that was discarded.
func noteDevice(p *kernels.Plan, since time.Time) func([]feed.Interval) {
	return func(list []feed.Interval) {
		if n := len(list); n > 0 {
			if took := list[n-1].End.Sub(list[0].Start); took > 0 {
				p.Contest.NoteDevice(took, time.Since(since))
			}
		}
	}
}

// timed calls f and notes how long it takes, unless took is nil.
func timed(took *time.Duration, f func() error) error {
	if took == nil {
		return f()
	}
	start := time.Now()
	err := f()
	*took = time.Since(start)
	return err
}

// MayStandIn reports whether the host may compute in the stead of a device: of a processor that rounds
// as the host does. A limit of elements that the user has set for the host, other than 0, says where work
// belongs.
func MayStandIn(dev *vulkan.Device, t *synth.Target, limit int) bool {
	return dev != nil && dev.Info().Kind == vulkan.CPU && limit == 0 &&
		t.CPU && t.PreciseDiv && t.Subnormals && t.Rounds != synth.Unlike
}

// Trials is how many runs of the same work it takes until the host and a processor are both measured.
func (dp *Dispatcher[Q]) Trials() int {
	if !dp.Stead {
		return 0
	}
	return kernels.Trials
}
