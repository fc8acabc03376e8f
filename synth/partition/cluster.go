package partition

import (
	"bytes"
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// cluster is a fusion that is being built.
type cluster struct {
	items         []int              // instructions of no other fusion, in order
	first, last   int                // nodes
	place         int                // after those of the clusters that it reads
	n             int                // elements of a value; 0 if it has no common iteration space
	reduction     *strided.Reduction // of its reductions; nil if it has none
	product       bool               // it begins with a contraction
	update        bool               // it ends in a put_slice
	dataDependent bool               // it reads padding, or at offsets that operands give
	checks        bool               // it reads at indices
	kept          int                // elements of a result of its reductions
	reductions    int                // number of reductions
	uses          []fusion.Use       // what it reads from memory
	deps          []dep              // what the items read of other clusters
	outputs       []int              // items that are read outside
	lits          []litKey
	cost          int
	most          int            // of it, that pays; of a product
	rules         lowering.Rules // by which its items were joined
	stamp         int
}

// litKey is a literal of a kernel, in the type in which it takes it.
type litKey struct {
	as  ops.DType
	lit *ops.Literal
}

// same reports whether two literals can share a parameter. A literal without data is equal to none.
func (k litKey) same(o litKey) bool {
	return k.as == o.as && (k.lit == o.lit ||
		k.lit.Type.DType == o.lit.Type.DType && len(k.lit.Data) > 0 && bytes.Equal(k.lit.Data, o.lit.Data))
}

// literals are those of an instruction and of the nodes that it computes as well.
func (f *partitioner) literals(i int) (known []litKey) {
	for _, j := range f.nodes[i].body {
		in := f.nodes[j].in
		for k, o := range in.Ins {
			if _, ok := fusion.ConstantOperand(in, k); o.Lit != nil && !ok {
				known = addLiteral(known, litKey{fusion.LiteralType(in, f.typesOf(in), k), o.Lit})
			}
		}
	}
	return known
}

// addLiteral adds a literal that is not known.
func addLiteral(known []litKey, k litKey) []litKey {
	if slices.ContainsFunc(known, k.same) {
		return known
	}
	return append(known, k)
}

// relation is how the elements of a value correspond to the points of the space that reads it.
type relation uint8

const (
	unrelatedAccess relation = iota // any other: the value must be in memory
	oneToOne                        // element i at point i
	broadcast                       // one element for all points of the last dimensions
)

// dep is a value that another instruction makes, and its relation to its reader.
type dep struct {
	node     int
	relation relation
	repeats  int // points that read one element
}

// maxItems bounds the instructions of a fusion, and maxCost their operations for an
// element, because drivers take long to compile long kernels. A kernel with a
// reduction repeats the code of an element many times.
const (
	maxItems    = 512
	maxCost     = 1 << 13
	maxFoldCost = 1 << 10
)

// depsOf lists the values of other instructions that an instruction reads from memory.
func (f *partitioner) depsOf(dag *fusion.DAG) []dep {
	var ds []dep
	movers := dag.Coordinates()
	for k, s := range dag.Sources {
		if s.Kind != codegen.FromBuffer || s.Buffer.Ref.Index < 0 {
			continue
		}
		d := dep{node: s.Buffer.Ref.Index}
		if len(s.Shifts) > 0 || movers[k] {
			ds = append(ds, d)
			continue
		}
		if fusion.SameView(dag.Dims, s.View, dag.Full) {
			d.relation = oneToOne
			ds = append(ds, d)
			continue
		}
		full, v := dag.Full, s.View
		dims := strided.Collapse(dag.Dims, []*strided.View{&full, &v})
		r := len(dims) - 1
		switch {
		case v.Offset != 0 || full.Strides[r] != 1 || v.Strides[r] != 0:
		case r == 0, r == 1 && v.Strides[0] == 1 && full.Strides[0] == dims[1]:
			d.relation, d.repeats = broadcast, dims[r]
		}
		ds = append(ds, d)
	}
	return ds
}

// start gives a node a cluster of its own, which reads deps.
func (f *partitioner) start(i int, deps []dep) {
	n := &f.nodes[i]
	g := &cluster{checks: n.checks, items: []int{i}, first: i, last: i, n: n.in.Outs[0].Type.Size(), uses: n.uses, deps: deps,
		outputs: []int{i}, cost: n.remat.cost, dataDependent: n.dataDependent}
	if n.pattern == patternReduction {
		g.kept, g.n, g.reductions = g.n, f.typeOf(n.in.Ins[0]).Size(), 1
		lie := strided.NewReduction(f.typeOf(n.in.Ins[0]).Shape, n.in.Attrs[0])
		g.reduction = &lie
	}
	if fusion.Updates(n.in) {
		g.update, g.n = true, f.typeOf(n.in.Ins[fusion.UpdateBy]).Size()
	}
	g.lits = f.literals(i)
	n.cluster = g
	f.enter(g, i)
}

// join merges clusters a and b if one kernel can carry out both, and else gives the
// reason. An instruction of b reads one of a.
func (f *partitioner) join(a, b *cluster) Reason {
	if a.n == 0 || b.n == 0 {
		return f.reasonAlone(a, b)
	}
	by, why := f.joins(a, b)
	if why == "" {
		why = f.fits(a, b)
	}
	switch {
	case why != "":
		return why
	case f.between(a, b):
		return cycle
	}
	f.reorder(a, b)
	a.rules |= b.rules | by
	f.merge(a, b)
	return ""
}

func (f *partitioner) merge(a, b *cluster) {
	f.outputs = f.outputsOf(f.outputs[:0], a, b)
	a.outputs = append(a.outputs[:0], f.outputs...)
	if a.reduction == nil {
		a.reduction, a.kept = b.reduction, b.kept
	}
	a.items = append(a.items, b.items...)
	if b.first < a.last {
		slices.Sort(a.items)
	}
	a.first, a.last = min(a.first, b.first), max(a.last, b.last)
	a.update = a.update || b.update
	a.product, a.dataDependent = a.product || b.product, a.dataDependent || b.dataDependent
	a.checks = a.checks || b.checks
	a.n, a.cost, a.reductions = max(a.n, b.n), a.cost+b.cost, a.reductions+b.reductions
	a.most = max(a.most, b.most)
	for _, k := range b.lits {
		a.lits = addLiteral(a.lits, k)
	}
	for _, i := range b.items {
		f.nodes[i].cluster = a
	}
	b.items = nil
	f.mergeReads(a, b)
}

// mergeReads gives a the dependencies of b, except those that the two make themselves.
func (f *partitioner) mergeReads(a, b *cluster) {
	for _, s := range b.uses {
		a.addUse(s)
	}
	a.uses = slices.DeleteFunc(a.uses, func(s fusion.Use) bool { return s.Of >= 0 && f.nodes[s.Of].cluster == a })
	for _, d := range b.deps {
		if !slices.Contains(a.deps, d) {
			a.deps = append(a.deps, d)
		}
	}
	a.deps = slices.DeleteFunc(a.deps, func(d dep) bool { return f.nodes[d.node].cluster == a })
}

// outputsOf adds the items of two clusters that are read outside of both to a list.
func (f *partitioner) outputsOf(is []int, a, b *cluster) []int {
	for _, g := range []*cluster{a, b} {
		for _, i := range g.outputs {
			if f.isReadOutside(i, a, b) {
				is = append(is, i)
			}
		}
	}
	return is
}

// isReadOutside reports whether an item is read outside of the clusters.
func (f *partitioner) isReadOutside(i int, in ...*cluster) bool {
	n := &f.nodes[i]
	return n.inMemory || f.anyReader(i, func(u int) bool { return !slices.Contains(in, f.nodes[u].cluster) })
}

// anyReader reports whether a predicate holds for any reader of node i, directly or
// through views and recomputed values. Nodes that have not been visited count as
// readers themselves. A reader may have followed a recomputed value to node i before that value was stored in memory: it
// computes it still.
func (f *partitioner) anyReader(i int, so func(int) bool) bool {
	if slices.ContainsFunc(f.nodes[i].readBy, so) {
		return true
	}
	for _, u := range f.nodes[i].users {
		n := &f.nodes[u]
		if !n.live {
			continue
		}
		through := f.through(n)
		if through && f.anyReader(u, so) || (!through || n.cluster != nil) && so(u) {
			return true
		}
	}
	return false
}
