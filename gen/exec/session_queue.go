package exec

import (
	"fmt"
	"time"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/dispatch"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/hostjob"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/loop"
	"nxvk/gen/exec/memory"
	"nxvk/gen/exec/mesh"
	"nxvk/gen/exec/placement"
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
	flow   queue.Flow     // of the stream
	apart  int            // requests in async runs
	held   ops.ID         // what the flow is not told yet, since there are many

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
	from    *Queue            // of an async run: the queue of the session
	awaits  bool              // of an async run: it waits for another one

	exports  map[*export]bool     // values of the session that other devices wait for
	awaited  map[ops.ID][]*export // those of them that async runs will make
	incoming *arrival             // the import from another device, or the collective, at the front
	place    *mesh.Place          // of the session in a mesh; nil where it is in none
	port     *port                // of the session, for collectives of few bytes; nil where the device has none
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

// task is what a queue runs. It returns why it has to wait, and is then run again.
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
	wants []ops.ID               // what it needs and was pending: it is held once it is there
}

// push adds a request to a queue.
func (q *Queue) push(r request) {
	q.queue.Push(r)
	if q.from != nil {
		q.from.apart++
	}
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

// fresh forgets what a queue has done about the task at its front.
func (q *Queue) fresh() {
	q.claim, q.failed, q.needed = memory.Claim{}, nil, nil
	q.recording.Drop()
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

// gather finds the operands of an instruction. A literal tensor becomes memory
// on the host; a literal scalar stays in the instruction. An operand that
// carries an error is that error, and one that is not held says which it is.
func (q *Queue) gather(in *wire.Instr) (w *placement.Work, first error) {
	w = placement.New(in)
	for i := range in.Ins {
		o := &in.Ins[i]
		if o.Lit != nil {
			w.Types[i] = o.Lit.Type
			continue
		}
		if lit := q.literal(o.ID); lit != nil {
			w.Replace(i, lit)
			continue
		}
		v, err := q.value(o.ID)
		if err != nil {
			err = &wire.Fault{Kind: wire.KindOf(err), Err: fmt.Errorf("operand %d: %w", i, err)}
		} else {
			err = v.Failure()
		}
		if err != nil && first == nil {
			first = err
		}
		w.Types[i], w.Args[i] = v.Type, v.Mem
	}
	return w, first
}

// note is what the client has said of where an instruction was sent, or the run that
// it is a part of.
func (q *Queue) note(in *wire.Instr) string {
	if in.Note == "" && q.run != nil && q.run.in != nil {
		return q.run.in.Note
	}
	return in.Note
}

// newRequest is the request to carry out an instruction.
func newRequest(in *wire.Instr) request { return request{in: in, eager: true} }

// TellFlow has a function told how far the client of a session may send ahead: up to the instructions that make the
// value of an id, which is a window of so many ids.
func (q *Queue) TellFlow(tell func(id, window int64)) { q.flow.Tell = tell }

// mostApart is how many requests may wait in async runs before the client is to wait, too.
const mostApart = 4096

// carried notes that an instruction of the stream has been carried out, is pending, or has left the session's order.
func (q *Queue) carried(in *wire.Instr) {
	n := len(in.Outs)
	if q.from != nil || n == 0 {
		return
	}
	id := in.Outs[n-1].ID
	if q.apart > mostApart {
		q.held = max(q.held, id)
		return
	}
	q.flow.Carry(int64(id), q.queue.Len() > 0 || q.feed != nil && q.feed.InFlight() > 1)
}

// settled notes that a request in an async run has been served.
func (q *Queue) settled() {
	q.apart--
	if id := q.held; id > 0 && q.apart <= mostApart {
		q.held = 0
		q.flow.Carry(int64(id), true)
	}
}

// pop removes the request at the front.
func (q *Queue) pop() {
	if q.queue.Len() == 0 {
		return
	}
	in, eager := q.queue.At(0).in, q.queue.At(0).eager
	q.queue.Pop()
	if q.from != nil {
		q.from.settled()
	}
	if eager {
		q.carried(in)
	}
}

// Ender is what a package above keeps for a session. It ends with the session.
type Ender interface{ End() }

// Above returns what the package of a key keeps for the session of a queue; the first time
// make says what that is.
func (q *Queue) Above(key any, make func() Ender) Ender {
	home := q.home()
	x := home.above[key]
	if x == nil {
		x = make()
		if home.above == nil {
			home.above = map[any]Ender{}
		}
		home.above[key] = x
	}
	return x
}

// Peek returns what the package of a key keeps for the session of a queue; nil for nothing.
func (q *Queue) Peek(key any) Ender { return q.home().above[key] }

// Home returns the queue of the session; q itself may be that of an async run of the session.
func (q *Queue) Home() *Queue { return q.home() }

// Wait is why the first request of a session cannot go on, 0 where it can.
func (q *Queue) Wait() queue.Wait { return q.waits }

// Waiting counts the requests of a session that have not been carried out:
// pending instructions, those behind a request that cannot go on, and those of
// runs that have left the session's order.
func (q *Queue) Waiting() int {
	n := q.queue.Len() + q.trace.Len()
	for _, f := range q.asyncs {
		n += f.Waiting()
	}
	return n
}
