package exec

import (
	"fmt"
	"slices"

	"nxvk/gen/wire"
	"nxvk/ops"
)

// cancel ends runs of a lane, under way or waiting for their turn.
func (e *Executor) cancel(l *Lane, ids []int) {
	gone := &wire.Fault{Kind: wire.Cancelled, Err: fmt.Errorf("the run was cancelled")}
	for _, f := range slices.Clone(l.forks) {
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

// stop ends the run of a lane with an error. Where it waits for an answer it
// goes on now, else at its next step.
func (e *Executor) stop(l *Lane, r *run, err error) {
	if r.err == nil {
		r.err = err
	}
	if l.job != nil {
		l.job.task.Cancel()
	}
	if r.call != nil {
		r.call = nil
		e.Resume(l)
	}
}
