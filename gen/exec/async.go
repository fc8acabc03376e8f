package exec

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// An async run is a program that loops or calls back, and so may take any time. It leaves
// the queue of its session and goes on in a queue of its own; its results are pending.
// A request that needs a pending value follows the run into its queue. A request that needs
// values of two async runs waits in the queue of one for the other. Everything else goes on.
// Each queue has its requests in the order in which the session made them, so the oldest
// request of all can always go on.

// home is the queue of the session, which an async run left.
func (q *Queue) home() *Queue {
	if q.from != nil {
		return q.from
	}
	return q
}

// startAsync begins a queue for a run.
func (q *Queue) startAsync() *Queue {
	f := &Queue{Session: q.Session, Orphan: q.Orphan, from: q}
	q.asyncs = append(q.asyncs, f)
	return f
}

// expect notes that values are pending on an async run.
func (q *Queue) expect(outs []ops.Result) {
	home := q.from
	if home.pending == nil {
		home.pending, home.makers = make(map[ops.ID]*Queue), make(map[ops.ID]*Queue)
	}
	for _, o := range outs {
		home.pending[o.ID], home.makers[o.ID] = q, q
		home.Session.Last = max(home.Session.Last, o.ID)
	}
}

// pendingOf finds an async run that an instruction needs a value of, or frees one of.
func (q *Queue) pendingOf(in *wire.Instr) *Queue {
	for i := range in.Ins {
		if f := q.pending[in.Ins[i].ID]; f != nil {
			return f
		}
	}
	if in.Op != ops.Free || in.Err != nil {
		return nil
	}
	// What is pending is freed there, the rest here and now.
	var f *Queue
	in.Attrs[0] = slices.DeleteFunc(in.Attrs[0], func(id int) bool {
		g := q.pending[ops.ID(id)]
		if g == nil {
			q.Session.Delete(ops.ID(id))
			return true
		}
		f = g
		delete(q.pending, ops.ID(id)) // whoever asks for it from now on is told so
		return false
	})
	return f
}

// want lists the operands of an instruction that are pending.
func (q *Queue) want(in *wire.Instr) (wants []ops.ID) {
	for i := range in.Ins {
		if id := in.Ins[i].ID; q.pending[id] != nil {
			wants = append(wants, id)
		}
	}
	return wants
}

// handOut has the requests in async runs hold a value that was pending and is there now: the session may free it
// before their turn comes.
func (q *Queue) handOut(id ops.ID) {
	v, ok := q.Session.Get(id)
	if !ok {
		return
	}
	for _, f := range q.asyncs {
		for i := range f.queue.All() {
			if r := f.queue.At(i); slices.Contains(r.wants, id) {
				r.keep(id, v)
			}
		}
	}
}

// keep holds a value until release.
func (r *request) keep(id ops.ID, v store.Value) {
	if _, have := r.held[id]; have {
		return
	}
	if r.held == nil {
		r.held = make(map[ops.ID]store.Value)
	}
	if v.Mem != nil {
		v.Mem.Retain()
	}
	r.held[id] = v
}

// hold keeps what the instruction of a request needs and is there: the session may free it
// before the turn of the request comes.
func (q *Queue) hold(r *request) {
	for _, o := range r.in.Ins {
		if v, ok := q.Session.Get(o.ID); o.Lit == nil && ok && q.makers[o.ID] == nil {
			r.keep(o.ID, v)
		}
	}
}

// release lets go of what a request held.
func (r *request) release() {
	for _, v := range r.held {
		if v.Mem != nil {
			v.Mem.Drop()
		}
	}
	r.held = nil
}

// waitsElsewhere reports whether an async run has to wait for another one before it can
// carry out an instruction.
func (q *Queue) waitsElsewhere(in *wire.Instr) bool {
	for i := range in.Ins {
		if g := q.from.makers[in.Ins[i].ID]; g != nil && g != q && in.Ins[i].Lit == nil {
			return true
		}
	}
	if in.Op == ops.Free && in.Err == nil {
		for _, id := range in.Attrs[0] {
			if g := q.from.makers[ops.ID(id)]; g != nil && g != q {
				return true
			}
		}
	}
	return false
}

// runAsync gives a run that may take any time an async run. It reports false where
// the run has its place in the order of the session.
func (ip *interpreter) runAsync(q *Queue, in *wire.Instr) bool {
	if q.from != nil || q.run != nil {
		return false
	}
	p, err := ip.programs.Program(q, in.Key)
	if err != nil || !p.Open {
		return false
	}
	r, types, err := ip.begin(q, in)
	if err != nil {
		ip.observer.ObserveRun(q, in).ConcludeRun(err)
		ip.poison(q, in, types, err)
		return true
	}
	f := q.startAsync()
	f.run = r
	r.observed = ip.observer.ObserveRun(f, in)
	ip.bound(f, r)
	f.expect(in.Outs)
	f.push(request{task: func(f *Queue) queue.Wait { return ip.runProgram(f, in) }, in: in})
	ip.queues.advance(f)
	return true
}

var errSessionEnded = errors.New("its session has ended")

// end drops what a queue has in hand.
func (q *Queue) end() {
	for i := range q.queue.All() {
		q.queue.At(i).release()
	}
	q.queue = queue.Deque[request]{}
	if q.run != nil {
		q.run.drop()
		q.run = nil
	}
	q.trace.Drop()
	q.running.Drop()
	q.trace, q.running = nil, nil
	q.job.Drop()
	q.dropExports()
	if q.incoming != nil {
		q.incoming.drop(&wire.Fault{Kind: wire.Cancelled, Err: errSessionEnded})
	}
	for _, x := range q.above {
		x.End()
	}
	q.above = nil
	q.recording.Drop()
	q.programs.End()
	for _, f := range q.asyncs {
		f.end()
	}
	if q.place != nil {
		q.place.Leave(errSessionEnded)
	}
	q.closePort()
	q.asyncs, q.pending, q.makers, q.awaited = nil, nil, nil, nil
}

// afterAsync calls done when the async runs of a queue have served what they have in
// hand now.
func (q *Queue) afterAsync(done func()) {
	left := 1
	one := func() {
		if left--; left == 0 {
			done()
		}
	}
	for _, f := range slices.Clone(q.asyncs) {
		left++
		f.push(request{task: func(*Queue) queue.Wait {
			one()
			return 0
		}})
	}
	one()
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
		ip.queues.Resume(q)
	}
	r.giveUp(err)
	if r.call != nil || q.waits == queue.ForMesh {
		r.call = nil
		ip.queues.Resume(q)
	}
}
