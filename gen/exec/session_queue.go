package exec

import (
	"slices"
	"time"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/loop"
	"nxvk/gen/exec/memory"
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
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
	since     time.Time       // when the import at the front began to wait
	claim     memory.Claim    // of the task at the front
	needed    map[ops.ID]bool // while that waits for memory: the values that requests work on
	failed    error           // why the operand that was waited for did not come
	recording *recording      // of the task at the front
	verdict   *verdict        // on what the task at the front has had computed
	job       *job            // what the host computes of it, see job.go

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

	above map[any]Ender // what packages above keep, by package

	// See async.go.
	asyncs  []*Queue
	pending map[ops.ID]*Queue // values that async runs will make, and nobody has freed yet
	makers  map[ops.ID]*Queue // values that async runs will make
	wanted  map[ops.ID]int    // how many requests in async runs work on a value that was pending
	from    *Queue            // of an async run: the queue of the session
	awaits  bool              // of an async run: it waits for another one
}

// task is what a queue runs. It reports true where it has to wait, and is then
// run again.
type task func(l *Queue) (wait queue.Wait)

// request is a task in its turn, and which values it will need: the operands
// of an instruction, or the value that is read.
type request struct {
	task              // nil executes in
	in    *wire.Instr // nil where it is a read or asks about the session
	eager bool        // in is of the stream
	read  ops.ID      // 0 where no value is read

	// Of a request that left the order of its session.
	prog  *program.Program       // what it runs
	held  map[ops.ID]store.Value // what it needs and was there
	wants []ops.ID               // what it needs and was pending
}

// run serves a request.
func (r *request) run(e *Executor, l *Queue) (wait queue.Wait) {
	if r.task == nil {
		return e.execute(l, r.in)
	}
	return r.task(l)
}

// Queue returns the queue of a session.
func (e *Executor) Queue(s *store.Session) *Queue {
	l, ok := e.queues[s]
	if !ok {
		l = &Queue{Session: s}
		e.queues[s] = l
	}
	return l
}

// End forgets a session: its queue is dropped and its values are let go.
func (e *Executor) End(s *store.Session) {
	l := e.queues[s]
	if l != nil {
		l.end()
		if l.worker != nil {
			l.worker.End()
		}
		delete(e.queues, s)
		e.recorder.gathering = slices.DeleteFunc(e.recorder.gathering, func(g *Queue) bool { return g == l })
	}
	s.End()
	if l != nil && l.feed != nil {
		l.feed.End()
	}
	e.memory.Retry()
}

// Stream carries out instructions after everything that the session asked for
// before.
func (e *Executor) Stream(l *Queue, instrs []wire.Instr) {
	defer e.turns.Begin()()
	for i := range instrs {
		in := &instrs[i]
		if in.Op == ops.Cancel && in.Err == nil {
			e.interpreter.cancel(l, in.Attrs[0]) // what is to be ended holds up the rest
			continue
		}
		if l.queue.Len() == 0 && l.waits == 0 {
			switch e.recorder.scheduleInstr(l, in) {
			case later:
				if e.turns.Over() {
					e.yield(l)
				}
				continue
			case unknown:
				e.park(l, queue.ForPlan)
				l.push(newRequest(in))
				continue
			case after:
				l.push(newRequest(in))
				e.advance(l)
				continue
			}
			var wait queue.Wait
			if !e.follow(l, newRequest(in)) {
				wait = e.execute(l, in)
			}
			if wait == 0 {
				if e.turns.Over() {
					e.yield(l)
				}
				continue
			}
			e.park(l, wait)
		}
		if l.waits != 0 && l.claim.Swept() && in.Op == ops.Free && in.Err == nil {
			l.freeEarly(in.Attrs[0])
		}
		l.push(newRequest(in))
	}
	e.settle()
}

// newRequest is the request to carry out an instruction.
func newRequest(in *wire.Instr) request { return request{in: in, eager: true} }

// push adds a request to a queue.
func (l *Queue) push(r request) {
	l.queue.Push(r)
	if l.needed != nil {
		l.need(&r)
	}
}

// need notes which values a request works on.
func (l *Queue) need(r *request) {
	l.needed[r.read] = true
	if r.in == nil {
		return
	}
	for i := range r.in.Ins {
		l.needed[r.in.Ins[i].ID] = true
	}
}

// freeEarly lets go of values while the queue waits for memory, out of turn:
// the session frees them so that the queue can go on. What a request of the
// queue needs is kept until its turn.
func (l *Queue) freeEarly(ids []int) {
	if l.needed == nil {
		l.needed = make(map[ops.ID]bool)
		for i := range l.queue.All() {
			l.need(l.queue.At(i))
		}
	}
	for _, id := range ids {
		if !l.needed[ops.ID(id)] {
			l.Session.Delete(ops.ID(id))
			l.forget(ops.ID(id))
		}
	}
}

// Do runs a task after everything that the session asked for before.
func (e *Executor) Do(l *Queue, t task) { e.enqueue(l, request{task: t}) }

