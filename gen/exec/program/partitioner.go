package program

import (
	"fmt"
	"slices"

	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/graph"
)

// Partitioner makes fusions of the blocks of a program.
type Partitioner struct {
	Target       *synth.Target
	eval         graph.Eval
	placeholders map[*ops.Literal]ops.ID // literals that stand for parameters
	StandIn      map[ops.ID]*ops.Literal // and the other way round
	Types        map[ops.ID]ops.Type     // of all slots so far
	fusions      []*Fusion
	yield        func() error // is called before each part; its error ends the partition
	cutting      Cutting

	// Why parts end where they do, by the first result of each; nil where nobody wants
	// to know.
	Why map[ops.ID][]string
}

// NewPartitioner makes fusions of a program for a target, with the parameters that are
// literal.
func NewPartitioner(t *synth.Target, eval graph.Eval, p *Program, literal []byte) *Partitioner {
	c := &Partitioner{Target: t, eval: eval, yield: func() error { return nil }, placeholders: make(map[*ops.Literal]ops.ID),
		StandIn: make(map[ops.ID]*ops.Literal), Types: make(map[ops.ID]ops.Type), cutting: usualCutting}
	for i, l := range literal {
		if l != 0 {
			c.addPlaceholder(p.Body.Params[i])
		}
	}
	return c
}

// addPlaceholder makes a literal that stands for a parameter whose value is one at run
// time. It has no data, so that it is not taken for another.
func (c *Partitioner) addPlaceholder(param ops.Result) {
	lit := &ops.Literal{Type: param.Type}
	c.placeholders[lit], c.StandIn[param.ID] = param.ID, lit
}

// Cutting is how straight-line code is cut into fusions.
type Cutting struct {
	Longest int                                              // the most instructions that are cut together
	Fuse    func(*synth.Graph, *synth.Target) []synth.Fusion // cuts them
}

// longestPart is the usual maximum: some tens of milliseconds of work.
const longestPart = 4096

var usualCutting = Cutting{longestPart, synth.Fuse}

// Partition copies a block, with its straight-line code cut into fusions.
func (c *Partitioner) Partition(b *Block) (out *Block, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return c.block(b, false)
}

func (c *Partitioner) block(b *Block, keep bool) (*Block, error) {
	out := &Block{Params: b.Params, Values: b.Values}
	for _, p := range b.Params {
		c.Types[p.ID] = p.Type
	}
	for lo := 0; lo < len(b.Steps); {
		hi := lo
		for hi < len(b.Steps) && hi < lo+c.cutting.Longest && !IsControl(b.Steps[hi].In.Op) {
			hi++
		}
		if err := c.yield(); err != nil {
			return nil, err
		}
		steps, err := c.cutStraight(b, lo, hi)
		if err != nil {
			return nil, err
		}
		out.Steps = append(out.Steps, steps...)
		if lo = hi; lo < len(b.Steps) && IsControl(b.Steps[lo].In.Op) {
			s, err := c.copyControl(&b.Steps[lo])
			if err != nil {
				return nil, err
			}
			out.Steps = append(out.Steps, s)
			lo++
		}
	}
	out.lifetimes(keep)
	return out, nil
}

// copyControl copies a step that has regions, or calls back.
func (c *Partitioner) copyControl(s *Step) (Step, error) {
	t := Step{In: s.In}
	for k, r := range s.Regions {
		b, err := c.block(r, s.In.Op == ops.While && k == 0)
		if err != nil {
			return Step{}, err
		}
		t.Regions = append(t.Regions, b)
	}
	for _, o := range s.In.Outs {
		c.Types[o.ID] = o.Type
	}
	return t, nil
}

// cutStraight cuts the steps from lo to hi of a block into fusions, and verifies them: a fault of the
// partition is an error, and no wrong number.
func (c *Partitioner) cutStraight(b *Block, lo, hi int) ([]Step, error) {
	if lo == hi {
		return nil, nil
	}
	whole := c.graph(b, lo, hi)
	g := synth.Simplify(whole, c.Target, c.eval)
	c.substitute(g)
	cut := c.cutting.Fuse
	if c.Why != nil {
		cut = synth.Explain
	}
	fusions := cut(g, c.Target)
	if err := synth.Verify(&synth.Graph{Params: g.Params, Body: whole.Body, Keep: whole.Keep}, fusions); err != nil {
		return nil, err
	}
	var steps []Step
	for _, u := range fusions {
		steps = append(steps, c.newStep(u))
		if u.Why != nil {
			c.explain(&u, b, hi)
		}
	}
	keepShared(steps, g.Keep)
	return steps, nil
}

