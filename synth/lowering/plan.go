package lowering

import (
	"slices"
	"strings"

	"nxvk/ops"
	"nxvk/synth/kernel"
)

// Kernel is compiled code. Kernels with one Name are the same code.
type Kernel struct {
	Name         string // hash of the code: the key of caches in memory and on disk
	Code         []uint32
	Buffers      int
	PushBytes    int
	Addresses    bool     // the push constants begin with the addresses of the buffers
	Spec         []uint32 // specialisation constants of hand-written code
	Local        [3]uint32
	SubgroupSize int            // invocations of a subgroup, if the code depends on them
	IR           *kernel.Kernel // its source; nil for hand-written and archived code

	Host *HostCode // see OnHost; nil for archived code

	// Starter stands for a kernel that a driver takes long to compile, until that is done: with the same arguments it has the
	// same effect, bit for bit. It is nil where there is none.
	Starter *Kernel
}

// OnMatrices reports whether it is hand-written code for matrix hardware.
func (k *Kernel) OnMatrices() bool { return k.Spec != nil && strings.Contains(k.Name, "matrix") }

// RefKind says where a buffer of a step comes from.
type RefKind uint8

// The places of buffers.
const (
	Operand   RefKind = iota // of the instruction
	Result                   // of the instruction
	Temp                     // of the plan
	CheckWord                // of a check of the plan
)

// Ref names a buffer of a plan.
type Ref struct {
	Kind  RefKind
	Index int
}

// Access says whether a kernel reads or writes a buffer.
type Access uint8

// The accesses.
const (
	Read Access = 1 << iota
	Write
)

// Arg is one buffer of a step. Its memory begins at a multiple of 16 bytes and
// ends at a whole word.
type Arg struct {
	Ref    Ref
	Access Access
	Offset int // of a part of a result
	Bytes  int // of the part; 0 stands for the whole
}

// Lit is a literal operand that is a push constant: its value, converted to As,
// goes at Offset of Push.
type Lit struct {
	Operand, Offset int
	As              ops.DType
}

// Step is one dispatch.
type Step struct {
	Kernel *Kernel
	Args   []Arg
	Push   []byte // room for the addresses, parameters, room for the literals
	Lits   []Lit
	Grid   [3]uint32
	Bytes  int64 // memory traffic
	Flops  int64 // operations of the table that are applied
	// Barrier says that the step begins when the device has done what comes before, although it may
	// not depend on that.
	Barrier bool

	// Does is the instruction that the step carries out, from its first buffer to its second, where
	// it moves or converts a whole operand. It is nil for any other step.
	Does *Typed
	// Routine carries out the step on the host, where the kernel alone does not tell what the step does. It is nil
	// where there is none.
	Routine *Routine
	// Covered says that on the host the step before includes this one, by what it Does or by a Routine that rounds no
	// multiply-add.
	Covered bool
}

// Typed is an instruction with the types of its operands.
type Typed struct {
	*ops.Instr
	Types []ops.Type
}

// Plan is the code that executes an instruction. Its steps run one after the other.
type Plan struct {
	Steps []Step
	Temps []int64 // bytes
	Alias int     // unless it is negative, the result is this operand, unchanged

	// InPlace tells how the steps update operands where they are; nothing where they cannot. The copies that it names
	// are the first steps, in the order of the list.
	InPlace []InPlace

	// Checks are properties of operands that the steps check while they use them. Nobody
	// waits for them: others may use the results before the outcome is known.
	Checks []Check
}

// InPlace says that some of the first steps of a plan do nothing but copy an operand into a result,
// and that no other step reads the operand. Where nobody else needs the operand, the result may
// take its memory, and these steps are left out.
type InPlace struct {
	Operand, Result int
	Copies          int // steps
}

