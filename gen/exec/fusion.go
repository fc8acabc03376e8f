package exec

import (
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
)

// runFusion carries out a step of several instructions: by its plan, or one by one
// where the plan is not there, or where there is so little to do that the host
// does it.
func (ip *interpreter) runFusion(q *Queue, r *run, s *program.Step) (wait queue.Wait) {
	f, at := s.Fusion, r.top()
	if q.job.WorksOn(&s.In) {
		if wait, again := ip.exec.jobs.Collect(q, &s.In); !again {
			if wait == 0 {
				ip.exec.Counters.Instructions += uint64(len(f.Body))
			}
			return wait
		}
	}
	if at.part > 0 || q.job.Busy() {
		return ip.runOneByOne(q, r, f, at)
	}
	w, err := ip.exec.gather(q, &s.In)
	w.Fusion = f
	defer w.Release()
	if err == nil && (q.recording.Busy() || ip.canRun(f, w)) {
		if wait, done := ip.runByPlan(q, w, s); wait != 0 || done {
			return wait
		}
	}
	return ip.runOneByOne(q, r, f, at)
}

// canRun reports whether a fusion can be carried out by its plan, is large enough for that, and is not
// better divided.
func (ip *interpreter) canRun(f *program.Fusion, w *placement.Work) bool {
	return f.Plan != nil && ip.exec.kernels.Made(f.Plan) && ip.exec.Lost() == nil && !w.Small(ip.exec.dispatcher.HostLimit) &&
		!ip.exec.dispatcher.Divides(w)
}

// runOneByOne carries out the instructions of a fusion, from where the frame stands. A fusion may
// have thousands, so others have their turn in between.
func (ip *interpreter) runOneByOne(q *Queue, r *run, f *program.Fusion, at *frame) (wait queue.Wait) {
	ends := f.Endings()
	for at.part < len(f.Body) {
		if wait := ip.exec.execute(q, &f.Body[at.part]); wait != 0 {
			return wait
		}
		for _, id := range ends[at.part] {
			r.clear(id)
		}
		if at.part++; at.part < len(f.Body) && ip.exec.turns.Over() {
			ip.exec.yield(q)
			return queue.ForTurn
		}
	}
	return 0
}

// runByPlan carries out a fusion by its plan. It is not done where there is too little
// memory for all results at once: one by one, some of them may have it.
func (ip *interpreter) runByPlan(q *Queue, w *placement.Work, s *program.Step) (wait queue.Wait, done bool) {
	if q.failed != nil {
		ip.exec.poison(q, &s.In, w.Types, q.failed)
		return 0, true
	}
	w.SettleLiterals()
	wait, err := ip.exec.dispatcher.ByPlan(q, w, s.Fusion.Plan) // goes on with a recording, too
	if wait != 0 {
		return wait, false
	}
	if err != nil {
		if kind := wire.KindOf(err); kernels.Refused(err) || kind == wire.OutOfMemory || kind == wire.Limit {
			return 0, false
		}
		ip.exec.poison(q, &s.In, w.Types, err)
	}
	ip.exec.Counters.Instructions += uint64(len(s.Fusion.Body))
	return 0, true
}

// awaitWarmStart reports whether a run has to wait before it begins: one that an
// earlier life has compiled waits for its fusions.
func (ip *interpreter) awaitWarmStart(q *Queue, r *run) bool {
	t := r.specialization
	if t == nil {
		return false
	}
	if t.Awaited() && r.err == nil && ip.exec.Lost() == nil {
		if !r.admission {
			r.admission = true
			ip.exec.specializer.Await(t, func() { ip.exec.Resume(q) })
		}
		return true
	}
	r.specialization = nil
	if t.Body != nil {
		r.stack[0].Block = t.Body
	}
	return false
}
