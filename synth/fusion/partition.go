package fusion

import (
	"errors"
	"slices"

	"nxvk/ops"
	"nxvk/synth/lowering"
)

// partitioner cuts a graph into units.
//
// # Rules
//
// An instruction that does arithmetic is in one unit, but for cheap ones, which
// are computed again wherever they are wanted; see pullable. Views, constants and
// indices take part in every unit that looks at them and have a unit of their own
// only where somebody needs them in memory. Of the others, an instruction joins
// the units of its operands where one kernel can carry out both (see joins), as
// long as no third unit would have to run between the two (see between).
type partitioner struct {
	t        *lowering.Target
	caps     Capabilities
	g        *Graph
	nodes    []node
	made     map[ops.ID]int // the node that makes a value
	types    map[ops.ID]ops.Type
	stamp    int            // of the latest search
	listed   map[ops.ID]int // the search that has met a value
	stack    []*cluster     // room for a search
	room     []int          // for what is open
	operands []ops.Type     // room for those of typesOf
	tr       Trace          // of the latest look
	from     int            // the node that it began at
	passed   []int          // what it has led through

	// Why an instruction has not joined one that it reads, by their nodes; nil where
	// nobody wants to know.
	refused map[[2]int]Reason
}

// node is what is known of an instruction.
type node struct {
	in      *ops.Instr
	pattern opPattern
	users   []int
	kept    bool  // must exist afterwards
	live    bool  // somebody wants it
	memory  bool  // somebody reads it from memory
	pulled  bool  // computed again wherever it is wanted
	settled bool  // though it could be part of others, they read it from memory
	shifted bool  // it looks at padding, or where operands say
	body    []int // what it looks through, where it is not alone
	uses    []bufferUse
	pull    pull
	apart   Reason   // why others do not join it; empty where they may
	group   *cluster // nil where it has no unit of its own
}

// Capabilities is what the partitioner asks of those that lower single operations.
type Capabilities interface {
	// KeepsOut says why nothing comes into the kernels of a product, a Dot or a Conv;
	// empty where operations on its results may.
	KeepsOut(product *ops.Instr, types []ops.Type, t *lowering.Target) Reason
	// Tiles reports whether a transposition of an operand of a type is carried out
	// better by a kernel of its own than by whatever reads its result.
	Tiles(transposition *ops.Instr, operand ops.Type, t *lowering.Target) bool
}

// Partition cuts a graph into units, in an order that respects what depends on what.
// The same graph gives the same units.
func Partition(g *Graph, t *lowering.Target, caps Capabilities) []Fusion {
	return newPartitioner(g, t, caps, nil).partition()
}

func newPartitioner(g *Graph, t *lowering.Target, caps Capabilities, refused map[[2]int]Reason) *partitioner {
	if !bindingsReach(t, g) && t.Addressable {
		t = t.WithAddresses() // which take room
	}
	return &partitioner{t: t, caps: caps, g: g, nodes: make([]node, len(g.Body)), made: make(map[ops.ID]int, len(g.Body)),
		types: make(map[ops.ID]ops.Type, len(g.Body)+len(g.Params)), listed: make(map[ops.ID]int), refused: refused}
}

func (f *partitioner) partition() []Fusion {
	f.newTrace()
	f.survey()
	for i := range f.nodes {
		f.visit(i)
	}
	f.fuseSiblings()
	return f.concatenated(f.fusions())
}

// survey finds out what every instruction is and who wants it.
func (f *partitioner) survey() {
	for _, p := range f.g.Params {
		f.types[p.ID] = p.Type
	}
	for i := range f.g.Body {
		in := &f.g.Body[i]
		f.nodes[i].in = in
		for _, o := range in.Outs {
			f.made[o.ID], f.types[o.ID] = i, o.Type
		}
		f.nodes[i].pattern, f.nodes[i].apart = f.patternOf(in)
		for _, o := range in.Ins {
			if j, ok := f.maker(o); ok {
				f.nodes[j].users = append(f.nodes[j].users, i)
			}
		}
	}
	for _, id := range f.g.Keep {
		if i, ok := f.made[id]; ok {
			f.nodes[i].kept = true
		}
	}
	for i := len(f.nodes) - 1; i >= 0; i-- {
		f.want(&f.nodes[i])
	}
}

// want decides who needs a value in memory, users first.
func (f *partitioner) want(n *node) {
	n.live, n.memory = n.kept, n.kept
	for _, u := range n.users {
		v := &f.nodes[u]
		n.live = n.live || v.live
		switch v.pattern {
		case patternOpaque, patternContraction:
			n.memory = n.memory || v.live
		case patternView:
			n.memory = n.memory || v.memory
		case patternElementwise:
			n.memory = n.memory || v.live && n.pattern == patternElementwise && !f.t.Allows(lowering.RulePointwise)
		case patternReduction:
			n.memory = n.memory || v.live && (n.pattern == patternElementwise && !f.t.Allows(lowering.RuleReduceIn) || n.moves())
		}
	}
}

