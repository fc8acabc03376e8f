package exec

import (
	"slices"

	"nxvk/gen/exec/checks"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/program"
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
	push  []byte           // scratch of recordStep
	args  []vulkan.Arg     // scratch of recordStep
	outs  []*store.Storage // scratch of deviceResults
	temps []*store.Storage // scratch of deviceResults
}

// runOnDevice records work. Operands are brought to the device first.
func (dp *dispatcher) runOnDevice(q *Queue, w *placement.Work, p *kernels.Plan) (wait queue.Wait, err error) {
	if q.recording != nil {
		return dp.continueRecording(q)
	}
	if wait, err := dp.ready(q, p); wait != 0 || err != nil {
		return wait, err
	}
	f := dp.exec.Feed(q)
	if f.Full() {
		f.Throttle(func() { dp.exec.Resume(q) })
		return queue.ForDevice, nil
	}
	measured := dp.measures(w, p)
	if measured && !f.Idle() {
		if f.Flush(); !f.Idle() {
			f.Throttle(func() { dp.exec.Resume(q) })
			return queue.ForDevice, nil
		}
	}
	updated := q.updates(w, p)
	total := int64(0)
	for i, r := range w.In.Outs {
		if i > 0 || updated == nil {
			total += int64(r.Type.Bytes())
		}
	}
	if wait, err := dp.exec.memory.Reserve(q, total); wait != 0 || err != nil {
		return wait, err
	}
	for _, m := range w.Args {
		if m == nil {
			continue
		}
		if wait, err := dp.exec.transfers.ToDevice(q, m); wait != 0 || err != nil {
			return wait, err
		}
	}
	outs, temps, wait, err := dp.deviceResults(q, w, p, updated != nil)
	if wait != 0 || err != nil {
		store.DropAll(temps)
		store.DropAll(outs)
		return wait, err
	}
	rec := recording{work: w, plan: p, outs: outs, temps: temps, effort: q.effort(p)}
	if len(p.Checks) > 0 {
		if rec.checks, err = dp.exec.checker.Open(f, q.note, w, p); err != nil {
			store.DropAll(temps)
			store.DropAll(outs)
			return 0, err
		}
	}
	w.CarryChecks(outs, p, rec.checks.Carried())
	if measured {
		rec.observer = f.Observe()
	}
	if updated != nil {
		rec.takeOver(updated)
		dp.exec.Counters.InPlace++
	}
	return dp.record(q, rec)
}

// deviceResults takes memory for the results and temporaries of a plan. With updates, the first
// result is to take that of an operand.
func (dp *dispatcher) deviceResults(q *Queue, w *placement.Work, p *kernels.Plan, updates bool) (outs, temps []*store.Storage, wait queue.Wait, err error) {
	take := func(list *[]*store.Storage, n int) bool {
		var buf *vulkan.Buffer
		if buf, wait, err = dp.exec.memory.OnDevice(q, n); wait != 0 || err != nil {
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
		if i == 0 && updates {
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

// recording is a plan whose steps are being recorded. A plan may have tens of thousands, so others
// have their turn in between; the recording stays with the queue then.
type recording struct {
	work   *placement.Work
	kept   bool // the recording has holds of its own on the operands
	plan   *kernels.Plan
	outs   []*store.Storage // the results
	temps  []*store.Storage
	checks checks.List
	effort *feed.Effort
	next   int // the step

	observer *feed.Observer // measures what the device takes, see stead.go; nil where nobody asks
}

// record records the steps of a plan, from where the recording stands, and gives the results their
// ids.
func (dp *dispatcher) record(q *Queue, rec recording) (wait queue.Wait, err error) {
	f, p, w := dp.exec.Feed(q), rec.plan, rec.work
	for first := rec.next; rec.next < len(p.Steps); rec.next++ {
		if taken := rec.next - first; taken > 0 && taken%queue.Look == 0 {
			dp.exec.turns.Charge(queue.Look)
			if dp.exec.turns.Over() {
				kept := rec
				q.recording = kept.keep()
				dp.exec.yield(q)
				return queue.ForTurn, nil
			}
		}
		f.Works(rec.effort)
		if err := dp.recordStep(f, &rec); err != nil {
			rec.end(f)
			return 0, dp.exec.DeviceError(err)
		}
		f.Bound()
	}
	defer rec.end(f)
	for i, m := range rec.outs {
		dp.exec.keep(q, w.In.Outs[i], m)
	}
	if rec.observer != nil {
		rec.observer.Close(noteDevice(p))
		rec.observer = nil
	}
	dp.exec.Counters.Device++
	return 0, nil
}

// keep returns the recording with memory and holds of its own.
func (rec *recording) keep() *recording {
	if !rec.kept {
		rec.outs, rec.temps = slices.Clone(rec.outs), slices.Clone(rec.temps)
		rec.work, rec.kept = rec.work.Hold(), true
	}
	return rec
}

// continueRecording goes on with the recording of a queue. Kernels may have made room for others
// since.
func (dp *dispatcher) continueRecording(q *Queue) (wait queue.Wait, err error) {
	rec := q.recording
	if wait, err = dp.ready(q, rec.plan); wait != 0 {
		return wait, nil
	}
	if q.recording = nil; err != nil {
		rec.end(dp.exec.Feed(q))
		return 0, err
	}
	return dp.record(q, *rec)
}

// end lets go of what a recording holds.
func (rec *recording) end(f *feed.Feed) {
	if rec.observer != nil {
		rec.observer.Close(func([]feed.Interval) {}) // the device does not have all of it
	}
	f.AddChecks(rec.checks.Words())
	store.DropAll(rec.temps)
	store.DropAll(rec.outs)
	if rec.kept {
		rec.work.Release()
	}
}

// dropRecording ends a recording that nobody goes on with.
func (q *Queue) dropRecording() {
	if rec := q.recording; rec != nil {
		q.recording = nil
		rec.end(q.home().feed)
	}
}

// recordStep appends one step of a plan to a stream.
func (dp *dispatcher) recordStep(f *feed.Feed, rec *recording) error {
	p, i, w := rec.plan, rec.next, rec.work
	step := &p.Steps[i]
	args := dp.args[:0]
	for _, a := range step.Args {
		if a.Ref.Kind == synth.CheckWord {
			args = append(args, rec.checks.Arg(a.Ref.Index))
			continue
		}
		m := placement.Resolve(a.Ref, w.Args, rec.outs, rec.temps)
		args = append(args, vulkan.Arg{Buffer: m.Dev, Offset: a.Offset, Size: a.Bytes, Access: vulkan.Access(a.Access)})
	}
	dp.args = args
	push, err := dp.pushed(w, step)
	if err != nil {
		return err
	}
	p.Kernels[i].Ran()
	p.Kernels[i].NameOp(func() string { return opName(w) })
	return f.DispatchWith(p.Kernels[i], step, args, push)
}

// opName is what work is called: its operation, or those of its fusion.
func opName(w *placement.Work) string {
	if w.Fusion != nil {
		return program.NameOf(w.Fusion.Body)
	}
	return w.In.Op.String()
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
