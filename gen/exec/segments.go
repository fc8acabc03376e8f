package exec

import (
	"container/list"
	"slices"

	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/ops"
)

// A segment runs like a program without a name: its instructions one by one when
// its structure is new, and units of them once it has been seen, in this life of the
// node or an earlier one (tier.go, known.go). What is compiled depends on which values
// are still named when it runs: the others are never stored.

// structure is what segments with the same instructions have in common.
type structure struct {
	key      string
	weight   int // instructions
	variants []*variant
}

// variant is a structure whose values of a mask are wanted.
type variant struct {
	live string
	tier *tier
}

// structures are those that have been seen last.
type structures struct {
	byKey  map[string]*list.Element
	order  list.List // the latest first
	weight int
}

const (
	// fewest is how many instructions a segment needs to be worth a look for others
	// like it.
	fewest = 3
	// maxVariants bounds the variants of a structure, and maxWeight the instructions
	// of all structures.
	maxVariants = 4
	maxWeight   = 1 << 17
	// oftenEnough is how many times as often as others a variant is seen before it is
	// compiled, where a compiled one gives more than its values.
	oftenEnough = 8
)

// find returns the structure of a segment.
func (m *structures) find(s *segment) *structure {
	if el, ok := m.byKey[string(s.key)]; ok {
		m.order.MoveToFront(el)
		return el.Value.(*structure)
	}
	if m.byKey == nil {
		m.byKey = make(map[string]*list.Element)
	}
	st := &structure{key: string(s.key), weight: len(s.steps)}
	m.byKey[st.key] = m.order.PushFront(st)
	m.weight += st.weight
	for m.weight > maxWeight {
		old := m.order.Remove(m.order.Back()).(*structure)
		delete(m.byKey, old.key)
		m.weight -= old.weight
	}
	return st
}

// variant returns the one for a mask. Where there are too many, one that is not
// compiled goes.
func (st *structure) variant(live []byte) *variant {
	for i, v := range st.variants {
		if v.live == string(live) {
			st.variants[0], st.variants[i] = v, st.variants[0]
			return v
		}
	}
	if len(st.variants) == maxVariants {
		at := slices.IndexFunc(st.variants, func(v *variant) bool { return v.tier.body == nil })
		if at < 0 {
			at = maxVariants - 1
		}
		st.variants = slices.Delete(st.variants, at, at+1)
	}
	v := &variant{live: string(live), tier: &tier{}}
	st.variants = slices.Insert(st.variants, 0, v)
	return v
}

// compiled is a variant that gives the values of a mask, and perhaps more; nil
// where there is none.
func (st *structure) compiled(live []byte) *variant {
	for _, v := range st.variants {
		if v.tier.body != nil && covers(v.live, live) {
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

// runSegment carries out a segment, from where it stands.
func (e *Executor) runSegment(l *Lane, s *segment) (wait queue.Wait) {
	if l.run == nil {
		l.run = e.bind(l, s)
	}
	r := l.run
	if e.awaitsTier(l, r) {
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

// bind begins the run of a segment with what that takes from outside.
func (e *Executor) bind(l *Lane, s *segment) *run {
	b, t := e.segmentBody(l, s, s.live())
	r := &s.run
	r.tier = t
	r.slots = append(r.slots[:0], make([]store.Value, len(s.slots))...)
	r.lits = append(r.lits[:0], make([]*ops.Literal, len(s.slots))...)
	r.stack = append(r.stack, frame{block: b})
	for _, p := range b.params {
		v := &s.slots[p.ID]
		if r.lits[p.ID] = v.lit; v.mem != nil {
			r.slots[p.ID] = store.Value{Type: v.typ, Mem: v.mem}
			v.mem = nil
		}
	}
	s.drop()
	return r
}

// segmentBody is what a segment does to give the values of a mask. Units are in an
// order of their own, and have other values at a time; where the session might lack
// the memory, instructions keep the order in which they came. It gives the tier as well
// where the run may have to wait for that.
func (e *Executor) segmentBody(l *Lane, s *segment, live []byte) (*block, *tier) {
	var v *variant
	if len(s.steps) >= fewest && l.Session.Fits(s.total) {
		st := e.segments.find(s)
		v = st.variant(live)
		if v.tier.body != nil {
			return v.tier.body, nil
		}
		if c := st.compiled(live); c != nil && v.tier.seen < e.enough*oftenEnough {
			v.tier.seen++
			return c.tier.body, nil
		}
	}
	n := len(s.steps)
	b := s.block(live)
	e.Counters.Instructions += uint64(n - len(b.steps))
	if v == nil || len(b.steps) < fewest {
		e.aheadOf(s)
		return b, nil
	}
	if e.sighted(v, s, b); v.tier.known {
		return b, v.tier
	}
	return b, nil
}

// aheadOf asks for the kernels of single instructions, which are compiled side by side.
func (e *Executor) aheadOf(s *segment) {
	for _, p := range s.plans {
		if p != nil && p.Err == nil {
			e.kernels.Prefetch(p)
		}
	}
}

// sighted has a variant compiled when it has been seen often enough, or at once where an
// earlier life of the node has compiled it. b is its instructions.
func (e *Executor) sighted(v *variant, s *segment, b *block) {
	t := v.tier
	if t.seen++; t.asked || t.seen > 1 && !e.due(t) {
		return
	}
	literal := make([]byte, len(b.params))
	for i, p := range b.params {
		if s.slots[p.ID].lit != nil {
			literal[i] = 1
		}
	}
	p := &Program{body: b, slots: len(s.slots)}
	if t.seen == 1 || t.mark == "" {
		v.tier = e.newTier(p, literal)
		v.tier.seen = t.seen
	}
	if !e.due(v.tier) {
		e.aheadOf(s)
		return
	}
	s.kept = true
	v.tier.asked = true
	e.fuse(p, v.tier, literal)
}

// forget lets go of a value of the segment that is being carried out, out of turn.
func (l *Lane) forget(id ops.ID) {
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
	for i := f.pc; i < len(f.steps); i++ {
		for _, o := range f.steps[i].in.Ins {
			if o.Lit == nil && o.ID == ops.ID(k) {
				return
			}
		}
	}
	r.clear(ops.ID(k))
}
