package exec

import (
	"nxvk/gen/exec/memory"
	"nxvk/gen/exec/queue"
	"nxvk/gen/exec/trace"
	"nxvk/gen/store"
	"nxvk/ops"
)

// A trace runs like a program without a name: its instructions one by one when
// its signature is new, and fusions of them once it has been seen, in this life of the
// node or an earlier one (trace.Cache). What is compiled depends on which values
// are still named when it runs: the others are never stored.

// runTrace carries out a trace, from where it stands.
func (rc *recorder) runTrace(l *Queue, s *trace.Trace) (wait queue.Wait) {
	if l.run == nil {
		l.run = rc.bind(l, s)
	}
	r := l.run
	if rc.exec.interpreter.awaitWarmStart(l, r) {
		return queue.ForPlan
	}
	for len(r.stack) > 0 {
		if wait := rc.exec.interpreter.advanceRun(l, r); wait != 0 {
			return wait
		}
	}
	l.run, l.running = nil, nil
	for id, slot := range s.Named() {
		l.Session.Put(id, r.slots[slot])
		r.slots[slot] = store.Value{}
	}
	r.drop()
	if s.Reuse() {
		l.spare = s
	}
	return 0
}

// bind begins the run of a trace with what that takes from outside.
func (rc *recorder) bind(l *Queue, s *trace.Trace) *run {
	b, t, skipped := rc.traces.Block(s, memory.Allows(l.Session, s.Total(), 0))
	rc.exec.Counters.Instructions += uint64(skipped)
	r := &l.traceRun
	*r = run{
		slots: append(r.slots[:0], make([]store.Value, s.Slots())...), lits: append(r.lits[:0], make([]*ops.Literal, s.Slots())...),
		stack: append(r.stack[:0], frame{Block: b}), specialization: t,
	}
	for _, p := range b.Params {
		r.slots[p.ID], r.lits[p.ID] = s.Take(p.ID)
	}
	s.Drop()
	return r
}

// forget lets go of a value of the trace that is being carried out, out of turn.
func (l *Queue) forget(id ops.ID) {
	slot, r := l.running.Forget(id), l.run
	if slot == 0 {
		return
	}
	if r == nil || len(r.stack) == 0 {
		return
	}
	f := r.top()
	for i := f.pc; i < len(f.Steps); i++ {
		for _, o := range f.Steps[i].In.Ins {
			if o.Lit == nil && o.ID == slot {
				return
			}
		}
	}
	r.clear(slot)
}
