package exec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/graph"
)

// A program runs in two tiers. The first time, its instructions are carried out
// one by one, by kernels that other programs may have needed before. When it is
// seen again, its straight parts are cut into units (package synth), each a few
// kernels, which are compiled apart from the goroutine of the Executor; until a
// unit is ready its instructions go on one by one. Both give the same bits.

// tier is a program with the units of one set of literal parameters: kernels
// take those as push constants.
type tier struct {
	seen int    // how often it has been asked for
	body *block // nil until the units are known

	// See known.go.
	asked   bool     // its units have been asked for
	mark    string   // its name in the archive
	known   bool     // an earlier life has compiled it
	failed  bool     // it cannot be cut
	forming bool     // its units or their kernels are being made
	units   []*fused // once they are known
	waiting []*Lane
}

// A program is compiled when it has been seen so often. The driver of a processor
// makes machine code of a kernel when that runs first, which takes as long as
// many runs do; that of a GPU does when it is compiled.
const (
	gpuSeen = 2
	cpuSeen = 12
)

// builders bounds how many units are planned at once.
var builders = make(chan struct{}, runtime.GOMAXPROCS(0))

// tierOf returns the tier of a run, nil where there are none.
func (e *Executor) tierOf(p *program, lits []*ops.Literal) *tier {
	if e.dev == nil || e.cfg.OneByOne {
		return nil
	}
	key := make([]byte, len(p.body.params))
	for i, param := range p.body.params {
		if lits[param.ID] != nil {
			key[i] = 1
		}
	}
	t := p.tiers[string(key)]
	if t == nil {
		if p.tiers == nil {
			p.tiers = make(map[string]*tier)
		}
		t = e.newTier(p, key)
		p.tiers[string(key)] = t
	}
	if t.seen++; !t.asked && (t.known || t.seen >= e.enough) {
		t.asked = true
		e.fuse(p, t, key)
	} else if t.seen == 1 {
		e.askAhead(p.body, lits)
	}
	return t
}

// fuse cuts a program into units, apart from the goroutine of the Executor.
func (e *Executor) fuse(p *program, t *tier, literal []byte) {
	target, eval := e.target, e.evaluator()
	e.building++
	e.form(t)
	go func() {
		c := cutter{target: &target, eval: eval, holes: make(map[*ops.Literal]ops.ID), stand: make(map[ops.ID]*ops.Literal), types: make(map[ops.ID]ops.Type)}
		for i, param := range p.body.params {
			if literal[i] != 0 {
				c.hole(param)
			}
		}
		body, err := c.program(p.body)
		e.cfg.Post(func() {
			e.building--
			if err != nil {
				e.cfg.Log.Error().Err(err).Msg("cut a program into units; it runs one instruction at a time")
				t.failed = true
			} else {
				t.body, t.units = body, c.fused
				for _, u := range c.fused {
					u.plan = e.unitPlan(u)
				}
			}
			e.formed()
		})
	}()
}

// fused is a step that carries out several instructions.
type fused struct {
	unit  synth.Unit
	key   string
	types map[ops.ID]ops.Type
	body  []wire.Instr // the instructions, one by one
	inner []ops.ID     // slots that they make and nobody else needs
	ends  [][]ops.ID   // for each instruction, those that end with it
	plan  *planned
}

// cutter makes units of the blocks of a program.
type cutter struct {
	target *synth.Target
	eval   graph.Eval
	holes  map[*ops.Literal]ops.ID // literals that stand for parameters
	stand  map[ops.ID]*ops.Literal // and the other way round
	types  map[ops.ID]ops.Type     // of all slots so far
	fused  []*fused
}

// hole makes a literal that stands for a parameter whose value is one at run
// time. It has no data, so that it is not taken for another.
func (c *cutter) hole(param ops.Result) {
	lit := &ops.Literal{Type: param.Type}
	c.holes[lit], c.stand[param.ID] = param.ID, lit
}

func (c *cutter) program(b *block) (out *block, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return c.block(b, false), nil
}

// block copies a block, with its straight parts cut into units.
func (c *cutter) block(b *block, keep bool) *block {
	out := &block{params: b.params, values: b.values}
	for _, p := range b.params {
		c.types[p.ID] = p.Type
	}
	for lo := 0; lo < len(b.steps); {
		hi := lo
		for hi < len(b.steps) && !programOnly(b.steps[hi].in.Op) {
			hi++
		}
		out.steps = append(out.steps, c.straight(b, lo, hi)...)
		if lo = hi; lo < len(b.steps) {
			out.steps = append(out.steps, c.structured(&b.steps[lo]))
			lo++
		}
	}
	out.lifetimes(keep)
	return out
}

// structured copies a step that has regions, or calls back.
func (c *cutter) structured(s *step) step {
	t := step{in: s.in}
	for k, r := range s.regions {
		t.regions = append(t.regions, c.block(r, s.in.Op == ops.While && k == 0))
	}
	for _, o := range s.in.Outs {
		c.types[o.ID] = o.Type
	}
	return t
}