// moves reports whether a node has its elements where no strides lead, which
// reductions read from memory.
func (n *node) moves() bool {
	return n.pattern == patternElementwise && n.in.Op == ops.Pad || n.pattern == patternView && n.in.Op == ops.Slice && len(n.in.Ins) > 1
}

// maker is the node that makes an operand.
func (f *partitioner) maker(o ops.Operand) (int, bool) {
	if o.Lit != nil {
		return 0, false
	}
	i, ok := f.made[o.ID]
	return i, ok
}

func (f *partitioner) typeOf(o ops.Operand) ops.Type {
	if o.Lit != nil {
		return o.Lit.Type
	}
	return f.types[o.ID]
}

// typesOf are the types of the operands of an instruction, until it is asked for
// those of the next.
func (f *partitioner) typesOf(in *ops.Instr) []ops.Type {
	f.operands = f.operands[:0]
	for _, o := range in.Ins {
		f.operands = append(f.operands, f.typeOf(o))
	}
	return f.operands
}

// visit decides where an instruction is carried out, after all before it.
func (f *partitioner) visit(i int) {
	n := &f.nodes[i]
	if !n.live {
		return
	}
	switch n.pattern {
	case patternOpaque:
		f.alone(i, n.apart)
	case patternContraction:
		f.startContraction(i)
	case patternView, patternCreate:
		n.pull = f.pulls(n)
		if n.memory {
			f.alone(i, inMemory)
		}
	default:
		n.pull = f.pulls(n)
		if n.pulled = f.pullable(n); !n.pulled {
			f.place(i)
		}
	}
}

// alone gives an instruction a unit of its own, which reads its operands. why is that
// others do not join it.
func (f *partitioner) alone(i int, why Reason) {
	n := &f.nodes[i]
	n.group, n.body, n.apart = &cluster{items: []int{i}, first: i, last: i}, nil, why
	for _, o := range n.in.Ins {
		if j, ok := f.maker(o); ok {
			n.group.deps = append(n.group.deps, dep{node: j})
		}
	}
}

// place gives an instruction a unit, and joins that with those of its operands.
func (f *partitioner) place(i int) {
	n := &f.nodes[i]
	deps, err := f.look(i)
	for err == nil && f.relieve(i) {
		deps, err = f.look(i)
	}
	if err != nil {
		f.alone(i, noStrides)
		return
	}
	f.start(i, deps)
	for _, d := range slices.Backward(deps) {
		other := f.nodes[d.node].group
		if other == n.group {
			continue
		}
		if why := f.join(other, n.group); why != "" && f.refused != nil {
			f.refused[[2]int{d.node, i}] = why
		}
	}
}

// look traces an instruction back to what it reads from memory, and gives what
// other instructions make of that. A view that no strides lead through is read from
// memory too.
func (f *partitioner) look(i int) ([]dep, error) {
	n := &f.nodes[i]
	for {
		tr := f.tracer(i)
		err := tr.run(func() error {
			if n.pattern == patternReduction {
				_, err := tr.value(n.in.Ins[0].ID, tr.Full)
				return err
			}
			_, err := tr.value(n.in.Outs[0].ID, tr.Full)
			return err
		})
		var at *viewError
		if err == nil || !errors.As(err, &at) {
			n.body, n.uses, n.shifted = slices.Clone(f.passed), usesOf(tr), len(tr.extraDims) > 0
			return f.depsOf(tr), err
		}
		f.settle(f.made[at.id])
	}
}

// settle makes a value that was to be pulled one that lies in memory.
func (f *partitioner) settle(i int) {
	n := &f.nodes[i]
	n.pulled, n.settled = false, true
	if n.group != nil {
		return // others read it from memory already
	}
	if n.pattern == patternElementwise {
		f.place(i)
		return
	}
	for _, o := range n.in.Ins {
		if j, ok := f.maker(o); ok && f.nodes[j].group == nil {
			f.settle(j)
		}
	}
	f.alone(i, noStrides)
}

// newTrace makes the trace that looks through the graph.
func (f *partitioner) newTrace() {
	f.tr.types = func(id ops.ID) ops.Type { return f.types[id] }
	f.tr.number = f.number
	f.tr.literal = func(*ops.Literal) int { return 0 }
	f.tr.blocks = f.tiles
	f.tr.graph = func(id ops.ID) *ops.Instr {
		j, ok := f.made[id]
		if !ok || j != f.from && !f.through(&f.nodes[j]) {
			return nil
		}
		f.passed = append(f.passed, j)
		return f.nodes[j].in
	}
}

// tracer traces node i in the space of its own. There is one trace at a time.
func (f *partitioner) tracer(i int) *Trace {
	n := &f.nodes[i]
	shape, axes := n.in.Outs[0].Type.Shape, []int(nil)
	if n.pattern == patternReduction {
		shape, axes = f.typeOf(n.in.Ins[0]).Shape, n.in.Attrs[0]
	}
	f.from, f.passed = i, f.passed[:0]
	f.tr.space(shape, axes)
	return &f.tr
}

// through reports whether an instruction is part of whatever wants its value.
func (f *partitioner) through(n *node) bool {
	return n.pulled || (n.pattern == patternView || n.pattern == patternCreate) && !n.settled
}
