package partition

import (
	"errors"
	"slices"

	"nxvk/ops"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
)

// partitioner partitions a graph into fusions.
//
// # Rules
//
// Every instruction with arithmetic belongs to exactly one fusion, except cheap ones,
// which are recomputed in every fusion that reads them (rematerialization; see
// isCheap). Views, constants and index tensors take part in every fusion that reads
// through them; they get a fusion of their own only if something reads them from
// memory. Any other instruction joins the clusters of its operands if one kernel can
// carry out both (see joins) and no third cluster would have to run in between (see
// between), as that would be a cycle.
type partitioner struct {
	t        *lowering.Target
	caps     Capabilities
	g        *fusion.Graph
	nodes    []node
	made     map[ops.ID]int // the node that defines a value
	types    map[ops.ID]ops.Type
	stamp    int            // number of the latest search
	listed   map[ops.ID]int // the latest search that visited a value
	places   int            // of clusters; see order.go
	upstream []*cluster     // what the latest search found
	search   []*cluster     // scratch of a search
	readers  []*cluster     // scratch of a search
	outputs  []int          // scratch of outputsOf
	operands []ops.Type     // scratch of typesOf
	dag      fusion.DAG     // of the instruction that was followed last
	from     int            // the node at which it began
	passed   []int          // the nodes that it passed through

	// refused has the reasons why an instruction (second) did not join one that it
	// reads (first), by node; nil unless somebody asked for explanations.
	refused map[[2]int]Reason
}

// node is an instruction of the graph with its properties.
type node struct {
	in             *ops.Instr
	pattern        opPattern
	users          []int
	readBy         []int // nodes whose clusters read it from memory
	kept           bool  // a result of the graph
	live           bool  // a result depends on it
	inMemory       bool  // an instruction reads it from memory
	rematerialized bool  // recomputed in every fusion that reads it
	materialized   bool  // in memory although readers could compute it
	dataDependent  bool  // reads padding, or at offsets that operands give
	checks         bool  // reads at indices
	body           []int // the nodes that it computes as well
	uses           []fusion.Use
	remat          remat
	reason         Reason   // why others cannot join it; empty if they can
	cluster        *cluster // nil if it is only part of its readers
}

// Capabilities is what the partitioner must know about the kernels of single
// operations.
type Capabilities interface {
	// KeepsOut gives the reason why the kernels of a contraction (Dot or Conv) take no
	// epilogue; empty if they do.
	KeepsOut(product *ops.Instr, types []ops.Type, t *lowering.Target) Reason
	// MostOperations bounds the primitive operations of the epilogue of a contraction for an element: more are faster in a kernel of
	// their own.
	MostOperations(product *ops.Instr, types []ops.Type, t *lowering.Target) int
	// Tiles reports whether a transposition is faster in a kernel of its own than as
	// a strided read in the kernels that use its result.
	Tiles(transposition *ops.Instr, operand ops.Type, t *lowering.Target) bool
	// FoldsAcross reports whether a reduction of a transposed tensor is as fast without the transposition.
	FoldsAcross(fold, transposition *ops.Instr, operand ops.Type, t *lowering.Target) bool
	// Chains reports whether one kernel carries out the stages of a fusion.
	Chains(u *fusion.Fusion, types func(ops.ID) ops.Type, t *lowering.Target) bool
	// Abreast reports whether one kernel carries out fusions that do not depend on one another.
	Abreast(u *fusion.Fusion, types func(ops.ID) ops.Type, t *lowering.Target) bool
}

// Partition partitions a graph into fusions, in an order that respects their
// dependencies. The same graph gives the same fusions.
func Partition(g *fusion.Graph, t *lowering.Target, caps Capabilities) []fusion.Fusion {
	return newPartitioner(g, t, caps, nil).partition()
}

func newPartitioner(g *fusion.Graph, t *lowering.Target, caps Capabilities, refused map[[2]int]Reason) *partitioner {
	if !fitsBindings(t, g) && t.Addressable {
		t = t.WithAddresses() // addresses are push constants
	}
	return &partitioner{t: t, caps: caps, g: g, nodes: make([]node, len(g.Body)), made: make(map[ops.ID]int, len(g.Body)),
		types: make(map[ops.ID]ops.Type, len(g.Body)+len(g.Params)), listed: make(map[ops.ID]int), refused: refused}
}

func (f *partitioner) partition() []fusion.Fusion {
	f.newDAG()
	f.survey()
	for i := range f.nodes {
		f.visit(i)
	}
	f.fuseSiblings()
	return f.abreast(f.chained(f.concatenated(f.fusions())))
}

