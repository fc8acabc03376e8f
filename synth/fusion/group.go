package fusion

import (
	"bytes"
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// cluster is a unit in the making.
type cluster struct {
	items       []int              // instructions that are in no other unit, in order
	first, last int                // nodes
	n           int                // elements of a value of the unit; 0 where it is no kernel of one space
	fold        *strided.Reduction // how its reductions see them; nil where there are none
	product     bool               // it begins with a product of matrices, or a convolution
	shifted     bool               // it looks at padding, or where operands say
	kept        int                // elements that reductions leave
	folds       int                // reductions
	uses        []bufferUse        // what it reads from memory
	deps        []dep              // what the items read that other groups make
	open        []int              // items whose values are read outside
	lits        []litKey
	cost        int
	by          lowering.Rules // that brought its items together
	stamp       int
}

// litKey is a literal of a kernel, in the type in which it takes it.
type litKey struct {
	as  ops.DType
	lit *ops.Literal
}

// same reports whether one literal will do for both. One whose value is not known
// is like no other.
func (k litKey) same(o litKey) bool {
	return k.as == o.as && (k.lit == o.lit ||
		k.lit.Type.DType == o.lit.Type.DType && len(k.lit.Data) > 0 && bytes.Equal(k.lit.Data, o.lit.Data))
}

// literals are those of an instruction and of what it looks through.
func (f *partitioner) literals(i int) (known []litKey) {
	for _, j := range f.nodes[i].body {
		in := f.nodes[j].in
		for k, o := range in.Ins {
			if o.Lit != nil {
				known = addLiteral(known, litKey{LiteralType(in, f.typesOf(in), k), o.Lit})
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

// relation is how the elements of a value lie to those of the space that looks
// at them.
type relation uint8

const (
	askew  relation = iota // anyhow: the value must be in memory
	along                  // one for one
	spread                 // the last dimensions see one element
)

// dep is a value that another instruction makes, and how it is looked at.
type dep struct {
	node     int
	relation relation
	spread   int // points that see one element
}

// maxItems bounds the instructions of a unit, and maxCost what they take for an
// element: drivers take long for long kernels. A kernel with a reduction has its
// code for an element many times.
const (
	maxItems    = 512
	maxCost     = 1 << 13
	maxFoldCost = 1 << 10
)

// depsOf lists what a traced instruction reads from memory.
func (f *partitioner) depsOf(tr *Trace) []dep {
	var ds []dep
	movers := tr.movers()
	for k, s := range tr.Sources {
		if s.Kind != codegen.FromBuffer || s.Buffer.Ref.Index < 0 {
			continue
		}
		d := dep{node: s.Buffer.Ref.Index}
		if len(s.Shifts) > 0 || movers[k] {
			ds = append(ds, d)
			continue
		}
		if SameView(tr.Dims, s.View, tr.Full) {
			d.relation = along
			ds = append(ds, d)
			continue
		}
		full, v := tr.Full, s.View
		dims := strided.Collapse(tr.Dims, []*strided.View{&full, &v})
		r := len(dims) - 1
		switch {
		case v.Offset != 0 || full.Strides[r] != 1 || v.Strides[r] != 0:
		case r == 0, r == 1 && v.Strides[0] == 1 && full.Strides[0] == dims[1]:
			d.relation, d.spread = spread, dims[r]
		}
		ds = append(ds, d)
	}
	return ds
}

// start gives a node a group of its own, which reads deps.
func (f *partitioner) start(i int, deps []dep) {
	n := &f.nodes[i]
	g := &cluster{items: []int{i}, first: i, last: i, n: n.in.Outs[0].Type.Size(), uses: n.uses, deps: deps,
		open: []int{i}, cost: n.pull.cost, shifted: n.shifted}
	if n.pattern == patternReduction {
		g.kept, g.n, g.folds = g.n, f.typeOf(n.in.Ins[0]).Size(), 1
		lie := strided.NewReduction(f.typeOf(n.in.Ins[0]).Shape, n.in.Attrs[0])
		g.fold = &lie
	}
	g.lits = f.literals(i)
	n.group = g
}

// join makes the groups a and b one where one kernel can carry out both, or says why
// not. b has something that reads a.
func (f *partitioner) join(a, b *cluster) Reason {
	if a.n == 0 || b.n == 0 {
		return f.apartness(a, b)
	}
	by, why := f.joins(a, b)
	if why == "" {
		why = f.fits(a, b)
	}
	switch {
	case why != "":
		return why
	case f.between(a, b) || f.between(b, a):
		return inBetween
	}
	a.by |= b.by | by
	f.merge(a, b)
	return ""
}

func (f *partitioner) merge(a, b *cluster) {
	f.room = f.open(f.room[:0], a, b)
	a.open = append(a.open[:0], f.room...)
	if a.fold == nil {
		a.fold, a.kept = b.fold, b.kept
	}
	a.items = append(a.items, b.items...)
	if b.first < a.last {
		slices.Sort(a.items)
	}
	a.first, a.last = min(a.first, b.first), max(a.last, b.last)
	a.product, a.shifted = a.product || b.product, a.shifted || b.shifted
	a.n, a.cost, a.folds = max(a.n, b.n), a.cost+b.cost, a.folds+b.folds
	for _, k := range b.lits {
		a.lits = addLiteral(a.lits, k)
	}
	for _, i := range b.items {
		f.nodes[i].group = a
	}
	b.items = nil
	f.mergeReads(a, b)
}

// mergeReads has a read what b does, but for what either makes.
func (f *partitioner) mergeReads(a, b *cluster) {
	for _, s := range b.uses {
		a.see(s)
	}
	a.uses = slices.DeleteFunc(a.uses, func(s bufferUse) bool { return s.of >= 0 && f.nodes[s.of].group == a })
	for _, d := range b.deps {
		if !slices.Contains(a.deps, d) {
			a.deps = append(a.deps, d)
		}
	}
	a.deps = slices.DeleteFunc(a.deps, func(d dep) bool { return f.nodes[d.node].group == a })
}

// open adds the items of two groups whose values are read outside of them to a
// list. What is read inside alone stays so.
func (f *partitioner) open(is []int, a, b *cluster) []int {
	for _, g := range []*cluster{a, b} {
		for _, i := range g.open {
			if f.reachesOut(i, a, b) {
				is = append(is, i)
			}
		}
	}
	return is
}

// reachesOut reports whether the value of an item is read outside of the groups.
func (f *partitioner) reachesOut(i int, in ...*cluster) bool {
	n := &f.nodes[i]
	return n.memory || f.anyReader(i, func(u int) bool { return !slices.Contains(in, f.nodes[u].group) })
}

// anyReader reports whether some node is so that wants the value of node i, by way
// of views and of what is pulled. Nodes that have not been visited are readers
// themselves.
func (f *partitioner) anyReader(i int, so func(int) bool) bool {
	for _, u := range f.nodes[i].users {
		n := &f.nodes[u]
		if !n.live {
			continue
		}
		through := f.through(n)
		if through && f.anyReader(u, so) || (!through || n.group != nil) && so(u) {
			return true
		}
	}
	return false
}

// between reports whether some third group runs after a and before b, because it
// reads what a makes and b reads what it makes.
func (f *partitioner) between(a, b *cluster) bool {
	f.stamp++
	a.stamp, b.stamp = f.stamp, f.stamp
	stack := f.stack[:0]
	visited := 0
	push := func(g *cluster) {
		for _, d := range g.deps {
			h := f.nodes[d.node].group
			if h.stamp != f.stamp && h.last > a.first {
				h.stamp = f.stamp
				stack = append(stack, h)
			}
		}
	}
	defer func() { f.stack = stack }()
	push(b)
	for len(stack) > 0 {
		h := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if visited++; visited > maxVisits || f.reads(h, a) {
			return true
		}
		push(h)
	}
	return false
}

// maxVisits bounds a search among groups.
const maxVisits = 4096

// reads reports whether h reads what a makes.
func (f *partitioner) reads(h, a *cluster) bool {
	return slices.ContainsFunc(h.deps, func(d dep) bool { return f.nodes[d.node].group == a })
}