// straight cuts the steps from lo to hi of a block into units.
func (c *cutter) straight(b *block, lo, hi int) []step {
	if lo == hi {
		return nil
	}
	g := synth.Simplify(c.graph(b, lo, hi), c.target, c.eval)
	c.open(g)
	var steps []step
	for _, u := range synth.Units(g, c.target) {
		steps = append(steps, c.step(u))
	}
	keepShared(steps, g.Keep)
	return steps
}

// graph is the steps from lo to hi of a block; what they take from elsewhere are
// its parameters.
func (c *cutter) graph(b *block, lo, hi int) *synth.Graph {
	g := &synth.Graph{Keep: b.neededFrom(hi)}
	made := make(map[ops.ID]bool)
	for i := lo; i < hi; i++ {
		in := b.steps[i].in.Instr
		for _, o := range in.Ins {
			if o.Lit == nil && !made[o.ID] {
				made[o.ID] = true
				g.Params = append(g.Params, ops.Result{ID: o.ID, Type: c.types[o.ID]})
			}
		}
		for _, o := range in.Outs {
			made[o.ID], c.types[o.ID] = true, o.Type
		}
		g.Body = append(g.Body, in)
	}
	return g
}

// open puts holes in the place of parameters whose values are literals at run
// time.
func (c *cutter) open(g *synth.Graph) {
	g.Params = slices.DeleteFunc(slices.Clone(g.Params), func(p ops.Result) bool { return c.stand[p.ID] != nil })
	for i := range g.Body {
		in := &g.Body[i]
		in.Ins = slices.Clone(in.Ins)
		for k, o := range in.Ins {
			if lit := c.stand[o.ID]; o.Lit == nil && lit != nil {
				in.Ins[k] = ops.Operand{Lit: lit}
			}
		}
	}
}

// keepShared takes from the inner values of units those that other steps need as
// well: a unit looks through views that another step makes.
func keepShared(steps []step, keep []ops.ID) {
	needed := make(map[ops.ID]bool)
	for _, id := range keep {
		needed[id] = true
	}
	for i := range steps {
		for _, id := range steps[i].needs() {
			needed[id] = true
		}
	}
	for i := range steps {
		if f := steps[i].fused; f != nil {
			f.inner = slices.DeleteFunc(f.inner, func(id ops.ID) bool { return needed[id] })
		}
	}
}

// neededFrom lists the slots that steps from i on, or the values of the block,
// use.
func (b *block) neededFrom(i int) (ids []ops.ID) {
	for ; i < len(b.steps); i++ {
		ids = append(ids, b.steps[i].needs()...)
	}
	for _, o := range b.values {
		if o.Lit == nil {
			ids = append(ids, o.ID)
		}
	}
	return ids
}

// step makes a step of a unit.
func (c *cutter) step(u synth.Unit) step {
	body := make([]wire.Instr, len(u.Body))
	for i, in := range u.Body {
		in.Ins = c.filled(in.Ins)
		body[i] = wire.Instr{Instr: in, Name: in.Op.String()}
	}
	if len(body) == 1 {
		return step{in: body[0]}
	}
	operands := make([]ops.Operand, 0, len(u.Ins)+len(u.Lits))
	for _, id := range u.Ins {
		operands = append(operands, ops.Operand{ID: id})
	}
	for _, lit := range u.Lits {
		operands = append(operands, ops.Operand{Lit: lit})
	}
	f := &fused{unit: u, body: body, types: make(map[ops.ID]ops.Type)}
	for _, id := range u.Ins {
		f.types[id] = c.types[id]
	}
	f.inner = innerOf(&u)
	f.key = unitKey(&u, f.types)
	c.fused = append(c.fused, f)
	return step{fused: f, in: wire.Instr{Name: "program", Instr: ops.Instr{Op: ops.Program, Ins: c.filled(operands), Outs: u.Outs}}}
}

// filled puts parameters in the place of the literals that stand for them.
func (c *cutter) filled(list []ops.Operand) []ops.Operand {
	out := append([]ops.Operand(nil), list...)
	for i, o := range out {
		if id, hole := c.holes[o.Lit]; hole {
			out[i] = ops.Operand{ID: id}
		}
	}
	return out
}

// innerOf lists the values of a unit that end with it.
func innerOf(u *synth.Unit) (ids []ops.ID) {
	outs := make(map[ops.ID]bool)
	for _, o := range u.Outs {
		outs[o.ID] = true
	}
	for i := range u.Body {
		for _, o := range u.Body[i].Outs {
			if !outs[o.ID] {
				ids = append(ids, o.ID)
			}
		}
	}
	return ids
}

