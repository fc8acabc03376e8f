package exec

import (
	"slices"
	"time"

	"nxvk/gen/exec/dispatch"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/hostjob"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/memory"
	"nxvk/gen/exec/mesh"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/exec/spans"
	"nxvk/gen/exec/transfer"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// interpreter runs programs and traces, a step at a time, for any queue. Where a step has to wait,
// the run keeps its place.
type interpreter struct {
	*core
	queues      *scheduler
	programs    *library
	specializer *program.Specializer         // compiles programs
	kernels     *kernels.Cache               // compiled code
	dispatcher  *dispatch.Dispatcher[*Queue] // executes a fusion by its plan
	memory      *memory.Manager[*Queue]      // of answers of callbacks
	transfers   *transfer.Transfers[*Queue]  // read predicates and what callbacks get
	jobs        *hostjob.Jobs[*Queue]        // what the host computes of a fusion
	observer    *spans.Observer[*Queue]      // where the time of a run goes

	execute func(q *Queue, in *wire.Instr) queue.Wait // carries out an instruction of a program
	calls   uint64                                    // callbacks so far: their references
}

// run is a program under way. It keeps its place, so that a queue that had to
// wait goes on from there.
type run struct {
	prog           *program.Program
	in             *wire.Instr // whose results the program's values become
	slots          []store.Value
	lits           []*ops.Literal // by slot: scalars that never became memory
	stack          []frame
	specialization *program.Specialization         // whose fusions it may begin with; nil once it has begun
	later          *program.Specialization         // whose fusions it goes on with once there are some; nil where it has them
	fused          map[*program.Step]*program.Step // those of the program that have regions, with fusions
	admission      bool                            // it waits for these
	given          int                             // how many values the session has, once the program has ended
	err            error                           // ended from outside; the results carry it
	late           *time.Timer                     // ends it at the deadline of its session
	effort         feed.Effort                     // as the device sees it
	observed       *spans.Observation              // nil where it came without a trace context

	guesses []*guess               // the rounds under way whose conditions are not known, in order
	asked   *guess                 // the next one, while one of these has to be known first
	hooks   []*hook                // messages that are not sent
	unsent  bool                   // the queue waits for these
	call    *pending               // a callback that has not been answered
	round   *mesh.Round            // of its collectives; nil where it names none
	coming  map[ops.ID]*collective // by slot: those under way
}

// frame is a block under way, and why it runs.
type frame struct {
	*program.Block
	pc    int
	of    *program.Step // whose region it is; nil is the program itself
	part  int           // of a fused step that is carried out one by one: its instructions so far
	which int           // the number of the region
	began time.Time     // when a fused step began that is carried out one by one and measured; zero for others
}

// id names the run to others: the id of its first result.
func (r *run) id() ops.ID {
	if len(r.in.Outs) == 0 {
		return 0
	}
	return r.in.Outs[0].ID
}

func (r *run) top() *frame { return &r.stack[len(r.stack)-1] }

// waited counts a wait of a program, by the instruction under way.
func (r *run) waited(why queue.Wait) {
	if r.prog == nil || len(r.stack) == 0 {
		return
	}
	f := r.top()
	if f.pc >= len(f.Steps) {
		return
	}
	outs := f.Steps[f.pc].In.Outs
	if u := f.Steps[f.pc].Fusion; u != nil && f.part > 0 && f.part < len(u.Body) {
		outs = u.Body[f.part].Outs
	}
	if len(outs) == 0 {
		return
	}
	if r.prog.Waits == nil {
		r.prog.Waits = make(map[ops.ID]queue.Counts)
	}
	counts := r.prog.Waits[outs[0].ID]
	counts[why]++
	r.prog.Waits[outs[0].ID] = counts
}

// set gives a slot a value, whose hold passes to the run.
func (r *run) set(id ops.ID, v store.Value) {
	r.clear(id)
	r.slots[id] = v
}

func (r *run) clear(id ops.ID) {
	if m := r.slots[id].Mem; m != nil {
		m.Drop()
	}
	r.slots[id], r.lits[id] = store.Value{}, nil
}

func (r *run) drop() {
	for _, g := range r.guesses {
		g.waits = false
		g.release()
	}
	r.guesses, r.asked = nil, nil
	r.hooks, r.unsent = nil, false
	for id := range r.slots {
		r.clear(ops.ID(id))
	}
}

// runProgram carries out an instruction that runs a program, from where it
// stands.
func (ip *interpreter) runProgram(q *Queue, in *wire.Instr) (wait queue.Wait) {
	if q.run == nil {
		if in.Err != nil {
			q.runRound(in).End(in.Err)
			ip.poison(q, in, nil, in.Err)
			return 0
		}
		r, types, err := ip.begin(q, in)
		if err != nil {
			ip.observer.ObserveRun(q, in).ConcludeRun(err)
			ip.poison(q, in, types, err)
			return 0
		}
		q.run = r
		r.observed = ip.observer.ObserveRun(q, in)
		ip.bound(q, r)
	}
	r := q.run
	if ip.awaitWarmStart(q, r) {
		return queue.ForPlan
	}
	for r.err == nil && len(r.stack) > 0 {
		if wait := ip.advanceRun(q, r); wait != 0 {
			return wait
		}
	}
	if wait := ip.awaitHooks(q, r); wait != 0 {
		return wait
	}
	return ip.finish(q, r)
}

// begin begins a run, and its round where it has one.
func (ip *interpreter) begin(q *Queue, in *wire.Instr) (*run, []ops.Type, error) {
	round := q.runRound(in)
	r, types, err := ip.bind(q, in)
	if err != nil {
		round.End(err)
		return nil, types, err
	}
	r.round = round
	return r, types, nil
}

// runRound begins the round that a run names; nil where it names none, or the session is in no mesh.
func (q *Queue) runRound(in *wire.Instr) *mesh.Round {
	if in.Round == 0 {
		return nil
	}
	return q.beginRound(in.Round)
}

// bind binds the operands of a run to the parameters of its program.
func (ip *interpreter) bind(q *Queue, in *wire.Instr) (*run, []ops.Type, error) {
	p, err := ip.programs.Program(q, in.Key)
	if err != nil {
		return nil, nil, err
	}
	w, err := q.gather(in)
	if err != nil {
		return nil, w.Types, err
	}
	defer w.Release()
	if err := p.Accepts(w.Types, in.Outs); err != nil {
		return nil, w.Types, &wire.Fault{Kind: wire.BadArgument, Err: err}
	}
	w.SettleLiterals()
	r := &run{prog: p, in: in, slots: make([]store.Value, p.Slots+1), lits: make([]*ops.Literal, p.Slots+1)}
	for i, param := range p.Body.Params {
		if m := w.Args[i]; m != nil {
			m.Retain()
			r.slots[param.ID] = store.Value{Type: param.Type, Mem: m}
			continue
		}
		r.lits[param.ID] = placement.Detach(w.In.Ins[i].Lit)
	}
	r.stack = []frame{{Block: p.Body}}
	if ip.fuses() {
		r.specialization = ip.specializer.Specialize(p, r.lits)
	}
	return r, w.Types, nil
}

// finish gives the values of a program to the session, and ends the run. Others have their turn
// between values.
func (ip *interpreter) finish(q *Queue, r *run) (wait queue.Wait) {
	values := r.prog.Body.Values
	for ; r.err == nil && r.given < len(values); r.given++ {
		if ip.queues.turns.Over() {
			ip.queues.yield(q)
			return queue.ForTurn
		}
		q.Session.Put(r.in.Outs[r.given].ID, ip.valueOf(q, r, values[r.given]))
	}
	r.giveUp(r.err) // nothing, unless the run has failed
	q.job.Drop()    // as well: what the host was computing when the run was ended
	q.run = nil
	if r.late != nil {
		r.late.Stop()
	}
	r.round.End(r.err)
	if r.err != nil {
		ip.poison(q, r.in, nil, r.err)
	}
	r.observed.ConcludeRun(r.err)
	r.drop()
	return 0
}

// valueOf gives the value of an operand, with a hold on its memory.
func (ip *interpreter) valueOf(q *Queue, r *run, o ops.Operand) store.Value {
	lit := o.Lit
	if lit == nil {
		lit = r.lits[o.ID]
	}
	if lit == nil {
		v := r.slots[o.ID]
		if v.Mem != nil {
			v.Mem.Retain()
		}
		return v
	}
	m := &store.Storage{Host: lit.Data}
	m.Retain()
	q.Session.Charge(m, int64(lit.Type.Bytes()))
	return store.Value{Type: lit.Type, Mem: m}
}

// advanceRun takes one step of a run, or ends a block.
func (ip *interpreter) advanceRun(q *Queue, r *run) (wait queue.Wait) {
	f := r.top()
	if r.needsComing(f) {
		return queue.ForMesh
	}
	if f.pc == len(f.Steps) {
		return ip.leave(q, r, f)
	}
	if ip.queues.turns.Over() {
		ip.queues.yield(q)
		return queue.ForTurn
	}
	s := &f.Steps[f.pc]
	if program.IsControl(s.In.Op) && s.In.Op != ops.OptimizationBarrier {
		if wait, over := ip.confirm(q, r, 0); wait != 0 || over {
			return wait
		}
	}
	switch s.In.Op {
	case ops.While:
		f.pc++
		state := ip.valuesOf(q, r, s.In.Ins)
		r.handOver(s)
		ip.enter(q, r, s, 0, state)
		return 0
	case ops.Branch:
		return ip.branch(q, r, f, s)
	case ops.OptimizationBarrier:
		f.pc++
		r.give(s, ip.valuesOf(q, r, s.In.Ins))
		return 0
	case ops.Hook, ops.Callback:
		if wait, sent := ip.callBack(q, r, s); wait != 0 || !sent {
			return wait
		}
	default:
		if s.Fusion != nil {
			wait = ip.runFusion(q, r, s)
		} else {
			wait = ip.execute(q, &s.In)
		}
		if wait != 0 {
			return wait
		}
	}
	q.fresh()
	f.pc++
	f.part = 0
	r.passed(s)
	return 0
}

// passed lets go of what nothing needs after a step.
func (r *run) passed(s *program.Step) {
	for _, id := range s.Last {
		r.clear(id)
	}
}

// endsWith reports whether nothing in the run of a queue needs a slot after an instruction of the step
// under way. A plan may then update the slot in place.
func (q *Queue) endsWith(in *wire.Instr, id ops.ID) bool {
	r := q.run
	if r == nil || len(r.stack) == 0 {
		return false
	}
	f := r.top()
	if f.pc >= len(f.Steps) {
		return false
	}
	switch s := &f.Steps[f.pc]; {
	case in == &s.In:
		return slices.Contains(s.Last, id)
	case s.Fusion != nil && f.part < len(s.Fusion.Body) && in == &s.Fusion.Body[f.part]:
		return slices.Contains(s.Fusion.Endings()[f.part], id) || slices.Contains(s.Last, id) && !s.Fusion.NeedsAfter(f.part, id)
	}
	return false
}

// await notes that a slot gets its value of a collective.
func (r *run) await(x *collective) {
	if r.coming == nil {
		r.coming = make(map[ops.ID]*collective)
	}
	r.coming[x.in.Outs[0].ID] = x
}

// needsComing reports whether what a frame does next needs the result of a collective that is under way, and that it cannot have
// beforehand: a step that reads it, or one with regions, which may, or the end of the block.
func (r *run) needsComing(f *frame) bool {
	if len(r.coming) == 0 {
		return false
	}
	if f.pc == len(f.Steps) || len(f.Steps[f.pc].Regions) > 0 {
		for _, x := range r.coming {
			x.goAhead()
		}
		return len(r.coming) > 0
	}
	for _, in := range f.Steps[f.pc].In.Ins {
		if x := r.coming[in.ID]; x != nil && in.Lit == nil && !x.goAhead() {
			return true
		}
	}
	return false
}

// arrived notes that a slot has the value of its collective, or an error. The run goes on where it has
// waited for that.
func (r *run) arrived(x *collective) {
	id := x.in.Outs[0].ID
	if r.coming[id] != x {
		return
	}
	delete(r.coming, id)
	r.goOn(x)
}

// goOn has the run look again whether it has to wait for a collective.
func (r *run) goOn(x *collective) {
	if q := x.owner; q.run == r && q.waits == queue.ForMesh {
		x.sharing.queues.Resume(q)
	}
}

// giveUp ends the collectives that are under way.
func (r *run) giveUp(err error) {
	coming := r.coming
	r.coming = nil
	for _, x := range coming {
		x.drop(err)
		x.sharing.queues.Resume(x.queue)
	}
}
