package exec

import (
	"time"

	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// The steps of a run that are not single instructions. For the region of a branch or a loop a frame is pushed, whose
// values become the results of the step, or the state of the next round. A fusion is carried out by its plan.

// handOver lets go of what a loop begins with where nothing else needs it: the first round may
// update it in place, and the memory is free when the loop has another state. What the regions of
// the loop capture is needed until it ends.
func (r *run) handOver(s *program.Step) {
	for _, id := range s.Last {
		if !s.Captures(id) {
			r.clear(id)
		}
	}
}

// valuesOf gives the values of operands, with holds on their memory.
func (ip *interpreter) valuesOf(q *Queue, r *run, list []ops.Operand) []store.Value {
	out := make([]store.Value, len(list))
	for i, o := range list {
		out[i] = ip.valueOf(q, r, o)
	}
	return out
}

// improve has a run that began without fusions go on with them once there are some: a loop from its next round on. Values
// have the same slots in both.
func (ip *interpreter) improve(r *run, s *program.Step, which int) {
	switch t := r.later; {
	case t == nil:
	case t.Body != nil:
		r.fused, r.later = r.prog.Body.Pairs(t.Body), nil
	case s.In.Op == ops.While && which == 1:
		ip.specializer.CountRound(r.prog, t)
	}
}

// enter begins a region of a step with values for its parameters.
func (ip *interpreter) enter(q *Queue, r *run, s *program.Step, which int, params []store.Value) {
	ip.improve(r, s, which)
	b := s.Regions[which]
	if f := r.fused[s]; f != nil {
		b = f.Regions[which]
	}
	for i, p := range b.Params {
		r.set(p.ID, params[i])
	}
	r.stack = append(r.stack, frame{Block: b, of: s, which: which})
}

// branch runs the region that the predicate chooses.
func (ip *interpreter) branch(q *Queue, r *run, f *frame, s *program.Step) (wait queue.Wait) {
	yes, wait, err := ip.readPredicate(q, r, s.In.Ins[0])
	if wait != 0 {
		return wait
	}
	f.pc++
	if err != nil {
		ip.fail(r, s, err)
		return 0
	}
	which := 1
	if yes {
		which = 0
	}
	ip.enter(q, r, s, which, nil)
	return 0
}

// fail makes the results of a step carry an error.
func (ip *interpreter) fail(r *run, s *program.Step, err error) {
	for _, o := range s.In.Outs {
		r.set(o.ID, store.Value{Type: o.Type, Err: err})
	}
	r.passed(s)
}

// leave ends a block: what it gives becomes the results of its step, or decides
// about the next round of a loop.
func (ip *interpreter) leave(q *Queue, r *run, f *frame) (wait queue.Wait) {
	s := f.of
	switch {
	case s == nil:
		r.stack = r.stack[:0]
		return 0
	case s.In.Op == ops.While && f.which == 0:
		return ip.decide(q, r, f, s)
	}
	values := ip.valuesOf(q, r, f.Values)
	r.pop(f)
	if s.In.Op == ops.While {
		ip.enter(q, r, s, 0, values)
		return 0
	}
	r.give(s, values)
	return 0
}

// give ends a step with its results.
func (r *run) give(s *program.Step, values []store.Value) {
	for i, o := range s.In.Outs {
		r.set(o.ID, values[i])
	}
	r.passed(s)
}

// pop ends a block and lets go of what it made.
func (r *run) pop(f *frame) {
	for _, p := range f.Params {
		r.clear(p.ID)
	}
	for i := range f.Steps {
		for _, o := range f.Steps[i].In.Outs {
			r.clear(o.ID)
		}
	}
	r.stack = r.stack[:len(r.stack)-1]
}

// runFusion carries out a step of several instructions: by its plan, or one by one
// where the plan is not there, or where there is so little to do that the host
// does it.
func (ip *interpreter) runFusion(q *Queue, r *run, s *program.Step) (wait queue.Wait) {
	f, at := s.Fusion, r.top()
	if q.job.WorksOn(&s.In) {
		if wait, again := ip.jobs.Collect(q, &s.In); !again {
			if wait == 0 {
				ip.counters.Instructions += uint64(len(f.Body))
			}
			return wait
		}
	}
	recorded := q.recording.Records(&s.In)
	if at.part > 0 || q.job.Busy() || q.recording.Busy() && !recorded { // the first instruction may be under way, too
		return ip.runOneByOne(q, r, f, at)
	}
	w, err := q.gather(&s.In)
	w.Fusion = f
	defer w.Release()
	at.began = time.Time{}
	canRun := err == nil && (recorded || ip.canRun(f, w))
	switch {
	case err != nil:
	case canRun && (recorded || !ip.dispatcher.GoesApart(q, w, f.Plan)):
		if wait, done := ip.runByPlan(q, w, s); wait != 0 || done {
			return wait
		}
	case canRun:
		if wait := ip.beginApart(q, f, at); wait != 0 {
			return wait
		}
	case q.failed == nil:
		wait, done, err := ip.dispatcher.Little(q, w)
		if err != nil {
			ip.poison(q, &s.In, w.Types, err)
		}
		if done || err != nil {
			ip.counters.Instructions += uint64(len(f.Body))
		}
		if wait != 0 || done || err != nil {
			return wait
		}
	}
	return ip.runOneByOne(q, r, f, at)
}

// beginApart begins to measure how long the instructions of a fusion take one by one, where somebody wants to know.
func (ip *interpreter) beginApart(q *Queue, f *program.Fusion, at *frame) (wait queue.Wait) {
	if !ip.dispatcher.Measures(f.Plan) {
		return 0
	}
	if wait = ip.dispatcher.Awaits(q); wait == 0 {
		at.began = time.Now()
	}
	return wait
}

// canRun reports whether a fusion can be carried out by its plan, is large enough for that, and is not
// better divided.
func (ip *interpreter) canRun(f *program.Fusion, w *placement.Work) bool {
	return f.Plan != nil && ip.kernels.Made(f.Plan) && ip.feeds.Lost() == nil && !w.Small(ip.dispatcher.HostLimit) &&
		!ip.dispatcher.Divides(w)
}

// runOneByOne carries out the instructions of a fusion, from where the frame stands. A fusion may
// have thousands, so others have their turn in between.
func (ip *interpreter) runOneByOne(q *Queue, r *run, f *program.Fusion, at *frame) (wait queue.Wait) {
	ends := f.Endings()
	for at.part < len(f.Body) {
		if wait := ip.execute(q, &f.Body[at.part]); wait != 0 {
			return wait
		}
		for _, id := range ends[at.part] {
			r.clear(id)
		}
		if at.part++; at.part < len(f.Body) && ip.queues.turns.Over() {
			ip.queues.yield(q)
			return queue.ForTurn
		}
	}
	if !at.began.IsZero() {
		if wait := ip.dispatcher.Awaits(q); wait != 0 {
			return wait
		}
		f.Plan.Contest.Note(kernels.Apart, time.Since(at.began))
		at.began = time.Time{}
	}
	return 0
}

// runByPlan carries out a fusion by its plan. It is not done where there is too little
// memory for all results at once: one by one, some of them may have it.
func (ip *interpreter) runByPlan(q *Queue, w *placement.Work, s *program.Step) (wait queue.Wait, done bool) {
	if q.failed != nil {
		ip.poison(q, &s.In, w.Types, q.failed)
		return 0, true
	}
	w.SettleLiterals()
	wait, err := ip.dispatcher.ByPlan(q, w, s.Fusion.Plan) // goes on with a recording, too
	if wait != 0 {
		return wait, false
	}
	if err != nil {
		if kind := wire.KindOf(err); kernels.Refused(err) || kind == wire.OutOfMemory || kind == wire.Limit {
			return 0, false
		}
		ip.poison(q, &s.In, w.Types, err)
	}
	ip.counters.Instructions += uint64(len(s.Fusion.Body))
	return 0, true
}

// awaitWarmStart reports whether a run has to wait before it begins: one that an
// earlier life has compiled waits for its fusions.
func (ip *interpreter) awaitWarmStart(q *Queue, r *run) bool {
	t := r.specialization
	if t == nil {
		return false
	}
	if t.Awaited() && r.err == nil && ip.feeds.Lost() == nil {
		if !r.admission {
			r.admission = true
			ip.specializer.Await(t, func() { ip.queues.Resume(q) })
		}
		return true
	}
	r.specialization = nil
	if t.Body != nil {
		r.stack[0].Block = t.Body
	} else if r.prog != nil {
		r.later = t
	}
	return false
}
