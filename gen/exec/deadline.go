package exec

import (
	"fmt"
	"slices"
	"time"

	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// effort is what the work of a queue is part of; nil is an instruction of few dispatches.
func (q *Queue) effort(p *kernels.Plan) *feed.Effort {
	switch {
	case q.run != nil && q.run.in != nil:
		return &q.run.effort
	case len(p.Steps) > 1:
		return &feed.Effort{}
	}
	return nil
}

// bound has a run end at the deadline of its session.
func (ip *interpreter) bound(q *Queue, r *run) {
	if d := q.Session.Deadline; d > 0 {
		r.late = time.AfterFunc(d, func() {
			ip.cfg.Post(func() {
				if q.run == r {
					ip.stop(q, r, wire.Late(d))
				}
			})
		})
	}
}

// stopLate ends the runs of a session that the device has come to.
func (ip *interpreter) stopLate(home *Queue, err error) {
	for _, q := range append(slices.Clone(home.asyncs), home) {
		if r := q.run; r != nil && r.effort.Began() {
			ip.stop(q, r, err)
		}
	}
}

// cancel ends runs of a queue, under way or waiting for their turn.
func (ip *interpreter) cancel(q *Queue, ids []int) {
	ended := make(map[ops.ID]bool, len(ids))
	for _, id := range ids {
		ended[ops.ID(id)] = true
	}
	for _, f := range append(slices.Clone(q.asyncs), q) {
		ip.cancelIn(f, ended)
	}
}

// cancelIn ends the runs of a queue alone, and the import from another device, whose first results
// are in a set.
func (ip *interpreter) cancelIn(q *Queue, ended map[ops.ID]bool) {
	gone := &wire.Fault{Kind: wire.Cancelled, Err: fmt.Errorf("the run was cancelled")}
	var underWay *run
	var incoming *arrival
	for i := range q.queue.All() {
		in := q.queue.At(i).in
		switch {
		case in != nil && q.incoming != nil && q.incoming.in == in:
			if len(in.Outs) > 0 && ended[in.Outs[0].ID] {
				incoming = q.incoming
			}
		case in != nil && in.Op.IsCollective() && len(in.Outs) > 0 && ended[in.Outs[0].ID]:
			in.Err = gone
		case in == nil || in.Op != ops.Run || len(in.Outs) == 0 || !ended[in.Outs[0].ID]:
		case q.run != nil && q.run.in == in:
			underWay = q.run
		default:
			in.Err = gone
		}
	}
	if incoming != nil {
		incoming.cancel()
	}
	if underWay != nil {
		ip.stop(q, underWay, gone)
	}
}

// stop ends the run of a queue with an error. Where it waits for an answer it
// goes on now, else at its next step.
func (ip *interpreter) stop(q *Queue, r *run, err error) {
	if r.err == nil {
		r.err = err
	}
	q.job.Stop()
	if q.incoming != nil {
		q.incoming.drop(err)
		ip.Resume(q)
	}
	r.giveUp(err)
	if r.call != nil || q.waits == queue.ForMesh {
		r.call = nil
		ip.Resume(q)
	}
}
