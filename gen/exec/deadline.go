package exec

import (
	"fmt"
	"slices"
	"time"

	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// effort is what the work of a queue is part of; nil is an instruction of few dispatches.
func (l *Queue) effort(p *kernels.Plan) *feed.Effort {
	switch {
	case l.run != nil && l.run.in != nil:
		return &l.run.effort
	case len(p.Steps) > 1:
		return &feed.Effort{}
	}
	return nil
}

// boundRun has a run end at the deadline of its session.
func (e *Executor) boundRun(l *Queue, r *run) {
	if d := l.Session.Deadline; d > 0 {
		r.late = time.AfterFunc(d, func() {
			e.cfg.Post(func() {
				if l.run == r {
					e.stop(l, r, late(d))
				}
			})
		})
	}
}

// stopLate ends the runs of a session that the device has come to.
func (e *Executor) stopLate(home *Queue, err error) {
	for _, l := range append(slices.Clone(home.asyncs), home) {
		if r := l.run; r != nil && r.effort.Began() {
			e.stop(l, r, err)
		}
	}
}

// cancel ends runs of a queue, under way or waiting for their turn.
func (e *Executor) cancel(l *Queue, ids []int) {
	gone := &wire.Fault{Kind: wire.Cancelled, Err: fmt.Errorf("the run was cancelled")}
	for _, f := range slices.Clone(l.asyncs) {
		e.cancel(f, ids)
	}
	for _, id := range ids {
		for i := range l.queue {
			in := l.queue[i].in
			if in == nil || in.Op != ops.Run || len(in.Outs) == 0 || in.Outs[0].ID != ops.ID(id) {
				continue
			}
			if l.run != nil && l.run.in == in {
				e.stop(l, l.run, gone)
				break // the queue has moved on
			} else {
				in.Err = gone
			}
		}
	}
}

// stop ends the run of a queue with an error. Where it waits for an answer it
// goes on now, else at its next step.
func (e *Executor) stop(l *Queue, r *run, err error) {
	if r.err == nil {
		r.err = err
	}
	if l.job != nil {
		l.job.behind = false
		l.job.task.Cancel()
	}
	if r.call != nil {
		r.call = nil
		e.Resume(l)
	}
}