// unitKey is the structure of a unit: what its plan depends on.
func unitKey(u *synth.Unit, types map[ops.ID]ops.Type) string {
	names := make(map[ops.ID]uint64)
	key := []byte("unit")
	for _, id := range u.Ins {
		names[id] = uint64(len(names))
		key = appendType(key, types[id])
	}
	lits := make(map[*ops.Literal]uint64)
	for _, l := range u.Lits {
		lits[l] = uint64(len(lits))
		key = appendType(key, l.Type)
	}
	for i := range u.Body {
		in := &u.Body[i]
		key = binary.AppendUvarint(key, uint64(in.Op))
		for _, o := range in.Ins {
			if o.Lit != nil {
				key = binary.AppendUvarint(append(key, 1), lits[o.Lit])
			} else {
				key = binary.AppendUvarint(append(key, 0), names[o.ID])
			}
		}
		for _, o := range in.Outs {
			names[o.ID] = uint64(len(names))
			key = appendType(key, o.Type)
		}
		key = appendAttrs(key, in.Attrs)
	}
	for _, o := range u.Outs {
		key = binary.AppendUvarint(key, names[o.ID])
	}
	return string(key)
}

// unitPlan returns the plan of a unit, which is made apart from the goroutine of
// the Executor where nobody has asked for it before.
func (e *Executor) unitPlan(f *fused) *planned {
	if p, ok := e.plans[f.key]; ok {
		return p
	}
	p := &planned{err: errBeingMade}
	e.plans[f.key] = p
	target, unit, types := e.target, f.unit, f.types
	e.building++
	go func() {
		builders <- struct{}{}
		plan, err := lowerUnit(&unit, types, &target)
		<-builders
		e.cfg.Post(func() {
			e.building--
			defer e.formed()
			if err != nil {
				p.err = err
				e.cfg.Log.Debug().Err(err).Int("instructions", len(unit.Body)).Msg("unit without a kernel")
				return
			}
			p.Plan, p.err = plan, nil
			p.pipes = make([]*compiled, len(plan.Steps))
			for i := range plan.Steps {
				p.pipes[i] = e.kernel(plan.Steps[i].Kernel)
			}
		})
	}()
	return p
}

var errBeingMade = errors.New("the plan is being made")

func lowerUnit(u *synth.Unit, types map[ops.ID]ops.Type, t *synth.Target) (p *synth.Plan, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return synth.LowerUnit(u, func(id ops.ID) ops.Type { return types[id] }, t)
}

// made reports whether all pipelines of a plan are there.
func (p *planned) made() bool {
	if p.err != nil {
		return false
	}
	for _, c := range p.pipes {
		if !c.done || c.err != nil {
			return false
		}
	}
	return true
}

// Enough is how often a program has to be seen to be compiled.
func (e *Executor) Enough() int { return e.enough }

// Building counts the plans and pipelines that are being made apart from the
// goroutine of the Executor.
func (e *Executor) Building() int { return e.building }

// unit carries out a step of several instructions: by its plan, or one by one
// where the plan is not there, or where there is so little to do that the host
// does it.
func (e *Executor) unit(l *Lane, r *run, s *step) (wait bool) {
	f := s.fused
	w, err := e.gather(l, &s.in)
	defer w.drop()
	if err == nil && f.plan != nil && f.plan.made() && e.lost == nil && !e.small(w) {
		if wait, done := e.byPlan(l, w, s); wait || done {
			return wait
		}
	}
	if f.ends == nil {
		f.ends = f.endings()
	}
	for i := range f.body {
		if e.instr(l, &f.body[i]) {
			return true
		}
		for _, id := range f.ends[i] {
			r.clear(id)
		}
	}
	return false
}

// endings lists, for each instruction, the inner slots that none after it needs.
func (f *fused) endings() [][]ops.ID {
	inner := make(map[ops.ID]bool, len(f.inner))
	for _, id := range f.inner {
		inner[id] = true
	}
	ends := make([][]ops.ID, len(f.body))
	end := func(i int, id ops.ID) {
		if inner[id] {
			delete(inner, id)
			ends[i] = append(ends[i], id)
		}
	}
	for i := len(f.body) - 1; i >= 0; i-- {
		for _, o := range f.body[i].Ins {
			end(i, o.ID)
		}
		for _, o := range f.body[i].Outs {
			end(i, o.ID)
		}
	}
	return ends
}

// byPlan carries out a unit by its plan. It is not done where there is too little
// memory for all results at once: one by one, some of them may have it.
func (e *Executor) byPlan(l *Lane, w *work, s *step) (wait, done bool) {
	if l.failed != nil {
		e.poison(l, &s.in, w.types, l.failed)
		return false, true
	}
	w.settleLiterals()
	wait, err := e.device(l, w, s.fused.plan)
	if wait {
		return true, false
	}
	if kind := wire.KindOf(err); err != nil && (kind == wire.OutOfMemory || kind == wire.Limit) {
		return false, false
	}
	e.Counters.Instructions += uint64(len(s.fused.body))
	if err != nil {
		e.poison(l, &s.in, w.types, err)
	}
	return false, true
}
