package trace

import (
	"container/list"
	"slices"

	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/program"
)

// entry is what traces with the same instructions have in common: the same signature.
type entry struct {
	key      string
	weight   int // instructions
	variants []*variant
}

// variant is an entry of whose values those of a mask are wanted.
type variant struct {
	live           string
	specialization *program.Specialization
}

// Cache has what is compiled of the traces that have been seen last. It is for one goroutine.
type Cache struct {
	specializer *program.Specializer
	kernels     *kernels.Cache
	byKey       map[string]*list.Element
	order       list.List // the latest first
	weight      int
}

const (
	// fewest is how many instructions a trace needs to be worth a look for others
	// like it.
	fewest = 2
	// maxVariants bounds the variants of an entry, and maxWeight the instructions
	// of all entries.
	maxVariants = 4
	maxWeight   = 1 << 17
)

// NewCache returns an empty Cache. z compiles traces, and k has their kernels.
func NewCache(z *program.Specializer, k *kernels.Cache) *Cache {
	return &Cache{specializer: z, kernels: k}
}

// find returns the entry of a trace.
func (m *Cache) find(s *Trace) *entry {
	if el, ok := m.byKey[string(s.key)]; ok {
		m.order.MoveToFront(el)
		return el.Value.(*entry)
	}
	if m.byKey == nil {
		m.byKey = make(map[string]*list.Element)
	}
	st := &entry{key: string(s.key), weight: len(s.steps)}
	m.byKey[st.key] = m.order.PushFront(st)
	m.weight += st.weight
	for m.weight > maxWeight {
		old := m.order.Remove(m.order.Back()).(*entry)
		delete(m.byKey, old.key)
		m.weight -= old.weight
	}
	return st
}

// variant returns the one for a mask. Where there are too many, one that is not
// compiled goes.
func (st *entry) variant(live []byte) *variant {
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
func (st *entry) compiled(live []byte) *variant {
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

// Block is what a trace does to give the values that the session can still name. Fusions are in
// an order of their own, and have other values at a time; where the session might lack the
// memory, fuse is false, and instructions keep the order in which they came. t is the
// specialization where the run may have to wait for that. skipped counts the instructions whose
// results nobody wants.
func (m *Cache) Block(s *Trace, fuse bool) (b *program.Block, t *program.Specialization, skipped int) {
	live := s.live()
	var v *variant
	if len(s.steps) >= fewest && fuse {
		st := m.find(s)
		v = st.variant(live)
		if v.specialization.Body != nil {
			return v.specialization.Body, nil, 0
		}
		if c := st.compiled(live); c != nil && m.specializer.Reuse(v.specialization) {
			return c.specialization.Body, nil, 0
		}
	}
	n := len(s.steps)
	b = s.block(live)
	skipped = n - len(b.Steps)
	if v == nil || len(b.Steps) < fewest {
		m.prefetch(s)
		return b, nil, skipped
	}
	if m.specialize(v, s, b); v.specialization.Warm() {
		return b, v.specialization, skipped
	}
	return b, nil, skipped
}

// prefetch asks for the kernels of single instructions, which are compiled side by side.
func (m *Cache) prefetch(s *Trace) {
	for _, p := range s.plans {
		if p != nil && p.Err == nil {
			m.kernels.Prefetch(p)
		}
	}
}

// specialize has a variant compiled when it has been seen often enough, or at once where an
// earlier life of the node has compiled it. b is its instructions.
func (m *Cache) specialize(v *variant, s *Trace, b *program.Block) {
	if !m.specializer.Count(v.specialization) {
		return
	}
	literal := make([]byte, len(b.Params))
	for i, p := range b.Params {
		if s.slots[p.ID].lit != nil {
			literal[i] = 1
		}
	}
	if v.specialization, s.kept = m.specializer.SpecializeBlock(v.specialization, b, len(s.slots), literal); !s.kept {
		m.prefetch(s)
	}
}
