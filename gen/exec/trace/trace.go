package trace

import (
	"bytes"
	"encoding/binary"
	"iter"

	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/program"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// Trace is the part of a session's stream that is pending: straight code, in
// the making, whose ids are slots. What it takes from outside, and what it makes,
// have slots in the order in which they appear, so that two traces of the same
// signature have the same ones. A nil Trace is empty.
type Trace struct {
	steps []program.Step
	slots []slot           // from 1 on
	named map[ops.ID]int32 // the slots of ids that the session may still name
	lits  []int32          // the slots of literals
	key   []byte           // the signature
	plans []*kernels.Plan  // of the single instructions
	bytes int64            // what values take that have not been freed
	held  int64            // what values take that the session has freed, but the trace needs
	total int64            // what all values take that it makes

	ins  []ops.Operand // room for those of steps
	outs []ops.Result  // the same
	ends []ops.ID      // the same

	mask   []byte        // room for that of live
	needed []byte        // room for block
	body   program.Block // what block gives
	kept   bool          // others have the body
}

// slot is a value of a trace: one that it makes, or one from outside, which is
// memory or a scalar literal.
type slot struct {
	typ ops.Type
	id  ops.ID // of a value that is made and not freed; 0 of others
	mem *store.Storage
	lit *ops.Literal
}

// pending reports whether the trace makes the value.
func (s *slot) pending() bool { return s.mem == nil && s.lit == nil }

// mostHeld is how many bytes of values that the session has freed a trace holds.
const mostHeld = 64 << 20

// New returns an empty trace with room for so many instructions.
func New(n int) *Trace {
	return &Trace{
		steps: make([]program.Step, 0, n), slots: make([]slot, 1, 2*n+2), named: make(map[ops.ID]int32, n), key: make([]byte, 0, 4*n),
		ins: make([]ops.Operand, 0, 2*n), outs: make([]ops.Result, 0, n), ends: make([]ops.ID, 0, 2*n),
	}
}

// Reuse makes a trace that has been carried out an empty one, which saves its room. It reports
// false where others have its instructions.
func (s *Trace) Reuse() bool {
	if s.kept {
		return false
	}
	clear(s.steps)
	clear(s.slots)
	clear(s.named)
	clear(s.ins)
	clear(s.body.Params)
	clear(s.plans)
	*s = Trace{
		steps: s.steps[:0], slots: s.slots[:1], named: s.named, lits: s.lits[:0], key: s.key[:0], plans: s.plans[:0],
		ins: s.ins[:0], outs: s.outs[:0], ends: s.ends[:0], mask: s.mask, needed: s.needed,
		body: program.Block{Params: s.body.Params[:0], Values: s.body.Values[:0]},
	}
	return true
}

// Len is how many instructions there are.
func (s *Trace) Len() int {
	if s == nil {
		return 0
	}
	return len(s.steps)
}

// Promised is how many bytes values take that the trace makes and the session has not freed.
func (s *Trace) Promised() int64 {
	if s == nil {
		return 0
	}
	return s.bytes
}

// Total is how many bytes all values take that the trace makes.
func (s *Trace) Total() int64 { return s.total }

// Full reports whether the trace has to run before it grows.
func (s *Trace) Full() bool { return s != nil && s.held > mostHeld }

// lookup finds the slot of an id, 0 where it has none.
func (s *Trace) lookup(id ops.ID) int32 {
	if s == nil {
		return 0
	}
	return s.named[id]
}

// Value returns the type and the memory of a value that the trace knows; the memory is nil
// where the trace makes the value. ok says that the trace knows it.
func (s *Trace) Value(id ops.ID) (t ops.Type, m *store.Storage, ok bool) {
	k := s.lookup(id)
	if k == 0 {
		return ops.Type{}, nil, false
	}
	return s.slots[k].typ, s.slots[k].mem, true
}

// Rename notes that an id stands for another value from now on. It reports whether it is
// that of a pending value, for which the trace has to run before.
func (s *Trace) Rename(id ops.ID) (pending bool) {
	k := s.lookup(id)
	if k == 0 {
		return false
	}
	if s.slots[k].pending() {
		return true
	}
	delete(s.named, id)
	return false
}

// Makes reports whether an id is that of a value which the trace makes.
func (s *Trace) Makes(id ops.ID) bool {
	k := s.lookup(id)
	return k != 0 && s.slots[k].pending()
}

// Add appends an instruction of a signature, whose operands are at hand or pending. The trace
// takes holds of its own.
func (s *Trace) Add(f *Signature, name string, w *placement.Work) {
	s.key = binary.AppendUvarint(s.key, uint64(f.ID))
	s.plans = append(s.plans, f.Plan)
	st := program.Step{In: wire.Instr{Name: name, Instr: ops.Instr{Op: w.In.Op, Attrs: w.In.Attrs}}}
	from := len(s.ins)
	for i, o := range w.In.Ins {
		if w.In.Op == ops.Constant {
			// What is made of a constant depends on its value.
			s.key = append(s.key, o.Lit.Data...)
			s.ins = append(s.ins, ops.Operand{Lit: placement.Detach(o.Lit)})
			continue
		}
		k := s.operand(o, w.Args[i], w.Types[i])
		s.key = binary.AppendUvarint(s.key, uint64(k))
		s.ins = append(s.ins, ops.Operand{ID: ops.ID(k)})
	}
	st.In.Ins = s.ins[from:len(s.ins):len(s.ins)]
	from = len(s.outs)
	for _, r := range w.In.Outs {
		k := s.slot(slot{typ: r.Type, id: r.ID})
		s.named[r.ID] = k
		s.bytes += int64(r.Type.Bytes())
		s.total += int64(r.Type.Bytes())
		s.outs = append(s.outs, ops.Result{ID: ops.ID(k), Type: r.Type})
	}
	st.In.Outs = s.outs[from:len(s.outs):len(s.outs)]
	s.steps = append(s.steps, st)
}

func (s *Trace) slot(v slot) int32 {
	s.slots = append(s.slots, v)
	return int32(len(s.slots) - 1)
}

// operand is the slot of an operand: of a literal, of a value that the trace
// knows, or of memory that it does not know yet.
func (s *Trace) operand(o ops.Operand, m *store.Storage, t ops.Type) int32 {
	if o.Lit != nil {
		return s.literal(o.Lit)
	}
	if k := s.named[o.ID]; k != 0 && o.ID != 0 {
		return k
	}
	m.Retain()
	k := s.slot(slot{typ: t, mem: m})
	if o.ID != 0 {
		s.named[o.ID] = k
	}
	return k
}

// literal is the slot of a scalar. Scalars that are the same have one, so that a
// kernel has fewer parameters.
func (s *Trace) literal(lit *ops.Literal) int32 {
	for _, k := range s.lits {
		if have := s.slots[k].lit; have.Type.DType == lit.Type.DType && bytes.Equal(have.Data, lit.Data) {
			return k
		}
	}
	k := s.slot(slot{typ: lit.Type, lit: placement.Detach(lit)})
	if len(s.lits) < manyLiterals {
		s.lits = append(s.lits, k)
	}
	return k
}

// manyLiterals bounds the literals that others are compared with.
const manyLiterals = 32

// Free notes that the session does not name a value any more. It reports whether
// the value is the trace's alone, so that there is nothing else to free.
func (s *Trace) Free(id ops.ID) bool {
	k := s.named[id]
	if k == 0 {
		return false
	}
	delete(s.named, id)
	v := &s.slots[k]
	if v.pending() {
		s.bytes -= int64(v.typ.Bytes())
		v.id = 0
		return true
	}
	s.held += int64(v.typ.Bytes())
	return false
}

// live tells, a byte for each slot, which values the session can still name.
func (s *Trace) live() []byte {
	s.mask = append(s.mask[:0], make([]byte, len(s.slots))...)
	for k := range s.slots {
		if s.slots[k].id != 0 {
			s.mask[k] = 1
		}
	}
	return s.mask
}

// block is the steps that the values of a mask need, with what ends at each.
func (s *Trace) block(live []byte) *program.Block {
	s.needed = append(s.needed[:0], live...)
	needed := s.needed
	n := len(s.steps)
	for i := len(s.steps) - 1; i >= 0; i-- {
		st := &s.steps[i]
		if !anyOf(needed, st.In.Outs) {
			continue
		}
		from := len(s.ends)
		for _, o := range st.In.Outs {
			s.end(needed, o.ID)
		}
		for _, o := range st.In.Ins {
			s.end(needed, o.ID)
		}
		st.Last = s.ends[from:len(s.ends):len(s.ends)]
		if n--; n != i {
			s.steps[n] = *st
		}
	}
	b := &s.body
	b.Steps = s.steps[n:]
	for k := 1; k < len(s.slots); k++ {
		v := &s.slots[k]
		if !v.pending() && needed[k] != 0 {
			b.Params = append(b.Params, ops.Result{ID: ops.ID(k), Type: v.typ})
		}
		if live[k] != 0 {
			b.Values = append(b.Values, ops.Operand{ID: ops.ID(k)})
		}
	}
	return b
}

func anyOf(needed []byte, outs []ops.Result) bool {
	for _, o := range outs {
		if needed[o.ID] != 0 {
			return true
		}
	}
	return false
}

// end notes that nothing after this step needs a slot, unless something does.
func (s *Trace) end(needed []byte, id ops.ID) {
	if needed[id] == 0 {
		needed[id] = 1
		s.ends = append(s.ends, id)
	}
}

// Drop lets go of what the trace holds.
func (s *Trace) Drop() {
	if s == nil {
		return
	}
	for k := range s.slots {
		if m := s.slots[k].mem; m != nil {
			m.Drop()
			s.slots[k].mem = nil
		}
	}
}

// Slots is how many slots a run of the trace has, with the one that stands for none.
func (s *Trace) Slots() int { return len(s.slots) }

// Take gives away what a parameter of the trace is: a literal, or memory with the hold of the
// trace.
func (s *Trace) Take(slot ops.ID) (v store.Value, lit *ops.Literal) {
	p := &s.slots[slot]
	if lit = p.lit; p.mem != nil {
		v = store.Value{Type: p.typ, Mem: p.mem}
		p.mem = nil
	}
	return v, lit
}

// Named lists the values that the trace makes and the session can still name: the ids, and
// their slots.
func (s *Trace) Named() iter.Seq2[ops.ID, ops.ID] {
	return func(yield func(ops.ID, ops.ID) bool) {
		for k := range s.slots {
			if id := s.slots[k].id; id != 0 && !yield(id, ops.ID(k)) {
				return
			}
		}
	}
}

// Forget notes that the session does not name a value any more, although the trace is being
// carried out. It returns the slot of the value, 0 where the trace does not make it.
func (s *Trace) Forget(id ops.ID) ops.ID {
	k := s.lookup(id)
	if k == 0 || !s.slots[k].pending() {
		return 0
	}
	delete(s.named, id)
	s.slots[k].id = 0
	return ops.ID(k)
}