// survey classifies every instruction and finds its users.
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
		f.nodes[i].pattern, f.nodes[i].reason = f.patternOf(in)
		for _, o := range in.Ins {
			if j, ok := f.producer(o); ok {
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

// want decides which values must be in memory, users before what they use.
func (f *partitioner) want(n *node) {
	n.live, n.inMemory = n.kept, n.kept
	for _, u := range n.users {
		v := &f.nodes[u]
		n.live = n.live || v.live
		switch v.pattern {
		case patternOpaque, patternContraction:
			n.inMemory = n.inMemory || v.live
		case patternView:
			n.inMemory = n.inMemory || v.inMemory
		case patternElementwise:
			n.inMemory = n.inMemory || v.live && updatesAt(v.in, n)
			n.inMemory = n.inMemory || v.live && n.pattern == patternElementwise && !f.t.Allows(lowering.RulePointwise)
		case patternReduction:
			n.inMemory = n.inMemory || v.live && (n.pattern == patternElementwise && !f.t.Allows(lowering.RuleReduceIn) || n.moves())
		}
	}
}

// moves reports whether strides cannot express where the elements of a node lie.
// Reductions read such a value from memory.
func (n *node) moves() bool {
	return n.pattern == patternElementwise && (n.in.Op == ops.Pad || fusion.JoinsParts(n.in.Op)) ||
		n.pattern == patternView && (n.in.Op == ops.Slice && len(n.in.Ins) > 1 || fusion.Gathers(n.in.Op))
}

// producer is the node that makes an operand.
func (f *partitioner) producer(o ops.Operand) (int, bool) {
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

// typesOf lists the types of an instruction's operands. The result is valid until the
// next call.
func (f *partitioner) typesOf(in *ops.Instr) []ops.Type {
	f.operands = f.operands[:0]
	for _, o := range in.Ins {
		f.operands = append(f.operands, f.typeOf(o))
	}
	return f.operands
}

// visit assigns an instruction to a cluster; those before it have one.
func (f *partitioner) visit(i int) {
	n := &f.nodes[i]
	if !n.live {
		return
	}
	switch n.pattern {
	case patternOpaque:
		f.isolate(i, n.reason)
	case patternContraction:
		f.startContraction(i)
	case patternView, patternCreate:
		n.remat = f.rematOf(n)
		switch {
		case fusion.Gathers(n.in.Op) && !f.gatheredOnce(n):
			f.materialize(i)
			n.reason = inMemory
		case n.inMemory:
			f.isolate(i, inMemory)
		}
	default:
		n.remat = f.rematOf(n)
		if n.rematerialized = f.isCheap(n); !n.rematerialized {
			f.place(i)
		}
	}
}

// isolate gives an instruction a fusion of its own. why is the reason.
func (f *partitioner) isolate(i int, why Reason) {
	n := &f.nodes[i]
	n.cluster, n.body, n.reason = &cluster{items: []int{i}, first: i, last: i}, nil, why
	for _, o := range n.in.Ins {
		if j, ok := f.producer(o); ok {
			n.cluster.deps = append(n.cluster.deps, dep{node: j})
		}
	}
	f.enter(n.cluster, i)
}

// place gives an instruction a cluster, and merges it with the clusters it reads.
func (f *partitioner) place(i int) {
	n := &f.nodes[i]
	deps, err := f.traceBack(i)
	for err == nil && f.relieve(i) {
		deps, err = f.traceBack(i)
	}
	if err != nil {
		f.isolate(i, noStrides)
		return
	}
	f.start(i, deps)
	for _, d := range slices.Backward(deps) {
		other := f.nodes[d.node].cluster
		if other == n.cluster {
			continue
		}
		if why := f.join(other, n.cluster); why != "" && f.refused != nil {
			f.refused[[2]int{d.node, i}] = why
		}
	}
}

// traceBack follows an instruction back to the values that it reads from memory, and
// returns those that other instructions make. A view that strides cannot express is
// materialized.
func (f *partitioner) traceBack(i int) ([]dep, error) {
	n, dag := &f.nodes[i], &f.dag
	for {
		f.from, f.passed = i, f.passed[:0]
		if fusion.Updates(n.in) {
			f.passed = append(f.passed, i)
		}
		err := dag.Follow(n.in)
		var at *fusion.ViewError
		if err == nil || !errors.As(err, &at) {
			n.body, n.uses, n.dataDependent = slices.Clone(f.passed), dag.Uses(), dag.DataDependent()
			n.checks = len(dag.Checks) > 0
			deps := f.depsOf(dag)
			if fusion.Updates(n.in) {
				deps = f.updateDeps(n, deps)
			}
			return deps, err
		}
		f.materialize(f.made[at.ID])
	}
}

// materialize stores a value in memory that was to be recomputed.
func (f *partitioner) materialize(i int) {
	n := &f.nodes[i]
	n.rematerialized, n.materialized = false, true
	if n.cluster != nil {
		return // others read it from memory already
	}
	if n.pattern == patternElementwise {
		f.place(i)
		return
	}
	for _, o := range n.in.Ins {
		if j, ok := f.producer(o); ok && f.nodes[j].cluster == nil {
			f.materialize(j)
		}
	}
	f.isolate(i, noStrides)
}

// newDAG has the DAG follow the whole graph.
func (f *partitioner) newDAG() {
	f.dag.Over(fusion.Code{
		Types:  func(id ops.ID) ops.Type { return f.types[id] },
		Number: f.number,
		Blocks: f.tiles,
		Instr: func(id ops.ID) *ops.Instr {
			j, ok := f.made[id]
			if !ok || j != f.from && !f.through(&f.nodes[j]) {
				return nil
			}
			f.passed = append(f.passed, j)
			return f.nodes[j].in
		},
	})
}

// through reports whether readers of a node compute it themselves.
func (f *partitioner) through(n *node) bool {
	return n.rematerialized || (n.pattern == patternView || n.pattern == patternCreate) && !n.materialized
}

// fitsBindings reports whether every value of a graph fits a binding.
func fitsBindings(t *lowering.Target, g *fusion.Graph) bool {
	if t.Addresses || t.MaxBinding == 0 {
		return true
	}
	longest := int64(0)
	see := func(list []ops.Result) {
		for _, r := range list {
			longest = max(longest, int64(r.Type.Bytes()))
		}
	}
	see(g.Params)
	for i := range g.Body {
		see(g.Body[i].Outs)
	}
	return longest <= t.MaxBinding
}
