package exec

import (
	"fmt"
	"slices"

	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/graph"
)

// partitioner makes fusions of the blocks of a program.
type partitioner struct {
	target  *synth.Target
	eval    graph.Eval
	holes   map[*ops.Literal]ops.ID // literals that stand for parameters
	stand   map[ops.ID]*ops.Literal // and the other way round
	types   map[ops.ID]ops.Type     // of all slots so far
	fusions []*fusion

	// Why parts end where they do, by the first result of each; nil where nobody wants
	// to know.
	why map[ops.ID][]string
}

// newPartitioner makes fusions of a program for a target, with the parameters that are
// literal.
func newPartitioner(t *synth.Target, eval graph.Eval, p *Program, literal []byte) *partitioner {
	c := &partitioner{target: t, eval: eval, holes: make(map[*ops.Literal]ops.ID),
		stand: make(map[ops.ID]*ops.Literal), types: make(map[ops.ID]ops.Type)}
	for i, l := range literal {
		if l != 0 {
			c.hole(p.body.params[i])
		}
	}
	return c
}

// hole makes a literal that stands for a parameter whose value is one at run
// time. It has no data, so that it is not taken for another.
func (c *partitioner) hole(param ops.Result) {
	lit := &ops.Literal{Type: param.Type}
	c.holes[lit], c.stand[param.ID] = param.ID, lit
}

func (c *partitioner) program(b *block) (out *block, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return c.block(b, false), nil
}

// block copies a block, with its straight parts cut into fusions.
func (c *partitioner) block(b *block, keep bool) *block {
	out := &block{params: b.params, values: b.values}
	for _, p := range b.params {
		c.types[p.ID] = p.Type
	}
	for lo := 0; lo < len(b.steps); {
		hi := lo
		for hi < len(b.steps) && !isControl(b.steps[hi].in.Op) {
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
func (c *partitioner) structured(s *step) step {
	t := step{in: s.in}
	for k, r := range s.regions {
		t.regions = append(t.regions, c.block(r, s.in.Op == ops.While && k == 0))
	}
	for _, o := range s.in.Outs {
		c.types[o.ID] = o.Type
	}
	return t
}

// straight cuts the steps from lo to hi of a block into fusions.
func (c *partitioner) straight(b *block, lo, hi int) []step {
	if lo == hi {
		return nil
	}
	g := synth.Simplify(c.graph(b, lo, hi), c.target, c.eval)
	c.open(g)
	var steps []step
	cut := synth.Fuse
	if c.why != nil {
		cut = synth.Explain
	}
	for _, u := range cut(g, c.target) {
		steps = append(steps, c.step(u))
		if u.Why != nil {
			c.tell(&u, b, hi)
		}
	}
	keepShared(steps, g.Keep)
	return steps
}

// graph is the steps from lo to hi of a block; what they take from elsewhere are
// its parameters.
func (c *partitioner) graph(b *block, lo, hi int) *synth.Graph {
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
func (c *partitioner) open(g *synth.Graph) {
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

// keepShared takes from the inner values of fusions those that other steps need as
// well: a fusion looks through views that another step makes.
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
		if f := steps[i].fusion; f != nil {
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

// step makes a step of a fusion.
func (c *partitioner) step(u synth.Fusion) step {
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
	f := &fusion{unit: u, body: body, types: make(map[ops.ID]ops.Type)}
	for _, id := range u.Ins {
		f.types[id] = c.types[id]
	}
	f.inner = innerOf(&u)
	f.key = fusionKey(&u, f.types)
	c.fusions = append(c.fusions, f)
	return step{fusion: f, in: wire.Instr{Name: nameOf(f.body), Instr: ops.Instr{Op: ops.Program, Ins: c.filled(operands), Outs: u.Outs}}}
}

// filled puts parameters in the place of the literals that stand for them.
func (c *partitioner) filled(list []ops.Operand) []ops.Operand {
	out := append([]ops.Operand(nil), list...)
	for i, o := range out {
		if id, hole := c.holes[o.Lit]; hole {
			out[i] = ops.Operand{ID: id}
		}
	}
	return out
}
