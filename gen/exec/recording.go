package exec

import (
	"slices"

	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
)

// recording is a plan whose steps are being recorded. A plan may have tens of thousands, so others
// have their turn in between; the recording stays with the queue then.
type recording struct {
	work   *placement.Work
	kept   bool // the recording has holds of its own on the operands
	plan   *kernels.Plan
	outs   []*store.Storage // the results
	temps  []*store.Storage
	checks checks
	effort *feed.Effort
	next   int // the step
}

// record records the steps of a plan, from where the recording stands, and gives the results their
// ids.
func (dp *dispatcher) record(l *Queue, rec recording) (wait queue.Wait, err error) {
	f, p, w := dp.exec.Feed(l), rec.plan, rec.work
	for first := rec.next; rec.next < len(p.Steps); rec.next++ {
		if taken := rec.next - first; taken > 0 && taken%queue.Look == 0 {
			dp.exec.turns.Charge(queue.Look)
			if dp.exec.turns.Over() {
				kept := rec
				l.recording = kept.keep()
				dp.exec.yield(l)
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
	if s := p.Status; s != nil {
		dp.readStatus(l, placement.Resolve(*s, w.Args, rec.outs, rec.temps), rec.outs)
		return dp.judge(l, w)
	}
	for i, m := range rec.outs {
		dp.exec.keep(l, w.In.Outs[i], m)
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
func (dp *dispatcher) continueRecording(l *Queue) (wait queue.Wait, err error) {
	rec := l.recording
	if wait, err = dp.ready(l, rec.plan); wait != 0 {
		return wait, nil
	}
	if l.recording = nil; err != nil {
		rec.end(dp.exec.Feed(l))
		return 0, err
	}
	return dp.record(l, *rec)
}

// end lets go of what a recording holds.
func (rec *recording) end(f *feed.Feed) {
	f.AddChecks(rec.checks.words())
	dropAll(rec.temps)
	dropAll(rec.outs)
	if rec.kept {
		rec.work.Release()
	}
}

// dropRecording ends a recording that nobody goes on with.
func (l *Queue) dropRecording() {
	if rec := l.recording; rec != nil {
		l.recording = nil
		rec.end(l.home().feed)
	}
}
