package exec

import (
	"slices"
	"time"

	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// scheduler serves the queues of sessions: a request after the other, in turns. A queue whose request cannot go on
// waits for a reason, and is served again from there.
type scheduler struct {
	*core
	bySession map[*store.Session]*Queue
	turns     queue.Turns[*Queue]
	recorder  postponer

	execute     func(q *Queue, in *wire.Instr) queue.Wait // carries out an instruction, or says what it waits for: the evaluator
	cancel      func(q *Queue, ids []int)                 // ends runs, under way or waiting for their turn: the interpreter
	retryShared func()                                    // looks for values that other sessions and devices wait for: sharing
}

// postponer decides when instructions of a stream have their turn: the recorder.
type postponer interface {
	schedule(q *Queue, r *request) timing
	scheduleInstr(q *Queue, in *wire.Instr) timing
	cutTrace(q *Queue) request
	awaitSilence()
}

// serve carries out a request.
func (s *scheduler) serve(q *Queue, r *request) queue.Wait {
	if r.task == nil {
		return s.execute(q, r.in)
	}
	return r.task(q)
}

// Queue returns the queue of a session.
func (s *scheduler) Queue(of *store.Session) *Queue {
	q, ok := s.bySession[of]
	if !ok {
		q = &Queue{Session: of}
		s.bySession[of] = q
	}
	return q
}

// Stream carries out instructions after everything that the session asked for
// before.
func (s *scheduler) Stream(q *Queue, instrs []wire.Instr) {
	s.turns.Begin()
	defer s.turns.End()
	for i := range instrs {
		in := &instrs[i]
		if in.Op == ops.Cancel && in.Err == nil {
			s.cancel(q, in.Attrs[0]) // what is to be ended holds up the rest
			continue
		}
		if q.queue.Len() == 0 && q.waits == 0 {
			switch s.recorder.scheduleInstr(q, in) {
			case later:
				q.carried(in)
				if s.turns.Over() {
					s.yield(q)
				}
				continue
			case unknown:
				s.park(q, queue.ForPlan)
				q.push(newRequest(in))
				continue
			case after:
				q.push(newRequest(in))
				s.advance(q)
				continue
			}
			var wait queue.Wait
			if !s.follow(q, newRequest(in)) {
				wait = s.execute(q, in)
			}
			if wait == 0 {
				q.carried(in)
				if s.turns.Over() {
					s.yield(q)
				}
				continue
			}
			s.park(q, wait)
		}
		if q.waits != 0 && q.claim.Swept() && in.Op == ops.Free && in.Err == nil {
			q.freeEarly(in.Attrs[0])
		}
		q.push(newRequest(in))
	}
	s.settle()
}

// Do runs a task after everything that the session asked for before.
func (s *scheduler) Do(q *Queue, t task) { s.enqueue(q, request{task: t}) }

func (s *scheduler) enqueue(q *Queue, r request) {
	q.push(r)
	s.advance(q)
}

// advance serves a queue until it is empty or has to wait.
func (s *scheduler) advance(q *Queue) {
	s.turns.Begin()
	defer s.turns.End()
	for q.waits == 0 && q.queue.Len() > 0 {
		if s.turns.Over() {
			s.yield(q)
			return
		}
		r := *q.queue.At(0)
		if q.from != nil && r.in != nil && q.waitsElsewhere(r.in) {
			q.awaits = true
			s.park(q, queue.ForRun)
			return
		}
		switch s.recorder.schedule(q, &r) {
		case later:
			q.pop()
			continue
		case unknown:
			s.park(q, queue.ForPlan)
			return
		case after:
			q.queue.PushFront(s.recorder.cutTrace(q))
			continue
		}
		if !s.follow(q, r) {
			if wait := s.serve(q, &r); wait != 0 {
				s.park(q, wait)
				return
			}
		}
		q.fresh()
		q.since, q.source = time.Time{}, nil
		q.pop() // the task may have ended the session
		if q.from != nil {
			s.settleAsync(q, &r)
		}
	}
}

// park has a queue wait for something.
func (s *scheduler) park(q *Queue, why queue.Wait) {
	if q.waits == 0 {
		s.counters.Waits[why]++
		if q.run != nil {
			q.run.waited(why)
		}
		if why == queue.ForPlan || why == queue.ForKernel {
			q.observed.Block()
			q.flow.Compile()
		}
	}
	q.waits = why
}

// Resume serves a queue that has waited.
func (s *scheduler) Resume(q *Queue) {
	q.waits = 0
	q.observed.Resume()
	s.advance(q)
	s.settle()
}

// resumeWith is Resume with the reason why an operand of the request at the front did not come, or nil.
func (s *scheduler) resumeWith(q *Queue, err error) {
	if err != nil {
		q.failed = err
	}
	s.Resume(q)
}

// settle does what follows a round of work: values that others wait for are looked for, and what has gathered is
// flushed once the stream is silent.
func (s *scheduler) settle() {
	s.retryShared()
	s.recorder.awaitSilence()
}

// yield has a queue wait for its next turn.
func (s *scheduler) yield(q *Queue) {
	home := q.home()
	s.park(q, queue.ForTurn)
	s.turns.Wait(q, &home.share, home.Session.Weight)
}

// follow hands a request of the home queue to the async run that has what it needs.
func (s *scheduler) follow(q *Queue, r request) bool {
	if q.from != nil || len(q.pending) == 0 {
		return false
	}
	f := q.pending[r.read]
	if r.in != nil && f == nil {
		f = q.pendingOf(r.in)
	}
	if f == nil {
		return false
	}
	if r.export != nil {
		if q.awaited == nil {
			q.awaited = make(map[ops.ID][]*export)
		}
		q.awaited[r.read] = append(q.awaited[r.read], r.export)
		return true
	}
	if r.in != nil {
		r.prog = q.programs.Find(r.in.Key)
		q.hold(&r)
		r.wants = q.want(r.in)
		if r.in.Op.IsCollective() {
			r.round = q.beginRound(0)
		}
		f.expect(r.in.Outs)
	}
	f.push(r)
	s.advance(f)
	return true
}

// settleAsync does what follows when an async run has served a request: what that made is
// there, and async runs that wait for it go on.
func (s *scheduler) settleAsync(f *Queue, r *request) {
	home := f.from
	r.release()
	if r.in != nil {
		for _, o := range r.in.Outs {
			if home.makers[o.ID] == f {
				delete(home.makers, o.ID)
			}
			if home.pending[o.ID] == f {
				delete(home.pending, o.ID)
			}
			if home.makers[o.ID] == nil {
				home.handOut(o.ID)
				home.made(o.ID)
			}
		}
	}
	if f.queue.Len() == 0 {
		home.asyncs = slices.DeleteFunc(home.asyncs, func(g *Queue) bool { return g == f })
	}
	for _, g := range slices.Clone(home.asyncs) {
		if g.awaits {
			g.awaits = false
			s.Resume(g)
		}
	}
}

// DoWith runs a task after everything that the session asked for before, with the operands
// of an instruction.
func (s *scheduler) DoWith(q *Queue, in *wire.Instr, t func(q *Queue) queue.Wait) {
	s.enqueue(q, request{in: in, task: t})
}

// SetWeight sets the share of a session of the processors, of the device and of
// the goroutine of the Executor, beside those of other sessions. The usual share is 1.
func (s *scheduler) SetWeight(q *Queue, weight float64) {
	q.Session.Weight = weight
	if q.worker != nil {
		q.worker.SetWeight(weight)
	}
	if q.feed != nil {
		q.feed.SetWeight(weight)
	}
}
