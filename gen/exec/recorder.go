package exec

import (
	"fmt"
	"runtime/debug"
	"slices"
	"time"

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
	exec       *Executor
	gathering  []*Queue // queues with a trace
	signatures *trace.Signatures
	traces     *trace.Cache
	scratch    placement.Work // of classify
	timer      bool           // a check for silent streams is due
}

// schedule decides when the request at the front of a queue has its turn.
func (rc *recorder) schedule(l *Queue, r *request) timing {
	switch {
	case l.from != nil || l.run != nil:
		return now
	case r.eager:
		return rc.scheduleInstr(l, r.in)
	case r.read == 0 || l.trace.Makes(r.read):
		l.loop.Reset()
		return l.flushIf(true)
	}
	return now
}

// flushIf is when something has its turn that may need what is pending.
func (l *Queue) flushIf(needs bool) timing {
	if needs && l.trace != nil {
		return after
	}
	return now
}

// scheduleInstr is postpone for an instruction of which nothing is known.
func (rc *recorder) scheduleInstr(l *Queue, in *wire.Instr) (t timing) {
	defer func() {
		if r := recover(); r != nil {
			rc.exec.cfg.Log.Error().Str("op", in.Name).Bytes("stack", debug.Stack()).Msgf("instruction failed: %v", r)
			rc.exec.poison(l, in, nil, &wire.Fault{Kind: wire.Internal, Err: fmt.Errorf("%v", r)})
			t = later
		}
	}()
	return rc.postpone(l, in)
}

// postpone decides when an instruction has its turn, and takes it into the
// trace where that is later.
func (rc *recorder) postpone(l *Queue, in *wire.Instr) timing {
	if rc.exec.dev == nil || rc.exec.cfg.OneByOne || l.verdict != nil || l.recording != nil || l.failed != nil || l.claim.Swept() {
		return now
	}
	switch {
	case in.Op == ops.Free && in.Err == nil:
		return rc.free(l, in)
	case in.Op == ops.Run:
		l.loop.Reset()
		return l.flushIf(true)
	case in.Op == ops.Import || in.Note != "" || rc.exec.Lost() != nil || l.trace.Full():
		return l.flushIf(true)
	}
	if l.renames(in) {
		return l.flushIf(true)
	}
	if in.Err != nil || len(in.Outs) == 0 || program.IsControl(in.Op) || in.Op == ops.Shader || in.Op == ops.Program || in.Op == ops.Forget {
		return now
	}
	if !l.fits(in) {
		return l.flushIf(true)
	}
	if in.Op == ops.Tensor {
		return now
	}
	return rc.classify(l, in)
}

// free lets go of values of a trace. What is left of the instruction has its
// turn now.
func (rc *recorder) free(l *Queue, in *wire.Instr) timing {
	s := l.trace
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
		rc.exec.Counters.Instructions++
		return later
	}
	in.Attrs = [][]int{left}
	return now
}

