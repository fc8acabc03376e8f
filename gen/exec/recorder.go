package exec

import (
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"nxvk/gen/exec/dispatch"
	"nxvk/gen/exec/memory"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/exec/trace"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// Instructions that a device will carry out are pending until somebody needs a
// result: a reader, a run, another session, or the device, when it has nothing to
// do and the stream is silent. Until then they gather in a trace (package trace),
// which is then run like a program (runTrace). What is freed before that need
// not be computed.
//
// Values, errors and where things are computed are those of one instruction after
// the other. So whatever could tell the difference is not pending: work for the
// host, what a device says the outcome of, what is refused, and what needs memory
// that the session might not have. It takes its turn at once where it needs
// nothing that is pending, and otherwise the trace runs before.

// timing is when an instruction has its turn.
type timing int

const (
	now     timing = iota // though others are pending
	after                 // after those that are pending
	later                 // it is pending, too; or there is nothing left to do
	unknown               // its plan is being made, which tells
)

// recorder postpones the instructions of streams: it records them in the trace of their queue,
// and has that run when a result is needed or the stream is silent.
type recorder struct {
	*core
	queues     *scheduler
	runs       runner
	dispatcher *dispatch.Dispatcher[*Queue] // makes plans, and says what is work for the host
	gathering  []*Queue                     // queues with a trace
	signatures *trace.Signatures
	traces     *trace.Cache
	scratch    placement.Work // of classify
	timer      bool           // a check for silent streams is due
}

// runner carries out traces as it does programs: the interpreter.
type runner interface {
	awaitWarmStart(q *Queue, r *run) bool          // the run waits for fusions that an earlier life has compiled
	advanceRun(q *Queue, r *run) (wait queue.Wait) // takes a step
}

// schedule decides when the request at the front of a queue has its turn.
func (rc *recorder) schedule(q *Queue, r *request) timing {
	switch {
	case q.from != nil || q.run != nil:
		return now
	case r.eager:
		return rc.scheduleInstr(q, r.in)
	case r.read == 0 || q.trace.Makes(r.read):
		q.loop.Reset()
		return q.flushIf(true)
	}
	return now
}

// flushIf is when something has its turn that may need what is pending.
func (q *Queue) flushIf(needs bool) timing {
	if needs && q.trace != nil {
		return after
	}
	return now
}

// scheduleInstr is postpone for an instruction that nothing is known about.
func (rc *recorder) scheduleInstr(q *Queue, in *wire.Instr) (t timing) {
	defer func() {
		if r := recover(); r != nil {
			rc.cfg.Log.Error().Str("op", in.Name).Bytes("stack", debug.Stack()).Msgf("an instruction caused a panic and failed; please report this as a bug: %v", r)
			rc.poison(q, in, nil, &wire.Fault{Kind: wire.Internal, Err: fmt.Errorf("%v", r)})
			t = later
		}
	}()
	return rc.postpone(q, in)
}

// postpone decides when an instruction has its turn, and takes it into the
// trace where that is later.
func (rc *recorder) postpone(q *Queue, in *wire.Instr) timing {
	if !rc.fuses() || q.recording.Busy() || q.failed != nil || q.claim.Swept() {
		return now
	}
	switch {
	case in.Op == ops.Free && in.Err == nil:
		return rc.free(q, in)
	case in.Op == ops.Run:
		q.loop.Reset()
		return q.flushIf(true)
	case in.Op == ops.Import || in.Op.IsCollective() || in.Note != "" || rc.feeds.Lost() != nil || q.trace.Full():
		return q.flushIf(true)
	}
	if q.renames(in) {
		return q.flushIf(true)
	}
	if in.Err != nil || len(in.Outs) == 0 || program.OnlyPrograms(in.Op) || in.Op == ops.Shader || in.Op == ops.Program || in.Op == ops.Forget {
		return now
	}
	if !q.fits(in) {
		return q.flushIf(true)
	}
	if in.Op == ops.Tensor {
		return now
	}
	return rc.classify(q, in)
}

// free lets go of values of a trace. What is left of the instruction has its
// turn now.
func (rc *recorder) free(q *Queue, in *wire.Instr) timing {
	s := q.trace
	if s == nil {
		return now
	}
	list := in.Attrs[0]
	left := make([]int, 0, len(list))
	for _, id := range list {
		if !s.Free(ops.ID(id)) {
			left = append(left, id)
		}
	}
	if len(left) == 0 && len(list) > 0 {
		rc.counters.Instructions++
		return later
	}
	in.Attrs = [][]int{left}
	return now
}

// renames reports whether an instruction gives a result the id of a pending value,
// or two of them the same one. Ids of values from outside stand for others from now
// on.
func (q *Queue) renames(in *wire.Instr) bool {
	for i, o := range in.Outs {
		if q.trace.Rename(o.ID) {
			return true
		}
		for _, p := range in.Outs[:i] {
			if p.ID == o.ID {
				return true
			}
		}
	}
	return false
}

// fits reports whether the session has room for results, and for those that are
// pending.
func (q *Queue) fits(in *wire.Instr) bool {
	n := int64(0)
	for i := range in.Outs {
		n += int64(in.Outs[i].Type.Bytes())
	}
	return memory.Allows(q.Session, n, q.trace.Promised())
}

// classify looks at the operands of an instruction.
func (rc *recorder) classify(q *Queue, in *wire.Instr) timing {
	w := &rc.scratch
	defer w.Release()
	pending, ok := rc.gather(q, in, w)
	if !ok || len(in.Regions) > 0 {
		return q.flushIf(pending)
	}
	if !pending && in.Op != ops.Dot && rc.dispatcher.Small(w) {
		return now // most work for the host
	}
	w.SettleLiterals()
	f := rc.signatures.Of(w)
	if f.Starts {
		if w.SettleStarts() != nil {
			return q.flushIf(pending)
		}
		f = rc.signatures.Of(w)
	}
	switch {
	case f.Making:
		f.Plan.Then(func() { rc.queues.Resume(q) })
		return unknown
	case !f.Lazy, placement.CheckIndex(w) != nil:
		return q.flushIf(pending)
	case !pending && (f.Alias || rc.dispatcher.Small(w)):
		return now
	case q.loop.Cuts(f.ID):
		if q.trace != nil {
			return after
		}
	}
	rc.add(q, in, f, w)
	return later
}

// gather is gather for operands, some of which may be pending. It reports whether
// one is pending, and whether all operands are there or pending.
func (rc *recorder) gather(q *Queue, in *wire.Instr, w *placement.Work) (pending, ok bool) {
	w.Reset(in)
	ok = true
	for i := range in.Ins {
		o := &in.Ins[i]
		var t ops.Type
		var m *store.Storage
		if o.Lit != nil {
			t = o.Lit.Type
		} else if known, mem, have := q.trace.Value(o.ID); have {
			t, m = known, mem
			pending = pending || m == nil
		} else if v, have := q.Session.Get(o.ID); have && v.Failure() == nil && q.pending[o.ID] == nil {
			t, m = v.Type, v.Mem
		} else {
			ok = false
		}
		w.Types[i], w.Args[i] = t, m
	}
	return pending, ok
}

// add takes an instruction into the trace of a queue.
func (rc *recorder) add(q *Queue, in *wire.Instr, f *trace.Signature, w *placement.Work) {
	if q.trace == nil {
		if q.trace, q.spare = q.spare, nil; q.trace == nil {
			q.trace = trace.New(q.usual)
		}
		rc.gathering = append(rc.gathering, q)
	}
	q.trace.Add(f, in.Name, w)
	q.loop.Step(f.ID)
	for _, o := range in.Outs {
		q.Session.Delete(o.ID)
		q.Session.Last = max(q.Session.Last, o.ID)
	}
	release(in)
}

// cutTrace ends the trace of a queue and is the request to run it.
func (rc *recorder) cutTrace(q *Queue) request {
	s := q.trace
	q.trace, q.running, q.usual = nil, s, s.Len()
	rc.drop(q)
	return request{task: func(q *Queue) queue.Wait { return rc.runTrace(q, s) }}
}

// drop forgets that a queue has a trace.
func (rc *recorder) drop(q *Queue) {
	rc.gathering = slices.DeleteFunc(rc.gathering, func(g *Queue) bool { return g == q })
}

// flushTraces has what is pending in any queue carried out.
func (rc *recorder) flushTraces() {
	for _, q := range slices.Clone(rc.gathering) {
		rc.flushTrace(q)
	}
}

// flushTrace has what is pending in a queue carried out, unless the queue waits for
// something.
func (rc *recorder) flushTrace(q *Queue) {
	if q.trace != nil && q.waits == 0 && q.queue.Len() == 0 {
		rc.queues.enqueue(q, rc.cutTrace(q))
	}
}

// For how many times Silence a stream may be silent that repeats itself, or whose
// device has enough to do: to cut it in the middle costs more than to wait.
const (
	patience     = 8
	busyPatience = 100
)

// awaitSilence sees to it that what is pending is carried out, and what has
// gathered is submitted, although nobody reads: when the stream has been silent,
// or by then where the device is idle.
func (rc *recorder) awaitSilence() {
	if rc.timer || rc.feeds.Idle() && len(rc.gathering) == 0 {
		return
	}
	rc.timer = true
	rc.feeds.Listen()
	time.AfterFunc(Silence, func() {
		rc.cfg.Post(func() {
			rc.timer = false
			rc.runSilent()
			rc.feeds.FlushSilent()
			rc.awaitSilence()
		})
	})
}

// runSilent has what is pending in queues that have been silent carried out.
func (rc *recorder) runSilent() {
	for _, q := range slices.Clone(rc.gathering) {
		if n := q.trace.Len(); n != q.length {
			q.length, q.quiet = n, 0
			continue
		}
		q.quiet++
		idle := rc.feed(q).InFlight() == 0
		if q.quiet >= busyPatience || idle && (q.quiet >= patience || !q.loop.Looping()) {
			rc.flushTrace(q)
		}
	}
}

// A trace runs like a program without a name: its instructions one by one when
// its signature is new, and fusions of them once it has been seen, in this life of the
// node or an earlier one (trace.Cache). What is compiled depends on which values
// are still named when it runs: the others are never stored.

// runTrace carries out a trace, from where it stands.
func (rc *recorder) runTrace(q *Queue, s *trace.Trace) (wait queue.Wait) {
	if q.run == nil {
		q.run = rc.bind(q, s)
	}
	r := q.run
	if rc.runs.awaitWarmStart(q, r) {
		return queue.ForPlan
	}
	for len(r.stack) > 0 {
		if wait := rc.runs.advanceRun(q, r); wait != 0 {
			return wait
		}
	}
	q.run, q.running = nil, nil
	for id, slot := range s.Named() {
		q.Session.Put(id, r.slots[slot])
		r.slots[slot] = store.Value{}
	}
	r.drop()
	if s.Reuse() {
		q.spare = s
	}
	return 0
}

// bind begins the run of a trace with what that takes from outside.
func (rc *recorder) bind(q *Queue, s *trace.Trace) *run {
	b, t, skipped := rc.traces.Block(s, memory.Allows(q.Session, s.Total(), 0))
	rc.counters.Instructions += uint64(skipped)
	r := &q.traceRun
	*r = run{
		slots: append(r.slots[:0], make([]store.Value, s.Slots())...), lits: append(r.lits[:0], make([]*ops.Literal, s.Slots())...),
		stack: append(r.stack[:0], frame{Block: b}), specialization: t,
	}
	for _, p := range b.Params {
		r.slots[p.ID], r.lits[p.ID] = s.Take(p.ID)
	}
	s.Drop()
	return r
}

// forget lets go of a value of the trace that is being carried out, out of turn.
func (q *Queue) forget(id ops.ID) {
	slot, r := q.running.Forget(id), q.run
	if slot == 0 {
		return
	}
	if r == nil || len(r.stack) == 0 {
		return
	}
	f := r.top()
	for i := f.pc; i < len(f.Steps); i++ {
		for _, o := range f.Steps[i].In.Ins {
			if o.Lit == nil && o.ID == slot {
				return
			}
		}
	}
	r.clear(slot)
}