// Updates marks a plan whose first steps copy operand i into result 0. in is the instruction of
// the plan, typ the type of the operand.
func (p *Plan) Updates(in *ops.Instr, i int, typ ops.Type, copies int) *Plan {
	if in.Ins[i].Lit == nil && typ.Equal(in.Outs[0].Type) && copies < len(p.Steps) {
		p.InPlace = []InPlace{{Operand: i, Copies: copies}}
	}
	return p
}

// CopyOf gives the update in place that a step copies for, or -1.
func (p *Plan) CopyOf(step int) int {
	for i, u := range p.InPlace {
		if step < u.Copies {
			return i
		}
		step -= u.Copies
	}
	return -1
}

// LeftOut reports whether a step is a copy of one of the updates in taken, a bit each.
func (p *Plan) LeftOut(step int, taken uint64) bool {
	u := p.CopyOf(step)
	return u >= 0 && taken>>u&1 != 0
}

// Without is the plan where results have taken the memory of the operands that some updates in place concern.
func (p *Plan) Without(taken func(update int) bool) *Plan {
	q := *p
	q.Steps, q.InPlace = nil, nil
	for i, s := range p.Steps {
		if u := p.CopyOf(i); u < 0 || !taken(u) {
			q.Steps = append(q.Steps, s)
		}
	}
	return &q
}

// WithoutCopies is Without for all of them.
func (p *Plan) WithoutCopies() *Plan { return p.Without(func(int) bool { return true }) }

// Check says that the steps check the indices in an operand against the size of their
// dimension. Its word, Ref{CheckWord, i}, is 0 before the first step. An index out of
// bounds sets it to another number, and the steps use the nearest valid index in its
// place.
//
// A singular check concerns a system of equations in place of indices. The steps set its word
// to 1 more than the number of the singular matrix in the batch (solve), or than the row
// without a pivot (triangular_solve).
type Check struct {
	Operand  int // of the plan
	Instr    int // the instruction of the fusion whose operand 1 has the indices, or that is the system
	Singular bool
}

// Func plans the instructions of one operation or kind.
type Func func(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error)

// AliasOf is the plan whose result is operand i.
func AliasOf(i int) *Plan { return &Plan{Alias: i} }

// Renumber is the plan with operand i at places[i].
func (p *Plan) Renumber(places []int) *Plan {
	q := &Plan{Temps: p.Temps, Alias: p.Alias, Checks: slices.Clone(p.Checks)}
	for i := range q.Checks {
		q.Checks[i].Operand = places[q.Checks[i].Operand]
	}
	if q.Alias >= 0 {
		q.Alias = places[q.Alias]
	}
	for _, u := range p.InPlace {
		u.Operand = places[u.Operand]
		q.InPlace = append(q.InPlace, u)
	}
	for _, s := range p.Steps {
		s.Args, s.Lits = slices.Clone(s.Args), slices.Clone(s.Lits)
		for i := range s.Args {
			if r := &s.Args[i].Ref; r.Kind == Operand {
				r.Index = places[r.Index]
			}
		}
		for i := range s.Lits {
			s.Lits[i].Operand = places[s.Lits[i].Operand]
		}
		q.Steps = append(q.Steps, s)
	}
	return q
}

// Include appends the steps of another plan, whose operands and results are at ins and
// outs. Its literals stay those of the instruction.
func (p *Plan) Include(q *Plan, ins, outs []Ref) {
	first := len(p.Temps)
	p.Temps = append(p.Temps, q.Temps...)
	for _, s := range q.Steps {
		args := make([]Arg, len(s.Args))
		for i, a := range s.Args {
			switch a.Ref.Kind {
			case Operand:
				a.Ref = ins[a.Ref.Index]
			case Result:
				a.Ref = outs[a.Ref.Index]
			case Temp:
				a.Ref.Index += first
			}
			args[i] = a
		}
		lits := make([]Lit, len(s.Lits))
		for i, l := range s.Lits {
			l.Operand = ins[l.Operand].Index
			lits[i] = l
		}
		s.Args, s.Lits = args, lits
		p.Steps = append(p.Steps, s)
	}
}
