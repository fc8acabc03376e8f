package dispatch

import (
	"time"

	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/vulkan"
)

// runOnDevice records work. Operands are brought to the device first.
func (dp *Dispatcher[Q]) runOnDevice(q Q, w *placement.Work, p *kernels.Plan) (wait queue.Wait, err error) {
	if dp.cfg.Slot(q).Busy() {
		return dp.continueRecording(q)
	}
	if wait, err := dp.ready(q, p); wait != 0 || err != nil {
		return wait, err
	}
	f := dp.cfg.Feed(q)
	if f.Full() {
		f.Throttle(func() { dp.cfg.Resume(q) })
		return queue.ForDevice, nil
	}
	measured := dp.measures(w, p)
	if measured {
		if wait := dp.Awaits(q); wait != 0 {
			return wait, nil
		}
	}
	updated := dp.updates(q, w, p)
	if wait, err := dp.cfg.Memory.Reserve(q, newBytes(w, p, updated)); wait != 0 || err != nil {
		return wait, err
	}
	for _, m := range w.Args {
		if m == nil {
			continue
		}
		if wait, err := dp.cfg.Transfers.ToDevice(q, m); wait != 0 || err != nil {
			return wait, err
		}
	}
	outs, temps, wait, err := dp.deviceResults(q, w, p, updated)
	if wait != 0 || err != nil {
		store.DropAll(temps)
		store.DropAll(outs)
		return wait, err
	}
	rec := recording{feed: f, work: w, plan: p, outs: outs, temps: temps, effort: dp.cfg.Effort(q, p)}
	if len(p.Checks) > 0 {
		if rec.checks, err = dp.cfg.Checker.Open(f, dp.cfg.Note(q), w, p); err != nil {
			store.DropAll(temps)
			store.DropAll(outs)
			return 0, err
		}
	}
	w.CarryChecks(outs, p, rec.checks.Carried())
	if measured {
		rec.observer, rec.since = f.Observe(), time.Now()
	}
	rec.taken = dp.takeOver(updated, p, outs, false)
	return dp.record(q, rec)
}

// newBytes is the size of the results of work, but for those that take the memory of operands.
func newBytes(w *placement.Work, p *kernels.Plan, updated updated) (n int64) {
	for i, r := range w.In.Outs {
		if updated.of(p, i) == nil {
			n += int64(r.Type.Bytes())
		}
	}
	return n
}

// deviceResults takes memory for the results and temporaries of a plan. Results of updates are to take that of
// operands.
func (dp *Dispatcher[Q]) deviceResults(q Q, w *placement.Work, p *kernels.Plan, updated updated) (outs, temps []*store.Storage, wait queue.Wait, err error) {
	take := func(list *[]*store.Storage, n int) bool {
		var buf *vulkan.Buffer
		if buf, wait, err = dp.cfg.Memory.OnDevice(q, n); wait != 0 || err != nil {
			return false
		}
		m := &store.Storage{Dev: buf}
		m.Retain()
		*list = append(*list, m)
		return true
	}
	outs, temps = dp.outs[:0], dp.temps[:0]
	defer func() { dp.outs, dp.temps = outs, temps }()
	for i, r := range w.In.Outs {
		if updated.of(p, i) != nil {
			m := &store.Storage{}
			m.Retain()
			outs = append(outs, m)
			continue
		}
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

// A plan that begins with copies of operands updates an operand where it is if nobody else
// needs it: a cache that a loop carries is not copied in each round. The result then takes the
// memory of the operand, and the copy is left out (see lowering.InPlace). Nobody else needs an
// operand that the run holds alone, and only until the end of the step.

// updated has the operands that a plan updates in place, by the numbers of its updates; nil where it does not.
type updated []*store.Storage

// of is the operand whose memory result i takes, or nil.
func (u updated) of(p *kernels.Plan, i int) *store.Storage {
	for k, m := range u {
		if m != nil && p.InPlace[k].Result == i {
			return m
		}
	}
	return nil
}

// onHost are the operands that the host may update where they are: those that the host alone has, and those in memory that
// it shares with a device which has no work with them.
func (u updated) onHost() updated {
	for k, m := range u {
		if m != nil && !hostUpdates(m) {
			u[k] = nil
		}
	}
	return u
}

// hostUpdates reports whether the host may update an operand where it is.
func hostUpdates(m *store.Storage) bool {
	if m.Dev == nil {
		return m.OwnsHost() && m.Release == nil
	}
	d := m.Dev.Writable()
	return len(d) > 0 && len(m.Host) > 0 && &d[0] == &m.Host[0]
}

// takeOver gives results the memory of the operands that a plan updates: on the device, and with host there, too. It tells of
// which updates, a bit each; their copies are left out.
func (dp *Dispatcher[Q]) takeOver(list updated, p *kernels.Plan, outs []*store.Storage, host bool) (taken uint64) {
	for k, m := range list {
		if m == nil {
			continue
		}
		out := outs[p.InPlace[k].Result]
		out.Dev, m.Dev = m.Dev, nil
		if host {
			out.HostOf(m)
		}
		taken |= 1 << k
		dp.cfg.Counts.InPlace++
	}
	return taken
}

// updates finds the operands that a plan updates in place. The list is valid until the next call.
func (dp *Dispatcher[Q]) updates(q Q, w *placement.Work, p *kernels.Plan) updated {
	if len(p.InPlace) == 0 {
		return nil
	}
	dp.updated = dp.updated[:0]
	for _, u := range p.InPlace {
		dp.updated = append(dp.updated, dp.alone(q, w, u.Operand))
	}
	return dp.updated
}

// alone is operand i if nobody else needs it: no other operand may share its memory, and no computation on the host.
// It is nil otherwise.
func (dp *Dispatcher[Q]) alone(q Q, w *placement.Work, i int) *store.Storage {
	m := w.Args[i]
	if m == nil || !m.Sole() || m.Pins > 0 || !dp.cfg.Last(q, w.From, w.In.Ins[i].ID) {
		return nil
	}
	for k, other := range w.Args {
		if k != i && other == m {
			return nil
		}
	}
	return m
}
