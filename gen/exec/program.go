package exec

import (
	"fmt"
	"slices"

	"nxvk/gen/exec/lru"
	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth/graph"
)

// Program is a region that a session runs by its key. Its ids are slots, dense
// from 1.
type Program struct {
	lru.Use
	weight int   // instructions, as it came
	err    error // it is malformed; every run says so
	body   *block
	slots  int
	Calls  bool        // it calls back
	Region *ops.Region // with its loops unrolled where their rounds are known
	Above  any         // what a package above keeps of it
	open   bool        // it loops or calls back: nobody knows how long it takes
	Values []ops.Type
	waits  map[ops.ID]queue.Counts // of runs, by the first result of the instruction

	specializations map[string]*specialization // by which parameters are literals
}

// Params returns the parameters of a program.
func (p *Program) Params() []ops.Result { return p.body.params }

// block is a region, ready to run.
type block struct {
	params   []ops.Result
	steps    []step
	values   []ops.Operand
	captures []ops.ID // slots of outer blocks that it needs
}

// step is an instruction of a block.
type step struct {
	in      wire.Instr
	regions []*block
	fusion  *fusion  // several instructions; in has their operands and results
	last    []ops.ID // slots that nothing needs after it
}

// longDefinition is from how many instructions on a program takes long to make: 4,000 take
// some 50 ms. Loops are written out, and so count with what becomes of them.
const longDefinition = 100

// long reports whether it may take milliseconds to make a program of a region.
func long(r *ops.Region) bool { return weigh(r) >= longDefinition || loops(r) }

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

// newProgram makes a program of a region, or one whose runs fail, where that is broken or breaks
// a rule. eval computes instructions of literals, or is nil.
func newProgram(r *ops.Region, broken error, eval graph.Eval) *Program {
	p := &Program{weight: weigh(r), err: broken}
	if broken != nil {
		return p
	}
	types, err := r.CheckProgram()
	if err != nil {
		p.err = &wire.Fault{Kind: wire.BadArgument, Err: err}
		return p
	}
	p.Region, p.Values = graph.Sink(graph.Unroll(r, eval)), types
	b := builder{slots: make(map[ops.ID]ops.ID)}
	p.body = b.block(p.Region, false)
	p.slots, p.open, p.Calls = len(b.slots), b.open, b.calls
	return p
}

// accepts compares operands and results of a run with those of the program.
func (p *Program) accepts(types []ops.Type, outs []ops.Result) error {
	if len(types) != len(p.body.params) {
		return fmt.Errorf("the program takes %d operands, got %d", len(p.body.params), len(types))
	}
	for i, t := range types {
		if want := p.body.params[i].Type; !t.Equal(want) {
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
func (b *builder) block(r *ops.Region, keep bool) *block {
	out := &block{params: b.results(r.Params), steps: make([]step, len(r.Body))}
	for i := range r.Body {
		in := r.Body[i]
		in.Ins, in.Outs = b.operands(in.Ins), b.results(in.Outs)
		s := &out.steps[i]
		s.in = wire.Instr{Instr: in, Name: in.Op.String()}
		b.calls = b.calls || in.Op == ops.Hook || in.Op == ops.Callback
		b.open = b.open || isControl(in.Op) && in.Op != ops.Branch
		if !in.Op.Info().Closed {
			for k, inner := range in.Regions {
				s.regions = append(s.regions, b.block(inner, in.Op == ops.While && k == 0))
			}
		}
	}
	out.values = b.operands(r.Values)
	out.lifetimes(keep)
	return out
}

// lifetimes notes after which step each slot of the block is needed no more,
// and which slots of outer blocks it needs. What the regions of a step need, the
// step needs.
func (b *block) lifetimes(keep bool) {
	last := make(map[ops.ID]int) // of the block's own slots
	outer := make(map[ops.ID]bool)
	for _, p := range b.params {
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
	for i := range b.steps {
		s := &b.steps[i]
		for _, id := range s.needs() {
			need(id, i)
		}
		for _, o := range s.in.Outs {
			last[o.ID] = i
		}
	}
	for _, p := range b.params {
		if keep {
			last[p.ID] = len(b.steps)
		}
	}
	for _, o := range b.values {
		if o.Lit == nil {
			need(o.ID, len(b.steps))
		}
	}
	for i := range b.steps {
		s := &b.steps[i]
		for _, id := range s.candidates() {
			if at, own := last[id]; own && at == i {
				s.last = append(s.last, id)
				delete(last, id)
			}
		}
	}
}

// needs lists the slots that a step reads.
func (s *step) needs() (ids []ops.ID) {
	for _, o := range s.in.Ins {
		if o.Lit == nil {
			ids = append(ids, o.ID)
		}
	}
	for _, r := range s.regions {
		ids = append(ids, r.captures...)
	}
	return ids
}

// candidates lists the slots that may be needed no more after a step.
func (s *step) candidates() []ops.ID {
	ids := s.needs()
	for _, o := range s.in.Outs {
		ids = append(ids, o.ID)
	}
	return ids
}

// isControl reports whether an operation is control flow, or a message to the client: it needs
// a program around it.
func isControl(op ops.Op) bool {
	return op == ops.While || op == ops.Branch || op == ops.Hook || op == ops.Callback
}
