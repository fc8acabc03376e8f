package exec

import (
	"container/list"
	"slices"

	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/ops"
)

// A trace runs like a program without a name: its instructions one by one when
// its structure is new, and fusions of them once it has been seen, in this life of the
// node or an earlier one (specialization.go, warm_start.go). What is compiled depends on which values
// are still named when it runs: the others are never stored.

// traceEntry is what traces with the same instructions have in common.
type traceEntry struct {
	key      string
	weight   int // instructions
	variants []*variant
}

// variant is a structure whose values of a mask are wanted.
type variant struct {
	live           string
	specialization *program.Specialization
}

// traceCache are those that have been seen last.
type traceCache struct {
	byKey  map[string]*list.Element
	order  list.List // the latest first
	weight int
}

const (
	// fewest is how many instructions a trace needs to be worth a look for others
	// like it.
	fewest = 3
	// maxVariants bounds the variants of a structure, and maxWeight the instructions
	// of all structures.
	maxVariants = 4
	maxWeight   = 1 << 17
)

// find returns the structure of a trace.
func (m *traceCache) find(s *trace) *traceEntry {
	if el, ok := m.byKey[string(s.key)]; ok {
		m.order.MoveToFront(el)
		return el.Value.(*traceEntry)
	}
	if m.byKey == nil {
		m.byKey = make(map[string]*list.Element)
	}
	st := &traceEntry{key: string(s.key), weight: len(s.steps)}
	m.byKey[st.key] = m.order.PushFront(st)
	m.weight += st.weight
	for m.weight > maxWeight {
		old := m.order.Remove(m.order.Back()).(*traceEntry)
		delete(m.byKey, old.key)
		m.weight -= old.weight
	}
	return st
}

// variant returns the one for a mask. Where there are too many, one that is not
// compiled goes.
func (st *traceEntry) variant(live []byte) *variant {
	for i, v := range st.variants {
		if v.live == string(live) {
			st.variants[0], st.variants[i] = v, st.variants[0]
			return v
		}
	}
	if len(st.variants) == maxVariants {
		at := slices.IndexFunc(st.variants, func(v *variant) bool { return v.specialization.Body == nil })
		if at < 0 {
			at = maxVariants - 1
		}
		st.variants = slices.Delete(st.variants, at, at+1)
	}
	v := &variant{live: string(live), specialization: &program.Specialization{}}
	st.variants = slices.Insert(st.variants, 0, v)
	return v
}

// compiled is a variant that gives the values of a mask, and perhaps more; nil
// where there is none.
func (st *traceEntry) compiled(live []byte) *variant {
	for _, v := range st.variants {
		if v.specialization.Body != nil && covers(v.live, live) {
			return v
		}
	}
	return nil
}

func covers(have string, want []byte) bool {
	for i, w := range want {
		if w > have[i] {
			return false
		}
	}
	return true
}

// runTrace carries out a trace, from where it stands.
func (e *Executor) runTrace(l *Queue, s *trace) (wait queue.Wait) {
	if l.run == nil {
		l.run = e.bind(l, s)
	}
	r := l.run
	if e.awaitWarmStart(l, r) {
		return queue.ForPlan
	}
	for len(r.stack) > 0 {
		if wait := e.advanceRun(l, r); wait != 0 {
			return wait
		}
	}
	l.run, l.running = nil, nil
	for k := range s.slots {
		if id := s.slots[k].id; id != 0 {
			l.Session.Put(id, r.slots[k])
			r.slots[k] = store.Value{}
		}
	}
	r.drop()
	if !s.kept {
		s.empty()
		l.spare = s
	}
	return 0
}

// bind begins the run of a trace with what that takes from outside.
func (e *Executor) bind(l *Queue, s *trace) *run {
	b, t := e.traceBody(l, s, s.live())
	r := &s.run
	r.specialization = t
	r.slots = append(r.slots[:0], make([]store.Value, len(s.slots))...)
	r.lits = append(r.lits[:0], make([]*ops.Literal, len(s.slots))...)
	r.stack = append(r.stack, frame{Block: b})
	for _, p := range b.Params {
		v := &s.slots[p.ID]
		if r.lits[p.ID] = v.lit; v.mem != nil {
			r.slots[p.ID] = store.Value{Type: v.typ, Mem: v.mem}
			v.mem = nil
		}
	}
	s.drop()
	return r
}

// traceBody is what a trace does to give the values of a mask. Fusions are in an
// order of their own, and have other values at a time; where the session might lack
// the memory, instructions keep the order in which they came. It gives the specialization as well
// where the run may have to wait for that.
func (e *Executor) traceBody(l *Queue, s *trace, live []byte) (*program.Block, *program.Specialization) {
	var v *variant
	if len(s.steps) >= fewest && l.allows(s.total, 0) {
		st := e.traces.find(s)
		v = st.variant(live)
		if v.specialization.Body != nil {
			return v.specialization.Body, nil
		}
		if c := st.compiled(live); c != nil && e.specializer.Reuse(v.specialization) {
			return c.specialization.Body, nil
		}
	}
	n := len(s.steps)
	b := s.block(live)
	e.Counters.Instructions += uint64(n - len(b.Steps))
	if v == nil || len(b.Steps) < fewest {
		e.prefetchTrace(s)
		return b, nil
	}
	if e.specializeTrace(v, s, b); v.specialization.Warm() {
		return b, v.specialization
	}
	return b, nil
}

// prefetchTrace asks for the kernels of single instructions, which are compiled side by side.
func (e *Executor) prefetchTrace(s *trace) {
	for _, p := range s.plans {
		if p != nil && p.Err == nil {
			e.kernels.Prefetch(p)
		}
	}
}

// specializeTrace has a variant compiled when it has been seen often enough, or at once where an
// earlier life of the node has compiled it. b is its instructions.
func (e *Executor) specializeTrace(v *variant, s *trace, b *program.Block) {
	if !e.specializer.Count(v.specialization) {
		return
	}
	literal := make([]byte, len(b.Params))
	for i, p := range b.Params {
		if s.slots[p.ID].lit != nil {
			literal[i] = 1
		}
	}
	if v.specialization, s.kept = e.specializer.SpecializeBlock(v.specialization, b, len(s.slots), literal); !s.kept {
		e.prefetchTrace(s)
	}
}

// forget lets go of a value of the trace that is being carried out, out of turn.
func (l *Queue) forget(id ops.ID) {
	s, r := l.running, l.run
	k := s.lookup(id)
	if k == 0 || !s.slots[k].pending() {
		return
	}
	delete(s.named, id)
	s.slots[k].id = 0
	if r == nil || len(r.stack) == 0 {
		return
	}
	f := r.top()
	for i := f.pc; i < len(f.Steps); i++ {
		for _, o := range f.Steps[i].In.Ins {
			if o.Lit == nil && o.ID == ops.ID(k) {
				return
			}
		}
	}
	r.clear(ops.ID(k))
}