func (e *Executor) enqueue(l *Queue, r request) {
	l.push(r)
	e.advance(l)
}

// advance serves a queue until it is empty or has to wait.
func (e *Executor) advance(l *Queue) {
	defer e.turns.Begin()()
	for l.waits == 0 && l.queue.Len() > 0 {
		if e.turns.Over() {
			e.yield(l)
			return
		}
		r := *l.queue.At(0)
		if l.from != nil && r.in != nil && l.waitsElsewhere(r.in) {
			l.awaits = true
			e.park(l, queue.ForRun)
			return
		}
		switch e.recorder.schedule(l, &r) {
		case later:
			l.queue.Pop()
			continue
		case unknown:
			e.park(l, queue.ForPlan)
			return
		case after:
			l.queue.PushFront(e.recorder.cutTrace(l))
			continue
		}
		if !e.follow(l, r) {
			if wait := r.run(e, l); wait != 0 {
				e.park(l, wait)
				return
			}
		}
		l.fresh()
		l.since = time.Time{}
		l.queue.Pop() // the task may have ended the session
		if l.from != nil {
			e.settleAsync(l, &r)
		}
	}
}

// park has a queue wait for something.
func (e *Executor) park(l *Queue, why queue.Wait) {
	if l.waits == 0 {
		e.Counters.Waits[why]++
		if l.run != nil {
			l.run.waited(why)
		}
	}
	l.waits = why
}

// fresh forgets what a queue has done about the task at its front.
func (l *Queue) fresh() {
	l.claim, l.failed, l.needed = memory.Claim{}, nil, nil
	l.dropRecording()
	l.dropVerdict()
}

// Resume serves a queue that has waited.
func (e *Executor) Resume(l *Queue) {
	l.waits = 0
	e.advance(l)
	e.settle()
}

// value finds a value that an instruction works on: of the program under way,
// or of the session.
func (l *Queue) value(id ops.ID) (store.Value, error) {
	if l.run != nil {
		return l.run.slots[id], nil
	}
	if l.queue.Len() > 0 {
		if v, ok := l.queue.At(0).held[id]; ok {
			return v, nil
		}
	}
	v, ok := l.Session.Get(id)
	if !ok {
		return v, l.Session.Missing(id)
	}
	return v, nil
}

// put gives a value that an instruction made its id.
func (l *Queue) put(id ops.ID, v store.Value) {
	if l.run != nil {
		l.run.set(id, v)
		return
	}
	l.Session.Put(id, v)
}

// literal is the scalar that an id stands for in a program, or nil.
func (l *Queue) literal(id ops.ID) *ops.Literal {
	if l.run == nil {
		return nil
	}
	return l.run.lits[id]
}

// settle does what follows a round of work: imports that waited for it, and a
// flush once the stream is silent.
func (e *Executor) settle() {
	if waiting := e.imports; len(waiting) > 0 {
		e.imports = nil
		for _, l := range waiting {
			l.waits = 0
			e.advance(l)
		}
	}
	e.recorder.awaitSilence()
}

// Abandon answers everything that waits with the loss of the device and
// forgets the queues.
func (e *Executor) Abandon() {
	queues := e.queues
	e.queues = make(map[*store.Session]*Queue)
	e.imports = nil
	e.memory.Abandon()
	for _, l := range queues {
		if l.feed != nil {
			l.feed.Release()
		}
		for _, f := range append(slices.Clone(l.asyncs), l) {
			f.waits = 0
			e.advance(f)
		}
	}
	e.queues = queues
}

// yield has a queue wait for its next turn.
func (e *Executor) yield(l *Queue) {
	home := l.home()
	e.park(l, queue.ForTurn)
	e.turns.Wait(l, &home.share, home.Session.Weight)
}

// SetWeight sets the share of a session beside the shares of others, of which 1 is the
// usual one: of the processors, of the device and of the goroutine of the Executor.
func (e *Executor) SetWeight(l *Queue, weight float64) {
	l.Session.Weight = weight
	if l.worker != nil {
		l.worker.SetWeight(weight)
	}
	if l.feed != nil {
		l.feed.SetWeight(weight)
	}
}

// Wait is why the first request of a session cannot go on, 0 where it can.
func (l *Queue) Wait() queue.Wait { return l.waits }

// Waiting counts the requests of a session that have not been carried out:
// pending instructions, those behind a request that cannot go on, and those of
// runs that have left the session's order.
func (l *Queue) Waiting() int {
	n := l.queue.Len() + l.trace.Len()
	for _, f := range l.asyncs {
		n += f.Waiting()
	}
	return n
}

// Feed returns the feed of the session of a queue.
func (e *Executor) Feed(l *Queue) *feed.Feed {
	h := l.home()
	if h.feed == nil && e.dev != nil {
		h.feed = e.feeds.Feed(h.Session, func(err error) { e.interpreter.stopLate(h, err) })
	}
	return h.feed
}
