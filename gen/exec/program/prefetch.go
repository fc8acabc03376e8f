package program

import (
	"slices"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/queue"
	"nxvk/ops"
)

// A program that nobody has seen goes one instruction at a time, and waits for
// each kernel that is new. So these are asked for before it begins: drivers
// compile many at a time.

// maxPrefetch bounds the instructions that are looked at before a run begins.
const maxPrefetch = 1 << 15

// prefetchPiece is how many instructions are asked for at a time.
const prefetchPiece = 32

// prefetch asks for the kernels that the single instructions of a program will need, with
// literals by their slots. Those of a long program are listed apart from the goroutine of the
// owner, and asked for in slices.
func (z *Specializer) prefetch(p *Program, lits []*ops.Literal) {
	params := make(map[ops.ID]*ops.Literal)
	for _, param := range p.Body.Params {
		if lit := lits[param.ID]; lit != nil {
			params[param.ID] = lit
		}
	}
	limit := z.HostLimit
	if !p.Long() {
		z.cfg.Kernels.PrefetchAll(prefetched(p.Body, params, limit))
		return
	}
	var pieces [][]kernels.Instr
	z.cfg.Aside(kernels.WorkPlan, func(*sched.Worker) error {
		pieces = slices.Collect(slices.Chunk(prefetched(p.Body, params, limit), prefetchPiece))
		return nil
	}, func(error) {
		queue.InSlices(z.cfg.Post, len(pieces), func(i int) bool {
			z.cfg.Kernels.PrefetchAll(pieces[i])
			return !p.Gone()
		}, func(bool) {})
	})
}

// prefetched lists the single instructions of a block whose kernels it will need, where values
// are on the device. lits are parameters that are literals; what touches limit elements or
// fewer is the host's.
func prefetched(b *Block, lits map[ops.ID]*ops.Literal, limit int) []kernels.Instr {
	a := prefetcher{limit: limit, lits: lits, types: make(map[ops.ID]ops.Type), left: maxPrefetch}
	a.block(b)
	return a.list
}

// prefetcher goes through the blocks of a program.
type prefetcher struct {
	limit int                     // elements up to which work stays on the host
	lits  map[ops.ID]*ops.Literal // by slot
	types map[ops.ID]ops.Type
	left  int
	list  []kernels.Instr
}

func (a *prefetcher) block(b *Block) {
	for _, p := range b.Params {
		a.types[p.ID] = p.Type
	}
	for i := range b.Steps {
		if a.left--; a.left < 0 {
			return
		}
		s := &b.Steps[i]
		a.step(&s.In.Instr)
		for _, o := range s.In.Outs {
			a.types[o.ID] = o.Type
		}
		for _, r := range s.Regions {
			a.block(r)
		}
	}
}

// step asks for the kernels of an instruction whose types are all that its plan depends on. An
// instruction that is so small that the host may compute it asks for its kernels when it runs.
func (a *prefetcher) step(in *ops.Instr) {
	switch {
	case in.Op.Info().Kind == ops.Control || IsControl(in.Op):
		return
	case (in.Op == ops.Slice || in.Op == ops.PutSlice) && slices.ContainsFunc(in.Ins[1:], func(o ops.Operand) bool { return o.Lit == nil }):
		return // starts may be on the host or on the device
	}
	types, ins, copied := make([]ops.Type, len(in.Ins)), in.Ins, false
	replace := func(i int, lit *ops.Literal) {
		if !copied {
			ins, copied = slices.Clone(ins), true
		}
		ins[i] = ops.Operand{Lit: lit}
	}
	touched := 0
	for i, o := range in.Ins {
		lit := o.Lit
		if lit == nil && a.lits[o.ID] != nil {
			lit = a.lits[o.ID]
			replace(i, lit)
		}
		if lit == nil {
			types[i] = a.types[o.ID]
		} else if types[i] = lit.Type; len(lit.Type.Shape) > 0 {
			replace(i, nil) // it becomes memory
		}
		touched = max(touched, types[i].Size())
	}
	for _, o := range in.Outs {
		touched = max(touched, o.Type.Size())
	}
	if touched > a.limit {
		with := *in
		with.Ins = ins
		a.list = append(a.list, kernels.Instr{Instr: &with, Types: types})
	}
}
