package exec

import (
	"slices"
	"time"

	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/kernels"
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
