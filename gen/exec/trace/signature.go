package trace

import (
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/lru"
	"nxvk/gen/exec/placement"
	"nxvk/ops"
)

// maxSignatures bounds the signatures of instructions that are kept.
const maxSignatures = 1 << 14

// Signature is all that decides when an instruction has its turn, but for where the operands
// are: its op, attributes and types.
type Signature struct {
	lru.Use
	ID     uint32 // above 0
	Lazy   bool   // instructions may be pending
	Starts bool   // operands that are on the host become literals first
	Making bool   // the plan is being made, and the rest not known
	Alias  bool   // the result is an operand's memory
	Plan   *kernels.Plan
}

// Signatures are those that have been seen last. They are for one goroutine.
type Signatures struct {
	Max  int // how many are kept
	plan func(*placement.Work) (*kernels.Plan, error)
	kept lru.Cache[*Signature]
	last uint32
	key  []byte // scratch
}

// NewSignatures returns no signatures. plan returns how the device carries out work, or the
// error kernels.ErrBeingMade.
func NewSignatures(plan func(*placement.Work) (*kernels.Plan, error)) *Signatures {
	return &Signatures{Max: maxSignatures, plan: plan}
}

// Of returns the signature of an instruction, which is found out once.
func (s *Signatures) Of(w *placement.Work) *Signature {
	s.key = kernels.AppendInstr(s.key[:0], w.Instr())
	if f, ok := s.kept.Find(s.key); ok {
		s.kept.Touch(f)
		return f
	}
	s.kept.Tick()
	s.kept.Evict(s.Max, nil, nil)
	key := string(s.key)
	f := &Signature{}
	if w.In.Check(w.Types) == nil {
		f.Starts = w.In.Op == ops.Slice || w.In.Op == ops.PutSlice
		f.Alias = w.SameBytes()
		p, err := s.plan(w)
		if err == kernels.ErrBeingMade {
			return &Signature{Making: true, Plan: p}
		}
		f.Lazy = f.Alias || err == nil
		f.Alias = f.Alias || err == nil && p.Alias >= 0
		f.Plan = p
	}
	s.last++
	f.ID = s.last
	s.kept.Add(key, f)
	return f
}

// Len is how many signatures are kept.
func (s *Signatures) Len() int { return s.kept.Len() }

// Clear forgets all signatures.
func (s *Signatures) Clear() { s.kept.Clear() }
