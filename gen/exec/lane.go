package exec

import (
	"slices"
	"time"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// Lane is the order in which one session is served: what it asked for waits
// here while an earlier request cannot go on.
type Lane struct {
	Session *store.Session
	Orphan  func(error) // told of errors that no result can carry

	queue   []request
	waits   queue.Wait  // why the task at the front cannot go on; 0 where it can
	since   time.Time   // when the import at the front began to wait
	swept   bool        // memory has been asked for once for the task at the front
	trimmed bool        // and the caches have been dropped
	pressed bool        // and what is pending in other lanes has been carried out
	failed  error       // why the operand that was waited for did not come
	verdict *verdict    // on what the task at the front has had computed
	job     *job        // what the host computes of it, see job.go
	settled *wire.Instr // an instruction whose indices have been looked at

	worker *sched.Account // whose processor time it takes; nil before it takes any
	served time.Duration  // how long, on the clock of turns

	segment *segment // what is pending; see lazy.go
	running *segment // what was, until it has been carried out
	rhythm  rhythm   // where segments end
	spare   *segment // one that has been carried out; its room
	usual   int      // the length of the latest one
	length  int      // of the segment when the clock looked last
	quiet   int      // how often it has not grown since

	feed *Feed // of the lane of a session: what it has the device do

	programs programs
	defining *Program // being made of the definition at the front
	run      *run     // the program under way, whose slots stand for the session's values

	above map[any]Ender // what packages above keep, by package

	// See fork.go.
	forks   []*Lane
	pending map[ops.ID]*Lane // values that forks will make, and nobody has freed yet
	makers  map[ops.ID]*Lane // values that forks will make
	wanted  map[ops.ID]int   // how many requests in forks work on a value that was pending
	from    *Lane            // of a fork: the lane of the session
	awaits  bool             // of a fork: it waits for another one
}

// task is what a lane runs. It reports true where it has to wait, and is then
// run again.
type task func(l *Lane) (wait queue.Wait)

// request is a task in its turn, and which values it will need: the operands
// of an instruction, or the value that is read.
type request struct {
	task
	in    *wire.Instr // nil where it is a read or asks about the session
	eager bool        // in is of the stream
	read  ops.ID      // 0 where no value is read

	// Of a request that left the order of its session.
	prog  *Program               // what it runs
	held  map[ops.ID]store.Value // what it needs and was there
	wants []ops.ID               // what it needs and was pending
}

// Lane returns the lane of a session.
func (e *Executor) Lane(s *store.Session) *Lane {
	l, ok := e.lanes[s]
	if !ok {
		l = &Lane{Session: s}
		e.lanes[s] = l
	}
	return l
}

// End forgets a session: its queue is dropped and its values are let go.
func (e *Executor) End(s *store.Session) {
	l := e.lanes[s]
	if l != nil {
		l.end()
		if l.worker != nil {
			l.worker.End()
		}
		delete(e.lanes, s)
		e.gathering = slices.DeleteFunc(e.gathering, func(g *Lane) bool { return g == l })
	}
	s.End()
	if l != nil && l.feed != nil {
		e.open = slices.DeleteFunc(e.open, func(f *Feed) bool { return f == l.feed })
		l.feed.end()
	}
	e.retryMemory()
}

// Stream carries out instructions after everything that the session asked for
// before.
func (e *Executor) Stream(l *Lane, instrs []wire.Instr) {
	defer e.turns.begin()()
	for i := range instrs {
		in := &instrs[i]
		if in.Op == ops.Cancel && in.Err == nil {
			e.cancel(l, in.Attrs[0]) // what is to be ended holds up the rest
			continue
		}
		if len(l.queue) == 0 && l.waits == 0 {
			switch e.turnOfInstr(l, in) {
			case later:
				if e.turns.over(0) {
					e.rest(l)
				}
				continue
			case unknown:
				e.park(l, queue.ForPlan)
				l.queue = append(l.queue, e.instruct(in))
				continue
			case after:
				l.queue = append(l.queue, e.instruct(in))
				e.advance(l)
				continue
			}
			var wait queue.Wait
			if !e.detour(l, e.instruct(in)) {
				wait = e.instr(l, in)
			}
			if wait == 0 {
				if e.turns.over(0) {
					e.rest(l)
				}
				continue
			}
			e.park(l, wait)
		}
		if l.waits != 0 && l.swept && in.Op == ops.Free && in.Err == nil {
			l.freeEarly(in.Attrs[0])
		}
		l.queue = append(l.queue, e.instruct(in))
	}
	e.settle()
}

// instruct is the request to carry out an instruction.
func (e *Executor) instruct(in *wire.Instr) request {
	return request{task: func(l *Lane) queue.Wait { return e.instr(l, in) }, in: in, eager: true}
}

// freeEarly lets go of values while the lane waits for memory, out of turn:
// the session frees them so that the lane can go on. What a request of the
// queue needs is kept until its turn.
func (l *Lane) freeEarly(ids []int) {
	needed := make(map[ops.ID]bool)
	for _, r := range l.queue {
		needed[r.read] = true
		if r.in == nil {
			continue
		}
		for i := range r.in.Ins {
			needed[r.in.Ins[i].ID] = true
		}
	}
	for _, id := range ids {
		if !needed[ops.ID(id)] {
			l.Session.Delete(ops.ID(id))
			l.forget(ops.ID(id))
		}
	}
}

// Do runs a task after everything that the session asked for before.
func (e *Executor) Do(l *Lane, t task) { e.enqueue(l, request{task: t}) }

func (e *Executor) enqueue(l *Lane, r request) {
	l.queue = append(l.queue, r)
	e.advance(l)
}

// advance serves a lane until it is empty or has to wait.
func (e *Executor) advance(l *Lane) {
	defer e.turns.begin()()
	for l.waits == 0 && len(l.queue) > 0 {
		if e.turns.over(0) {
			e.rest(l)
			return
		}
		r := l.queue[0]
		if l.from != nil && r.in != nil && l.elsewhere(r.in) {
			l.awaits = true
			e.park(l, queue.ForRun)
			return
		}
		switch e.turnOf(l, &r) {
		case later:
			l.queue = l.queue[1:]
			continue
		case unknown:
			e.park(l, queue.ForPlan)
			return
		case after:
			l.queue = slices.Insert(l.queue, 0, e.cut(l))
			continue
		}
		if !e.detour(l, r) {
			if wait := r.task(l); wait != 0 {
				e.park(l, wait)
				return
			}
		}
		l.fresh()
		l.since = time.Time{}
		if len(l.queue) > 0 { // the task may have ended the session
			l.queue = l.queue[1:]
		}
		if l.from != nil {
			e.forked(l, &r)
		}
	}
	if len(l.queue) == 0 {
		l.queue = nil
	}
}

// park has a lane wait for something.
func (e *Executor) park(l *Lane, why queue.Wait) {
	if l.waits == 0 {
		e.Counters.Waits[why]++
		if l.run != nil {
			l.run.waited(why)
		}
	}
	l.waits = why
}

// fresh forgets what a lane has done about the task at its front.
func (l *Lane) fresh() {
	l.swept, l.trimmed, l.pressed, l.failed, l.settled = false, false, false, nil, nil
	l.dropVerdict()
}

// resume serves a lane that has waited.
func (e *Executor) Resume(l *Lane) {
	l.waits = 0
	e.advance(l)
	e.settle()
}

// value finds a value that an instruction works on: of the program under way,
// or of the session.
func (l *Lane) value(id ops.ID) (store.Value, error) {
	if l.run != nil {
		return l.run.slots[id], nil
	}
	if len(l.queue) > 0 {
		if v, ok := l.queue[0].held[id]; ok {
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
func (l *Lane) put(id ops.ID, v store.Value) {
	if l.run != nil {
		l.run.set(id, v)
		return
	}
	l.Session.Put(id, v)
}

// literal is the scalar that an id stands for in a program, or nil.
func (l *Lane) literal(id ops.ID) *ops.Literal {
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
	e.awaitSilence()
}

// Abandon answers everything that waits with the loss of the device and
// forgets the lanes.
func (e *Executor) Abandon() {
	lanes := e.lanes
	e.lanes = make(map[*store.Session]*Lane)
	e.imports, e.memory = nil, nil
	for _, l := range lanes {
		if l.feed != nil {
			l.feed.throttled = nil
		}
		for _, f := range append(slices.Clone(l.forks), l) {
			f.waits = 0
			e.advance(f)
		}
	}
	e.lanes = lanes
}
