package exec

import (
	"fmt"
	"runtime/debug"
	"slices"

	"nxvk/fallback"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/lru"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// Instructions that a device will carry out are pending until somebody needs a
// result: a reader, a run, another session, or the device, when it has nothing to
// do and the stream is silent. Until then they gather in a segment (segment.go),
// which is then run like a program (segments.go). What is freed before that need
// not be computed.
//
// Values, errors and where things are computed are those of one instruction after
// the other. So whatever could tell the difference is not pending: work for the
// host, what a device says the outcome of, what is refused, and what needs memory
// that the session might not have. It takes its turn at once where it needs
// nothing that is pending, and otherwise the segment runs before.

// turn is when an instruction has its turn.
type turn int

const (
	now     turn = iota // though others are pending
	after               // after those that are pending
	later               // it is pending, too; or there is nothing left to do
	unknown             // its plan is being made, which tells
)

// maxForms bounds the structures of instructions that are kept.
const maxForms = 1 << 14

// form is a structure of instructions: all that the choice of a turn depends on,
// but for where the operands are.
type form struct {
	lru.Use
	id     uint32 // above 0
	lazy   bool   // instructions may be pending
	starts bool   // operands that are on the host become literals first
	index  bool   // operands are indices, which have to be on the host
	making bool   // the plan is being made, and the rest not known
	alias  bool   // the result is an operand's memory
	plan   *kernels.Plan
}

// turnOf decides when the request at the front of a lane has its turn.
func (e *Executor) turnOf(l *Lane, r *request) turn {
	switch {
	case l.from != nil || l.run != nil:
		return now
	case r.eager:
		return e.turnOfInstr(l, r.in)
	case r.read == 0 || l.segment.makes(r.read):
		l.rhythm.reset()
		return l.unless(true)
	}
	return now
}

// unless is when something has its turn that may need what is pending.
func (l *Lane) unless(needs bool) turn {
	if needs && l.segment != nil {
		return after
	}
	return now
}

// turnOfInstr is postpone for an instruction of which nothing is known.
func (e *Executor) turnOfInstr(l *Lane, in *wire.Instr) (t turn) {
	defer func() {
		if r := recover(); r != nil {
			e.cfg.Log.Error().Str("op", in.Name).Bytes("stack", debug.Stack()).Msgf("instruction failed: %v", r)
			e.poison(l, in, nil, &wire.Fault{Kind: wire.Internal, Err: fmt.Errorf("%v", r)})
			t = later
		}
	}()
	return e.postpone(l, in)
}

// postpone decides when an instruction has its turn, and takes it into the
// segment where that is later.
func (e *Executor) postpone(l *Lane, in *wire.Instr) turn {
	if e.dev == nil || e.cfg.OneByOne || l.verdict != nil || l.failed != nil || l.swept {
		return now
	}
	switch {
	case in.Op == ops.Free && in.Err == nil:
		return e.freed(l, in)
	case in.Op == ops.Run:
		l.rhythm.reset()
		return l.unless(true)
	case in.Op == ops.Import || in.Note != "" || e.lost != nil || l.segment != nil && l.segment.full():
		return l.unless(true)
	}
	if l.renames(in) {
		return l.unless(true)
	}
	if in.Err != nil || len(in.Outs) == 0 || programOnly(in.Op) || in.Op == ops.Shader || in.Op == ops.Program || in.Op == ops.Forget {
		return now
	}
	if !l.fits(in) {
		return l.unless(true)
	}
	if in.Op == ops.Tensor {
		return now
	}
	return e.consider(l, in)
}

// freed lets go of values of a segment. What is left of the instruction has its
// turn now.
func (e *Executor) freed(l *Lane, in *wire.Instr) turn {
	s := l.segment
	if s == nil {
		return now
	}
	list := in.Attrs[0]
	left := make([]int, 0, len(list))
	for _, id := range list {
		if !s.free(ops.ID(id)) {
			left = append(left, id)
		}
	}
	if len(left) == 0 && len(list) > 0 {
		e.Counters.Instructions++
		return later
	}
	in.Attrs = [][]int{left}
	return now
}

// renames reports whether an instruction gives a result the id of a pending value,
// or two of them the same one. Ids of values from outside stand for others from now
// on.
func (l *Lane) renames(in *wire.Instr) bool {
	for i, o := range in.Outs {
		if k := l.segment.lookup(o.ID); k != 0 {
			if l.segment.slots[k].pending() {
				return true
			}
			delete(l.segment.named, o.ID)
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
func (l *Lane) fits(in *wire.Instr) bool {
	n := int64(0)
	for i := range in.Outs {
		n += int64(in.Outs[i].Type.Bytes())
	}
	if l.segment != nil {
		n += l.segment.bytes
	}
	return l.Session.Fits(n)
}

// consider looks at the operands of an instruction.
func (e *Executor) consider(l *Lane, in *wire.Instr) turn {
	w := &e.look
	defer w.drop()
	pending, ok := e.glance(l, in, w)
	if !ok || len(in.Regions) > 0 {
		return l.unless(pending)
	}
	if !pending && in.Op != ops.Dot && e.small(w) {
		return now // most work for the host
	}
	w.settleLiterals()
	f := e.formOf(w)
	if f.starts {
		if w.settleStarts() != nil {
			return l.unless(pending)
		}
		f = e.formOf(w)
	}
	switch {
	case f.making:
		f.plan.Then(func() { e.Resume(l) })
		return unknown
	case !f.lazy, f.index && !indicesKnown(w):
		return l.unless(pending)
	case !pending && (f.alias || e.small(w)):
		return now
	case l.rhythm.cuts(f.id):
		if l.segment != nil {
			return after
		}
	}
	e.defers(l, in, f, w)
	return later
}

// glance is gather for operands of which some may be pending. It reports whether
// there is one of those, and whether all operands are there or pending.
func (e *Executor) glance(l *Lane, in *wire.Instr, w *work) (pending, ok bool) {
	*w = work{in: &in.Instr, types: w.types[:0], args: w.args[:0]}
	ok = true
	for i := range in.Ins {
		o := &in.Ins[i]
		var t ops.Type
		var m *store.Storage
		if o.Lit != nil {
			t = o.Lit.Type
		} else if k := l.segment.lookup(o.ID); k != 0 {
			v := &l.segment.slots[k]
			t, m = v.typ, v.mem
			pending = pending || m == nil
		} else if v, have := l.Session.Get(o.ID); have && v.Err == nil && l.pending[o.ID] == nil {
			t, m = v.Type, v.Mem
		} else {
			ok = false
		}
		w.types, w.args = append(w.types, t), append(w.args, m)
	}
	return pending, ok
}

// formOf returns the form of an instruction, which is found out once.
func (e *Executor) formOf(w *work) *form {
	e.key = kernels.AppendInstr(e.key[:0], w.instr())
	if f, ok := e.forms[string(e.key)]; ok {
		f.Touch(&e.clock)
		return f
	}
	e.clock.Tick()
	lru.Evict(e.forms, e.room.forms, &e.clock, nil, nil)
	key := string(e.key)
	f := &form{}
	f.Touch(&e.clock)
	if w.in.Check(w.types) == nil {
		f.starts = w.in.Op == ops.Slice || w.in.Op == ops.PutSlice
		f.index = w.in.Op.Info().Kind == ops.Index
		f.alias = w.sameBytes()
		p, err := e.plan(w)
		if err == kernels.ErrBeingMade {
			return &form{making: true, plan: p}
		}
		f.lazy = f.alias || err == nil && p.Status == nil
		f.alias = f.alias || err == nil && p.Alias >= 0
		f.plan = p
	}
	e.lastForm++
	f.id = e.lastForm
	e.forms[key] = f
	return f
}

// indicesKnown reports whether the indices of an instruction are on the host and
// within bounds.
func indicesKnown(w *work) bool {
	idx := fallback.Value{Type: w.types[1]}
	if idx.Type.Size() > inlineCost/manyIndices {
		return false // a job, see checkIndices
	}
	switch m := w.args[1]; {
	case w.in.Ins[1].Lit != nil:
		idx.Data = w.in.Ins[1].Lit.Data
	case m == nil || !m.OnHost():
		return false
	default:
		idx.Data = m.Host
	}
	return fallback.CheckIndices(w.in, w.types[0].Shape, idx) == nil
}

// defers takes an instruction into the segment of a lane.
func (e *Executor) defers(l *Lane, in *wire.Instr, f *form, w *work) {
	if l.segment == nil {
		if l.segment, l.spare = l.spare, nil; l.segment == nil {
			l.segment = newSegment(l.usual)
		}
		e.gathering = append(e.gathering, l)
	}
	l.segment.add(f.id, in.Name, w)
	l.segment.plans = append(l.segment.plans, f.plan)
	l.rhythm.step(f.id)
	for _, o := range in.Outs {
		l.Session.Delete(o.ID)
		l.Session.Last = max(l.Session.Last, o.ID)
	}
	release(in)
}

// cut ends the segment of a lane and is the request to run it.
func (e *Executor) cut(l *Lane) request {
	s := l.segment
	l.segment, l.running, l.usual = nil, s, len(s.steps)
	e.gathering = slices.DeleteFunc(e.gathering, func(g *Lane) bool { return g == l })
	return request{task: func(l *Lane) queue.Wait { return e.runSegment(l, s) }}
}

// compel has what is pending in a lane carried out, unless the lane waits for
// something.
func (e *Executor) compel(l *Lane) {
	if l.segment != nil && l.waits == 0 && len(l.queue) == 0 {
		e.enqueue(l, e.cut(l))
	}
}
