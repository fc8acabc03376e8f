package exec

import (
	"slices"
	"time"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/dispatch"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/hostjob"
	"nxvk/gen/exec/loop"
	"nxvk/gen/exec/memory"
	"nxvk/gen/exec/mesh"
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/exec/spans"
	"nxvk/gen/exec/trace"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// Queue is the order in which one session is served: what it asked for waits
// here while an earlier request cannot go on.
type Queue struct {
	Session *store.Session
	Orphan  func(error) // told of errors that no result can carry

	queue     queue.Deque[request]
	waits     queue.Wait      // why the task at the front cannot go on; 0 where it can
	since     time.Time       // when the import at the front began to wait for an instruction to come
	source    *Queue          // whose value that imports; nil where the front imports nothing
	claim     memory.Claim    // of the task at the front
	needed    map[ops.ID]bool // while that waits for memory: the values that requests work on
	failed    error           // why the operand that was waited for did not come
	recording dispatch.Slot   // of the task at the front
	job       hostjob.Slot    // what the host computes of it

	worker *sched.Account // whose processor time it takes; nil before it takes any
	share  queue.Share    // of turns

	trace   *trace.Trace  // what is pending; see recorder.go
	running *trace.Trace  // what was, until it has been carried out
	loop    loop.Detector // where traces end
	spare   *trace.Trace  // one that has been carried out; its room
	usual   int           // the length of the latest one
	length  int           // of the trace when the clock looked last
	quiet   int           // how often it has not grown since

	feed *feed.Feed // of the queue of a session: what it has the device do

	programs program.Library
	defining *definition // at the front
	run      *run        // the program under way, whose slots stand for the session's values
	traceRun run         // where that is of a trace

	observed spans.Open // runs and reads with a trace context

	above map[any]Ender // what packages above keep, by package

	// See async.go.
	asyncs  []*Queue
	pending map[ops.ID]*Queue // values that async runs will make, and nobody has freed yet
	makers  map[ops.ID]*Queue // values that async runs will make
	wanted  map[ops.ID]int    // how many requests in async runs work on a value that was pending
	from    *Queue            // of an async run: the queue of the session
	awaits  bool              // of an async run: it waits for another one

	exports  map[*export]bool     // values of the session that other devices wait for
	awaited  map[ops.ID][]*export // those of them that async runs will make
	incoming *arrival             // the import from another device, or the collective, at the front
	place    *mesh.Place          // of the session in a mesh; nil where it is in none
}

// sessionOf is the session of a queue, for members that know no queue.
func sessionOf(q *Queue) *store.Session { return q.Session }

// deadline is that of the instruction at the front; 0 for none. A run has one for all its instructions, see bound.
func (q *Queue) deadline() time.Duration {
	if q.run != nil {
		return 0
	}
	return q.Session.Deadline
}

// task is what a queue runs. It reports true where it has to wait, and is then
// run again.
type task func(q *Queue) (wait queue.Wait)

// request is a task in its turn, and which values it will need: the operands
// of an instruction, or the value that is read.
type request struct {
	task               // nil executes in
	in     *wire.Instr // nil where it is a read or asks about the session
	eager  bool        // in is of the stream
	read   ops.ID      // 0 where no value is read
	export *export     // nil unless another device waits for read

	// Of a request that left the order of its session.
	prog  *program.Program       // what it runs
	held  map[ops.ID]store.Value // what it needs and was there
	round *mesh.Round            // of a collective
	wants []ops.ID               // what it needs and was pending
}

// run serves a request.
func (r *request) run(e *Executor, q *Queue) (wait queue.Wait) {
	if r.task == nil {
		return e.execute(q, r.in)
	}
	return r.task(q)
}

// Queue returns the queue of a session.
func (e *Executor) Queue(s *store.Session) *Queue {
	q, ok := e.queues[s]
	if !ok {
		q = &Queue{Session: s}
		e.queues[s] = q
	}
	return q
}

// End forgets a session: its queue is dropped and its values are let go, in slices where there are
// many.
func (e *Executor) End(s *store.Session) { endSession(e, s, e.cfg.Post) }

// EndNow is End without slices, for when nothing that is posted will run.
func (e *Executor) EndNow(s *store.Session) { endSession(e, s, func(f func()) { f() }) }

func endSession(e *Executor, s *store.Session, post func(func())) {
	q := e.queues[s]
	if q != nil {
		q.end()
		if q.worker != nil {
			q.worker.End()
		}
		delete(e.queues, s)
		e.recorder.gathering = slices.DeleteFunc(e.recorder.gathering, func(g *Queue) bool { return g == q })
	}
	mems := s.End()
	queue.InSlices(post, len(mems), func(i int) bool {
		mems[i].Drop()
		return true
	}, func(bool) {
		if q != nil && q.feed != nil {
			q.feed.End()
		}
		e.memory.Retry()
	})
}

// Stream carries out instructions after everything that the session asked for
// before.
func (e *Executor) Stream(q *Queue, instrs []wire.Instr) {
	defer e.turns.Begin()()
	for i := range instrs {
		in := &instrs[i]
		if in.Op == ops.Cancel && in.Err == nil {
			e.interpreter.cancel(q, in.Attrs[0]) // what is to be ended holds up the rest
			continue
		}
		if q.queue.Len() == 0 && q.waits == 0 {
			switch e.recorder.scheduleInstr(q, in) {
			case later:
				if e.turns.Over() {
					e.yield(q)
				}
				continue
			case unknown:
				e.park(q, queue.ForPlan)
				q.push(newRequest(in))
				continue
			case after:
				q.push(newRequest(in))
				e.advance(q)
				continue
			}
			var wait queue.Wait
			if !e.follow(q, newRequest(in)) {
				wait = e.execute(q, in)
			}
			if wait == 0 {
				if e.turns.Over() {
					e.yield(q)
				}
				continue
			}
			e.park(q, wait)
		}
		if q.waits != 0 && q.claim.Swept() && in.Op == ops.Free && in.Err == nil {
			q.freeEarly(in.Attrs[0])
		}
		q.push(newRequest(in))
	}
	e.settle()
}

// newRequest is the request to carry out an instruction.
func newRequest(in *wire.Instr) request { return request{in: in, eager: true} }

// push adds a request to a queue.
func (q *Queue) push(r request) {
	q.queue.Push(r)
	if q.needed != nil {
		q.need(&r)
	}
}

// need notes which values a request works on.
func (q *Queue) need(r *request) {
	q.needed[r.read] = true
	if r.in == nil {
		return
	}
	for i := range r.in.Ins {
		q.needed[r.in.Ins[i].ID] = true
	}
}

// freeEarly lets go of values while the queue waits for memory, out of turn:
// the session frees them so that the queue can go on. What a request of the
// queue needs is kept until its turn.
func (q *Queue) freeEarly(ids []int) {
	if q.needed == nil {
		q.needed = make(map[ops.ID]bool)
		for i := range q.queue.All() {
			q.need(q.queue.At(i))
		}
	}
	for _, id := range ids {
		if !q.needed[ops.ID(id)] {
			q.Session.Delete(ops.ID(id))
			q.forget(ops.ID(id))
		}
	}
}

// Do runs a task after everything that the session asked for before.
func (e *Executor) Do(q *Queue, t task) { e.enqueue(q, request{task: t}) }

func (e *Executor) enqueue(q *Queue, r request) {
	q.push(r)
	e.advance(q)
}

// advance serves a queue until it is empty or has to wait.
func (e *Executor) advance(q *Queue) {
	defer e.turns.Begin()()
	for q.waits == 0 && q.queue.Len() > 0 {
		if e.turns.Over() {
			e.yield(q)
			return
		}
		r := *q.queue.At(0)
		if q.from != nil && r.in != nil && q.waitsElsewhere(r.in) {
			q.awaits = true
			e.park(q, queue.ForRun)
			return
		}
		switch e.recorder.schedule(q, &r) {
		case later:
			q.queue.Pop()
			continue
		case unknown:
			e.park(q, queue.ForPlan)
			return
		case after:
			q.queue.PushFront(e.recorder.cutTrace(q))
			continue
		}
		if !e.follow(q, r) {
			if wait := r.run(e, q); wait != 0 {
				e.park(q, wait)
				return
			}
		}
		q.fresh()
		q.since, q.source = time.Time{}, nil
		q.queue.Pop() // the task may have ended the session
		if q.from != nil {
			e.settleAsync(q, &r)
		}
	}
}

// park has a queue wait for something.
func (e *Executor) park(q *Queue, why queue.Wait) {
	if q.waits == 0 {
		e.Counters.Waits[why]++
		if q.run != nil {
			q.run.waited(why)
		}
		if why == queue.ForPlan || why == queue.ForKernel {
			q.observed.Block()
		}
	}
	q.waits = why
}

// fresh forgets what a queue has done about the task at its front.
func (q *Queue) fresh() {
	q.claim, q.failed, q.needed = memory.Claim{}, nil, nil
	q.recording.Drop()
}

// Resume serves a queue that has waited.
func (e *Executor) Resume(q *Queue) {
	q.waits = 0
	q.observed.Resume()
	e.advance(q)
	e.settle()
}

// resumeWith is Resume with the reason why an operand of the request at the front did not come, or nil.
func (e *Executor) resumeWith(q *Queue, err error) {
	if err != nil {
		q.failed = err
	}
	e.Resume(q)
}

// value finds a value that an instruction works on: of the program under way,
// or of the session.
func (q *Queue) value(id ops.ID) (store.Value, error) {
	if q.run != nil {
		return q.run.slots[id], nil
	}
	if q.queue.Len() > 0 {
		if v, ok := q.queue.At(0).held[id]; ok {
			return v, nil
		}
	}
	v, ok := q.Session.Get(id)
	if !ok {
		return v, q.Session.Missing(id)
	}
	return v, nil
}

// put gives a value that an instruction made its id.
func (q *Queue) put(id ops.ID, v store.Value) {
	if q.run != nil {
		q.run.set(id, v)
		return
	}
	q.Session.Put(id, v)
}

// literal is the scalar that an id stands for in a program, or nil.
func (q *Queue) literal(id ops.ID) *ops.Literal {
	if q.run == nil {
		return nil
	}
	return q.run.lits[id]
}

// settle does what follows a round of work: imports that waited for it, and a
// flush once the stream is silent.
func (e *Executor) settle() {
	if waiting := e.imports; len(waiting) > 0 {
		e.imports = nil
		for _, q := range waiting {
			q.waits = 0
			e.advance(q)
		}
	}
	e.retryExports()
	e.recorder.awaitSilence()
}

// Abandon answers everything that waits with the loss of the device and
// forgets the queues.
func (e *Executor) Abandon() {
	e.EndExports(e.Lost())
	queues := e.queues
	e.queues = make(map[*store.Session]*Queue)
	e.imports = nil
	e.memory.Abandon()
	for _, q := range queues {
		if q.feed != nil {
			q.feed.Release()
		}
		for _, f := range append(slices.Clone(q.asyncs), q) {
			f.waits = 0
			e.advance(f)
		}
	}
	e.queues = queues
}

// yield has a queue wait for its next turn.
func (e *Executor) yield(q *Queue) {
	home := q.home()
	e.park(q, queue.ForTurn)
	e.turns.Wait(q, &home.share, home.Session.Weight)
}

// Feed returns the feed of the session of a queue.
func (e *Executor) Feed(q *Queue) *feed.Feed {
	h := q.home()
	if h.feed == nil && e.dev != nil {
		h.feed = e.feeds.Feed(h.Session, func(err error) { e.interpreter.stopLate(h, err) })
	}
	return h.feed
}