// graph is the steps from lo to hi of a block; what they take from elsewhere are
// its parameters.
func (c *Partitioner) graph(b *Block, lo, hi int) *synth.Graph {
	g := &synth.Graph{Keep: b.neededFrom(hi)}
	made := make(map[ops.ID]bool)
	for i := lo; i < hi; i++ {
		in := b.Steps[i].In.Instr
		for _, o := range in.Ins {
			if o.Lit == nil && !made[o.ID] {
				made[o.ID] = true
				g.Params = append(g.Params, ops.Result{ID: o.ID, Type: c.Types[o.ID]})
			}
		}
		for _, o := range in.Outs {
			made[o.ID], c.Types[o.ID] = true, o.Type
		}
		g.Body = append(g.Body, in)
	}
	return g
}

// substitute puts holes in the place of parameters whose values are literals at run
// time.
func (c *Partitioner) substitute(g *synth.Graph) {
	g.Params = slices.DeleteFunc(slices.Clone(g.Params), func(p ops.Result) bool { return c.StandIn[p.ID] != nil })
	for i := range g.Body {
		in := &g.Body[i]
		in.Ins = slices.Clone(in.Ins)
		for k, o := range in.Ins {
			if lit := c.StandIn[o.ID]; o.Lit == nil && lit != nil {
				in.Ins[k] = ops.Operand{Lit: lit}
			}
		}
	}
}

// keepShared takes from the inner values of fusions those that other steps need as
// well: a fusion looks through views that another step makes.
func keepShared(steps []Step, keep []ops.ID) {
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
		if f := steps[i].Fusion; f != nil {
			f.inner = slices.DeleteFunc(f.inner, func(id ops.ID) bool { return needed[id] })
		}
	}
}

// neededFrom lists the slots that steps from i on, or the values of the block,
// use.
func (b *Block) neededFrom(i int) (ids []ops.ID) {
	for ; i < len(b.Steps); i++ {
		ids = append(ids, b.Steps[i].needs()...)
	}
	for _, o := range b.Values {
		if o.Lit == nil {
			ids = append(ids, o.ID)
		}
	}
	return ids
}

// newStep makes a step of a fusion.
func (c *Partitioner) newStep(u synth.Fusion) Step {
	body := make([]wire.Instr, len(u.Body))
	for i, in := range u.Body {
		in.Ins = c.restored(in.Ins)
		body[i] = wire.Instr{Instr: in, Name: in.Op.String()}
	}
	if len(body) == 1 {
		return Step{In: body[0]}
	}
	operands := make([]ops.Operand, 0, len(u.Ins)+len(u.Lits))
	for _, id := range u.Ins {
		operands = append(operands, ops.Operand{ID: id})
	}
	for _, lit := range u.Lits {
		operands = append(operands, ops.Operand{Lit: lit})
	}
	f := &Fusion{Fused: u, Body: body, types: make(map[ops.ID]ops.Type)}
	for _, id := range u.Ins {
		f.types[id] = c.Types[id]
	}
	f.inner = innerOf(&u)
	f.key = fusionKey(&u, f.types)
	c.fusions = append(c.fusions, f)
	return Step{Fusion: f, In: wire.Instr{Name: NameOf(f.Body), Instr: ops.Instr{Op: ops.Program, Ins: c.restored(operands), Outs: u.Outs}}}
}

// restored puts parameters in the place of the literals that stand for them.
func (c *Partitioner) restored(list []ops.Operand) []ops.Operand {
	out := append([]ops.Operand(nil), list...)
	for i, o := range out {
		if id, hole := c.placeholders[o.Lit]; hole {
			out[i] = ops.Operand{ID: id}
		}
	}
	return out
}
