package program

import (
	"fmt"
	"slices"
	"sync/atomic"

	"nxvk/gen/exec/lru"
	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/graph"
	"nxvk/synth/spmd"
)

// Program is a region that a session runs by its key. Its ids are slots, dense
// from 1.
type Program struct {
	lru.Use
	weight int   // instructions, as it came
	Err    error // it is malformed; every run says so
	Body   *Block
	Slots  int
	Calls  bool         // it calls back
	Region *ops.Region  // with its loops unrolled where their rounds are known
	Above  any          // what a package above keeps of it
	Share  *spmd.Result // how it came of a program on a mesh; nil where it is whole
	Open   bool         // it loops or calls back: nobody knows how long it takes
	Values []ops.Type
	Waits  map[ops.ID]queue.Counts // of runs, by the first result of the instruction

	specializations map[string]*Specialization // by which parameters are literals
	signature       []byte                     // see signed
	gone            atomic.Bool                // nobody will run it again
}

// Gone reports whether the session has forgotten the program, or has ended: what is being
// compiled of it is not needed. It may be called from any goroutine.
func (p *Program) Gone() bool { return p.gone.Load() }

// Long reports whether work on all instructions of the program may take milliseconds.
func (p *Program) Long() bool { return p.Slots >= longDefinition }

// Params returns the parameters of a program.
func (p *Program) Params() []ops.Result { return p.Body.Params }

// Block is a region, ready to run.
type Block struct {
	Params   []ops.Result
	Steps    []Step
	Values   []ops.Operand
	captures []ops.ID // slots of outer blocks that it needs
}

// Step is an instruction of a block.
type Step struct {
	In      wire.Instr
	Regions []*Block
	Fusion  *Fusion  // several instructions; in has their operands and results
	Last    []ops.ID // slots that nothing needs after it

	unwanted []bool // of the results of a step with regions: nothing needs them
}

// Wanted reports whether anything needs result i of a step with regions.
func (s *Step) Wanted(i int) bool { return !s.unwanted[i] }

// Pairs maps the steps of a block that have regions, and those of their regions, to the same ones of its partition, which
// has the same slots.
func (b *Block) Pairs(partition *Block) map[*Step]*Step {
	pairs := make(map[*Step]*Step)
	b.pair(partition, pairs)
	return pairs
}

func (b *Block) pair(partition *Block, pairs map[*Step]*Step) {
	at := 0
	for i := range b.Steps {
		s := &b.Steps[i]
		if len(s.Regions) == 0 {
			continue
		}
		for len(partition.Steps[at].Regions) == 0 {
			at++
		}
		t := &partition.Steps[at]
		at++
		pairs[s] = t
		for k, r := range s.Regions {
			r.pair(t.Regions[k], pairs)
		}
	}
}

// longDefinition is from how many instructions on a program takes long to make: 4,000 take
// some 50 ms. Loops are written out, and so count with what becomes of them.
const longDefinition = 100

// TakesLong reports whether it may take milliseconds to make a program of a region.
func TakesLong(r *ops.Region) bool {
	return len(r.Body) >= longDefinition || weigh(r) >= longDefinition || loops(r) || attends(r)
}

// attends reports whether a region may have attention, whose kernel is made when it is found.
func attends(r *ops.Region) bool {
	exp := slices.IndexFunc(r.Body, func(in ops.Instr) bool { return in.Op == ops.Exp })
	return exp >= 0 && slices.ContainsFunc(r.Body[exp:], func(in ops.Instr) bool { return in.Op == ops.Dot })
}

// loops reports whether a region has loops, or is otherwise longer than it looks.
func loops(r *ops.Region) bool {
	return slices.ContainsFunc(r.Body, func(in ops.Instr) bool {
		return in.Op == ops.While || slices.ContainsFunc(in.Regions, loops)
	})
}

// weigh counts the instructions of a region, and of those inside.
func weigh(r *ops.Region) (n int) {
	if r == nil {
		return 0
	}
	n = len(r.Body)
	for i := range r.Body {
		for _, inner := range r.Body[i].Regions {
			n += weigh(inner)
		}
	}
	return n
}

// New makes a program of a region, or one whose runs fail, where that is broken or breaks
// a rule. eval computes instructions of literals, or is nil. t is the device that runs it, or nil.
func New(r *ops.Region, broken error, eval graph.Eval, t *synth.Target) *Program {
	p := &Program{weight: weigh(r), Err: broken}
	if broken != nil {
		return p
	}
	types, err := r.CheckProgram()
	if err != nil {
		p.Err = &wire.Fault{Kind: wire.BadArgument, Err: err}
		return p
	}
	p.Region, p.Values = graph.Sink(graph.Unroll(r, eval)), types
	b := builder{slots: make(map[ops.ID]ops.ID)}
	stated := synth.StateAttention(p.Region, eval, t)
	p.Body = b.block(synth.FindAttention(synth.Rewrite(synth.FindGradients(stated, eval, t), t), eval, t), false)
	p.Slots, p.Open, p.Calls = len(b.slots), b.open, b.calls
	p.signed()
	return p
}

