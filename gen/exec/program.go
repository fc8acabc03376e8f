package exec

import (
	"fmt"
	"slices"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/lru"
	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth/graph"
)

// A session keeps so many programs, and so many instructions of all of them; above
// that, those that have run least recently go. A client that forgets what it does
// not need (instruction forget) before either bound is reached never meets it.
const (
	maxPrograms     = 1 << 14
	maxProgramSteps = 1 << 20
)

// room bounds what is kept of programs, their instructions, and instruction signatures.
type room struct{ signatures, programs, steps int }

// Program is a region that a session runs by its key. Its ids are slots, dense
// from 1.
type Program struct {
	lru.Use
	weight          int   // instructions, as it came
	err             error // it is malformed; every run says so
	ready           bool  // it has been made
	body            *block
	slots           int
	Calls           bool        // it calls back
	Region          *ops.Region // as it came
	Above           any         // what a package above keeps of it
	open            bool        // it loops or calls back: nobody knows how long it takes
	Values          []ops.Type
	waits           map[ops.ID]queue.Counts    // of runs, by the first result of the instruction
	specializations map[string]*specialization // by which parameters are literals
}

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

// programs are those that a session has defined.
type programs struct {
	byKey  map[string]*Program
	weight int // instructions of all
}

// longDefinition is from how many instructions on a program is made ready apart from the
// goroutine of the Executor: 4,000 take some 50 ms. Loops are written out, and so count
// with what becomes of them.
const longDefinition = 100

// define keeps the definition of a program. A key that is defined stays as it
// is.
func (e *Executor) define(l *Queue, in *wire.Instr) (wait queue.Wait) {
	e.clock.Tick()
	m := &l.programs
	if p := m.byKey[in.Key]; p != nil {
		p.Touch(&e.clock)
		return 0
	}
	weight := weigh(in.Program)
	if l.defining == nil {
		made := &Program{}
		l.defining = made
		eval, region, broken := e.evaluator(), in.Program, in.Broken
		if broken != nil || weight < longDefinition && !loops(region) {
			*made = *newProgram(region, broken, eval)
		} else {
			e.Aside(l, workPlan, func(*sched.Worker) error {
				*made = *newProgram(region, broken, eval)
				return nil
			}, func(err error) {
				if err != nil { // a panic, or the session has ended
					made.err = &wire.Fault{Kind: wire.Internal, Err: err}
				}
				made.ready = true
				e.Resume(l)
			})
			return queue.ForPlan
		}
		made.ready = true
	}
	p := l.defining
	if !p.ready {
		return queue.ForPlan
	}
	l.defining = nil
	if m.byKey == nil {
		m.byKey = make(map[string]*Program)
	}
	p.Touch(&e.clock)
	p.weight = weight
	e.roomForProgram(m, p.weight)
	m.byKey[in.Key] = p
	m.weight += p.weight
	return 0
}

// loops reports whether a region has loops, or is otherwise longer than it looks.
func loops(r *ops.Region) bool {
	return slices.ContainsFunc(r.Body, func(in ops.Instr) bool {
		return in.Op == ops.While || slices.ContainsFunc(in.Regions, loops)
	})
}

// roomForProgram makes room for one more program of so many instructions.
func (e *Executor) roomForProgram(m *programs, weight int) {
	gone := func(p *Program) { m.weight -= p.weight }
	lru.Evict(m.byKey, e.room.programs, &e.clock, nil, gone)
	for m.weight+weight > e.room.steps && len(m.byKey) > 0 {
		lru.Evict(m.byKey, 0, &e.clock, nil, gone)
	}
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

// forgetCode lets go of programs that the session has no use for. Runs that
// came before have what they need.
func (l *Queue) forgetCode(keys []string) {
	home := l.home()
	for _, key := range keys {
		if p := home.programs.byKey[key]; p != nil {
			home.programs.weight -= p.weight
			delete(home.programs.byKey, key)
		}
	}
}

// Program finds the program that an instruction or a request names. One that left
// the order of its session took it along.
func (e *Executor) Program(l *Queue, key string) (*Program, error) {
	p := l.programs.byKey[key]
	if l.from != nil && len(l.queue) > 0 {
		p = l.queue[0].prog
	}
	switch {
	case p == nil:
		return nil, &wire.Fault{Kind: wire.UnknownProgram, Err: fmt.Errorf(
			"the session has no program under the key %x: it was never defined, or has been forgotten; define it again", key)}
	case p.err != nil:
		return nil, p.err
	}
	p.Touch(&e.clock)
	return p, nil
}

func newProgram(r *ops.Region, broken error, eval graph.Eval) *Program {
	if broken != nil {
		return &Program{err: broken}
	}
	types, err := r.CheckProgram()
	if err != nil {
		return &Program{err: &wire.Fault{Kind: wire.BadArgument, Err: err}}
	}
	r = graph.Sink(graph.Unroll(r, eval))
	b := builder{slots: make(map[ops.ID]ops.ID)}
	body := b.block(r, false)
	return &Program{body: body, slots: len(b.slots), open: b.open, Calls: b.calls, Values: types, Region: r}
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
		b.open = b.open || programOnly(in.Op) && in.Op != ops.Branch
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
