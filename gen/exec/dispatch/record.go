package dispatch

import (
	"slices"
	"time"

	"nxvk/gen/exec/checks"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/exec/target"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/synth"
	"nxvk/vulkan"
)

// Slot has the recording of the request at the front of a queue.
type Slot struct {
	rec *recording

	plans int     // recorded since the host waited last
	run   float64 // how many plans are recorded from one wait of the host to the next, lately
}

// awaited notes that the host waits for what the device has.
func (s *Slot) awaited() {
	const weight = 0.25 // of the last time
	switch {
	case s.plans == 0: // it waits for another operand
	case s.run == 0:
		s.run = float64(s.plans)
	default:
		s.run += weight * (float64(s.plans) - s.run)
	}
	s.plans = 0
}

// Busy reports whether there is a recording, which goes on when the request has its turn.
func (s *Slot) Busy() bool { return s.rec != nil }

// Records reports whether there is a recording that carries out an instruction, or the fusion of a step.
func (s *Slot) Records(in *wire.Instr) bool { return s.rec != nil && s.rec.work.From == in }

// Drop ends a recording that nobody goes on with.
func (s *Slot) Drop() {
	if rec := s.rec; rec != nil {
		s.rec = nil
		rec.end()
	}
}

// recording is a plan whose steps are being recorded. A plan may have tens of thousands, so others
// have their turn in between; the recording stays with the queue then.
type recording struct {
	feed   *feed.Feed
	work   *placement.Work
	kept   bool // the recording has holds of its own on the operands
	plan   *kernels.Plan
	outs   []*store.Storage // the results
	temps  []*store.Storage
	checks checks.List
	effort *feed.Effort
	next   int    // the step
	taken  uint64 // bits of the updates in place whose copies are left out

	observer *feed.Observer // measures what the device takes, see stead.go; nil where nobody asks
	since    time.Time      // when that began
}

// record records the steps of a plan, from where the recording stands, and gives the results their
// ids.
func (dp *Dispatcher[Q]) record(q Q, rec recording) (wait queue.Wait, err error) {
	f, p, w := rec.feed, rec.plan, rec.work
	for first := rec.next; rec.next < len(p.Steps); rec.next++ {
		if p.LeftOut(rec.next, rec.taken) {
			continue
		}
		if taken := rec.next - first; taken > 0 && taken%queue.Look == 0 {
			dp.cfg.Turns.Charge(queue.Look)
			if dp.cfg.Turns.Over() {
				kept := rec
				dp.cfg.Slot(q).rec = kept.keep()
				dp.cfg.Yield(q)
				return queue.ForTurn, nil
			}
		}
		f.Works(rec.effort)
		if err := dp.recordStep(&rec); err != nil {
			rec.end()
			return 0, dp.cfg.Feeds.Error(err)
		}
		f.Bound()
	}
	defer rec.end()
	for i, m := range rec.outs {
		dp.give(q, w.In.Outs[i], m)
	}
	if rec.observer != nil {
		rec.observer.Close(noteDevice(p, rec.since))
		rec.observer = nil
	}
	dp.cfg.Slot(q).plans++
	dp.cfg.Counts.Device++
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
func (dp *Dispatcher[Q]) continueRecording(q Q) (wait queue.Wait, err error) {
	slot := dp.cfg.Slot(q)
	rec := slot.rec
	if wait, err = dp.ready(q, rec.plan); wait != 0 {
		return wait, nil
	}
	if slot.rec = nil; err != nil {
		rec.end()
		return 0, err
	}
	return dp.record(q, *rec)
}

// end lets go of what a recording holds.
func (rec *recording) end() {
	if rec.observer != nil {
		rec.observer.Close(func([]feed.Interval) {}) // the device does not have all of it
	}
	rec.feed.AddChecks(rec.checks.Words())
	store.DropAll(rec.temps)
	store.DropAll(rec.outs)
	if rec.kept {
		rec.work.Release()
	}
}

// recordStep appends one step of a plan to a stream.
func (dp *Dispatcher[Q]) recordStep(rec *recording) error {
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
	return rec.feed.DispatchWith(p.Kernels[i], step, args, push)
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
func (dp *Dispatcher[Q]) pushed(w *placement.Work, s *synth.Step) ([]byte, error) {
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