// Accepts compares operands and results of a run with those of the program.
func (p *Program) Accepts(types []ops.Type, outs []ops.Result) error {
	if len(types) != len(p.Body.Params) {
		return fmt.Errorf("the program takes %d operands, got %d", len(p.Body.Params), len(types))
	}
	for i, t := range types {
		if want := p.Body.Params[i].Type; !t.Equal(want) {
			return fmt.Errorf("operand %d is %v, the program takes %v", i, t, want)
		}
	}
	if len(outs) != len(p.Values) {
		return fmt.Errorf("the program gives %d values, %d results are named", len(p.Values), len(outs))
	}
	for i, o := range outs {
		if !o.Type.Equal(p.Values[i]) {
			return fmt.Errorf("result %d is stated as %v, the program gives %v", i, o.Type, p.Values[i])
		}
	}
	return nil
}

// builder gives the ids of a program their slots.
type builder struct {
	slots map[ops.ID]ops.ID
	open  bool
	calls bool
}

func (b *builder) slot(id ops.ID) ops.ID {
	s, ok := b.slots[id]
	if !ok {
		s = ops.ID(len(b.slots) + 1)
		b.slots[id] = s
	}
	return s
}

func (b *builder) results(list []ops.Result) []ops.Result {
	out := make([]ops.Result, len(list))
	for i, r := range list {
		out[i] = ops.Result{ID: b.slot(r.ID), Type: r.Type}
	}
	return out
}

func (b *builder) operands(list []ops.Operand) []ops.Operand {
	out := make([]ops.Operand, len(list))
	for i, o := range list {
		if out[i] = o; o.Lit == nil {
			out[i].ID = b.slot(o.ID)
		}
	}
	return out
}

// block readies a region. With keep its parameters live until it ends: they are
// the state of a loop whose condition it is.
func (b *builder) block(r *ops.Region, keep bool) *Block {
	out := &Block{Params: b.results(r.Params), Steps: make([]Step, len(r.Body))}
	for i := range r.Body {
		in := r.Body[i]
		in.Ins, in.Outs = b.operands(in.Ins), b.results(in.Outs)
		s := &out.Steps[i]
		s.In = wire.Instr{Instr: in, Name: in.Op.String()}
		b.calls = b.calls || in.Op == ops.Hook || in.Op == ops.Callback
		b.open = b.open || IsControl(in.Op) && in.Op != ops.Branch && in.Op != ops.OptimizationBarrier
		if !in.Op.Info().Closed {
			for k, inner := range in.Regions {
				s.Regions = append(s.Regions, b.block(inner, in.Op == ops.While && k == 0))
			}
		}
	}
	out.Values = b.operands(r.Values)
	out.lifetimes(keep)
	return out
}

// lifetimes notes after which step each slot of the block is needed no more,
// and which slots of outer blocks it needs. What the regions of a step need, the
// step needs.
func (b *Block) lifetimes(keep bool) {
	last := make(map[ops.ID]int) // of the block's own slots
	outer := make(map[ops.ID]bool)
	for _, p := range b.Params {
		last[p.ID] = 0
	}
	need := func(id ops.ID, i int) {
		if _, own := last[id]; own {
			last[id] = i
		} else if !outer[id] {
			outer[id] = true
			b.captures = append(b.captures, id)
		}
	}
	for i := range b.Steps {
		s := &b.Steps[i]
		for _, id := range s.needs() {
			need(id, i)
		}
		for _, o := range s.In.Outs {
			last[o.ID] = i
		}
	}
	for _, p := range b.Params {
		if keep {
			last[p.ID] = len(b.Steps)
		}
	}
	for _, o := range b.Values {
		if o.Lit == nil {
			need(o.ID, len(b.Steps))
		}
	}
	for i := range b.Steps {
		s := &b.Steps[i]
		for _, id := range s.candidates() {
			if at, own := last[id]; own && at == i {
				s.Last = append(s.Last, id)
				delete(last, id)
			}
		}
		s.unwanted = nil
		if len(s.Regions) > 0 {
			s.unwanted = s.ending()
		}
	}
}

// ending reports which results of a step end with it.
func (s *Step) ending() []bool {
	gone := make(map[ops.ID]bool, len(s.Last))
	for _, id := range s.Last {
		gone[id] = true
	}
	list := make([]bool, len(s.In.Outs))
	for i, o := range s.In.Outs {
		list[i] = gone[o.ID]
	}
	return list
}

// needs lists the slots that a step reads.
func (s *Step) needs() (ids []ops.ID) {
	for _, o := range s.In.Ins {
		if o.Lit == nil {
			ids = append(ids, o.ID)
		}
	}
	for _, r := range s.Regions {
		ids = append(ids, r.captures...)
	}
	return ids
}

// Captures reports whether a region of the step reads a slot of the blocks around it.
func (s *Step) Captures(id ops.ID) bool {
	return slices.ContainsFunc(s.Regions, func(b *Block) bool { return slices.Contains(b.captures, id) })
}

// candidates lists the slots that may be needed no more after a step.
func (s *Step) candidates() []ops.ID {
	ids := s.needs()
	for _, o := range s.In.Outs {
		ids = append(ids, o.ID)
	}
	return ids
}

// IsControl reports whether an operation is control flow, a message to the client, a collective, or a barrier: no
// other instruction moves past it.
func IsControl(op ops.Op) bool {
	return op == ops.OptimizationBarrier || op == ops.While || op == ops.Branch || op == ops.Hook || op == ops.Callback || op.IsCollective()
}

// OnlyPrograms reports whether an operation belongs in programs, and not in the stream: control, and what is a region
// of others.
func OnlyPrograms(op ops.Op) bool { return IsControl(op) || op.Info().Kind == ops.Composite }