// renames reports whether an instruction gives a result the id of a pending value,
// or two of them the same one. Ids of values from outside stand for others from now
// on.
func (l *Queue) renames(in *wire.Instr) bool {
	for i, o := range in.Outs {
		if l.trace.Rename(o.ID) {
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
func (l *Queue) fits(in *wire.Instr) bool {
	n := int64(0)
	for i := range in.Outs {
		n += int64(in.Outs[i].Type.Bytes())
	}
	return memory.Allows(l.Session, n, l.trace.Promised())
}

// classify looks at the operands of an instruction.
func (rc *recorder) classify(l *Queue, in *wire.Instr) timing {
	w := &rc.scratch
	defer w.Release()
	pending, ok := rc.gather(l, in, w)
	if !ok || len(in.Regions) > 0 {
		return l.flushIf(pending)
	}
	if !pending && in.Op != ops.Dot && w.Small(rc.exec.limit) {
		return now // most work for the host
	}
	w.SettleLiterals()
	f := rc.signatures.Of(w)
	if f.Starts {
		if w.SettleStarts() != nil {
			return l.flushIf(pending)
		}
		f = rc.signatures.Of(w)
	}
	switch {
	case f.Making:
		f.Plan.Then(func() { rc.exec.Resume(l) })
		return unknown
	case !f.Lazy, placement.CheckIndex(w) != nil:
		return l.flushIf(pending)
	case !pending && (f.Alias || w.Small(rc.exec.limit)):
		return now
	case l.loop.Cuts(f.ID):
		if l.trace != nil {
			return after
		}
	}
	rc.add(l, in, f, w)
	return later
}

// gather is gather for operands of which some may be pending. It reports whether
// there is one of those, and whether all operands are there or pending.
func (rc *recorder) gather(l *Queue, in *wire.Instr, w *placement.Work) (pending, ok bool) {
	w.Reset(in)
	ok = true
	for i := range in.Ins {
		o := &in.Ins[i]
		var t ops.Type
		var m *store.Storage
		if o.Lit != nil {
			t = o.Lit.Type
		} else if known, mem, have := l.trace.Value(o.ID); have {
			t, m = known, mem
			pending = pending || m == nil
		} else if v, have := l.Session.Get(o.ID); have && v.Failure() == nil && l.pending[o.ID] == nil {
			t, m = v.Type, v.Mem
		} else {
			ok = false
		}
		w.Types[i], w.Args[i] = t, m
	}
	return pending, ok
}

// add takes an instruction into the trace of a queue.
func (rc *recorder) add(l *Queue, in *wire.Instr, f *trace.Signature, w *placement.Work) {
	if l.trace == nil {
		if l.trace, l.spare = l.spare, nil; l.trace == nil {
			l.trace = trace.New(l.usual)
		}
		rc.gathering = append(rc.gathering, l)
	}
	l.trace.Add(f, in.Name, w)
	l.loop.Step(f.ID)
	for _, o := range in.Outs {
		l.Session.Delete(o.ID)
		l.Session.Last = max(l.Session.Last, o.ID)
	}
	release(in)
}

// cutTrace ends the trace of a queue and is the request to run it.
func (rc *recorder) cutTrace(l *Queue) request {
	s := l.trace
	l.trace, l.running, l.usual = nil, s, s.Len()
	rc.gathering = slices.DeleteFunc(rc.gathering, func(g *Queue) bool { return g == l })
	return request{task: func(l *Queue) queue.Wait { return rc.runTrace(l, s) }}
}

// flushTrace has what is pending in a queue carried out, unless the queue waits for
// something.
func (rc *recorder) flushTrace(l *Queue) {
	if l.trace != nil && l.waits == 0 && l.queue.Len() == 0 {
		rc.exec.enqueue(l, rc.cutTrace(l))
	}
}

// patience is for how many times Silence a stream that repeats itself, or whose
// device has enough to do, may be silent: to cut it in the middle costs more than
// to wait.
const patience = 8

// awaitSilence sees to it that what is pending is carried out, and what has
// gathered is submitted, although nobody reads: when the stream has been silent,
// or by then where the device is idle.
func (rc *recorder) awaitSilence() {
	if rc.timer || rc.exec.feeds.Idle() && len(rc.gathering) == 0 {
		return
	}
	rc.timer = true
	rc.exec.feeds.Listen()
	time.AfterFunc(Silence, func() {
		rc.exec.cfg.Post(func() {
			rc.timer = false
			rc.runSilent()
			rc.exec.feeds.FlushSilent()
			rc.awaitSilence()
		})
	})
}

// runSilent has what is pending in queues that have been silent carried out.
func (rc *recorder) runSilent() {
	for _, l := range slices.Clone(rc.gathering) {
		if n := l.trace.Len(); n != l.length {
			l.length, l.quiet = n, 0
			continue
		}
		l.quiet++
		if l.quiet >= patience || rc.exec.Feed(l).InFlight() == 0 && !l.loop.Looping() {
			rc.flushTrace(l)
		}
	}
}

// A trace runs like a program without a name: its instructions one by one when
// its signature is new, and fusions of them once it has been seen, in this life of the
// node or an earlier one (trace.Cache). What is compiled depends on which values
// are still named when it runs: the others are never stored.

// runTrace carries out a trace, from where it stands.
func (rc *recorder) runTrace(l *Queue, s *trace.Trace) (wait queue.Wait) {
	if l.run == nil {
		l.run = rc.bind(l, s)
	}
	r := l.run
	if rc.exec.interpreter.awaitWarmStart(l, r) {
		return queue.ForPlan
	}
	for len(r.stack) > 0 {
		if wait := rc.exec.interpreter.advanceRun(l, r); wait != 0 {
			return wait
		}
	}
	l.run, l.running = nil, nil
	for id, slot := range s.Named() {
		l.Session.Put(id, r.slots[slot])
		r.slots[slot] = store.Value{}
	}
	r.drop()
	if s.Reuse() {
		l.spare = s
	}
	return 0
}

// bind begins the run of a trace with what that takes from outside.
func (rc *recorder) bind(l *Queue, s *trace.Trace) *run {
	b, t, skipped := rc.traces.Block(s, memory.Allows(l.Session, s.Total(), 0))
	rc.exec.Counters.Instructions += uint64(skipped)
	r := &l.traceRun
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
func (l *Queue) forget(id ops.ID) {
	slot, r := l.running.Forget(id), l.run
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
