package exec

import (
	"nxvk/gen/exec/kernels"
	"nxvk/ops"
)

// A program that nobody has seen goes one instruction at a time, and waits for
// each kernel that is new. So these are asked for before it begins: drivers
// compile many at a time.

// maxAhead bounds the instructions that are looked at before a run begins.
const maxAhead = 1 << 12

// askAhead has the kernels compiled that the single instructions of a block will
// need, where values are on the device. lits are parameters that are literals.
func (e *Executor) askAhead(b *block, lits []*ops.Literal) {
	a := asker{limit: e.limit, lits: lits, types: make(map[ops.ID]ops.Type), left: maxAhead}
	a.block(b)
	e.kernels.PrefetchAll(a.list)
}

// asker goes through the blocks of a program.
type asker struct {
	limit int // elements up to which work stays on the host
	lits  []*ops.Literal
	types map[ops.ID]ops.Type
	left  int
	list  []kernels.Instr
}

func (a *asker) block(b *block) {
	for _, p := range b.params {
		a.types[p.ID] = p.Type
	}
	for i := range b.steps {
		if a.left--; a.left < 0 {
			return
		}
		s := &b.steps[i]
		a.step(&s.in.Instr)
		for _, o := range s.in.Outs {
			a.types[o.ID] = o.Type
		}
		for _, r := range s.regions {
			a.block(r)
		}
	}
}

// step asks for the kernels of an instruction of which the types say all. What is
// so small that the host does it where it can is left until it is met.
func (a *asker) step(in *ops.Instr) {
	switch in.Op.Info().Kind {
	case ops.Pointwise, ops.Reduce, ops.Contract:
	default:
		return
	}
	w := &work{in: in, types: make([]ops.Type, len(in.Ins))}
	touched := 0
	for i, o := range in.Ins {
		lit := o.Lit
		if lit == nil && a.lits[o.ID] != nil {
			lit = a.lits[o.ID]
			w.replace(i, lit)
		}
		if lit == nil {
			w.types[i] = a.types[o.ID]
		} else if w.types[i] = lit.Type; len(lit.Type.Shape) > 0 {
			w.replace(i, nil) // it becomes memory
			w.types[i] = lit.Type
		}
		touched = max(touched, w.types[i].Size())
	}
	for _, o := range in.Outs {
		touched = max(touched, o.Type.Size())
	}
	if touched > a.limit {
		a.list = append(a.list, w.instr())
	}
}
