package synth

import "nxvk/ops"

// Operations on elements come into the kernel of a product of matrices, or of a
// convolution, whose results they take: as many as are few operations an element,
// together with what else they read. The product reads its operands as ever, so
// nothing that makes those joins.

// maxProductCost is the cost of an element up to which operations come into a
// product. Its kernels have the code for each result of an invocation, of which there
// are some dozens, and drivers take long for long kernels.
const maxProductCost = 160

// Where a sum is long, and there are so many that the device is busy, the product
// takes so long that a pass over its results is next to nothing.
const (
	longSum      = 2048
	manyProducts = 1 << 18
)

// product makes an instruction that is a product a unit that others may join.
func (f *fuser) product(i int) {
	f.alone(i)
	n := &f.nodes[i]
	if !f.t.allows(RuleProducts) || !f.t.ends(n.in, f.typesOf(n.in)) {
		return
	}
	n.group.product, n.group.n, n.group.open = true, n.in.Outs[0].Type.Size(), []int{i}
	n.group.reads = map[int]bool{}
	for _, o := range n.in.Ins {
		if o.Lit != nil {
			continue
		}
		j, ok := f.made[o.ID]
		if !ok {
			j = -1 - int(o.ID)
		}
		n.group.reads[j] = true
	}
}

// joinsProduct is joins where one of the groups has a product.
func (f *fuser) joinsProduct(a, b *group) bool {
	return a.product != b.product && a.fold == nil && b.fold == nil && a.n == b.n && a.cost+b.cost <= maxProductCost &&
		(f.reads(a, b) || f.reads(b, a)) && f.only(a, b, along) && f.only(b, a, along)
}

// ends reports whether the kernels of a product have its results as these lie in
// memory, and whether there is something to gain. A processor's take nothing in: a
// dispatch costs it little, and its caches have the results.
func (t *Target) ends(in *ops.Instr, types []ops.Type) bool {
	out := in.Outs[0].Type
	if t.CPU || out.DType.IsComplex() || !t.computes(out.DType) || dotSupported(out.DType.Wide(), types, t) != nil {
		return false
	}
	if in.Op == ops.Conv {
		return in.Ins[0].Lit == nil && in.Ins[1].Lit == nil && newConvolution(in, types, t).ends()
	}
	k := 1
	for _, ax := range in.Attrs[0] {
		k *= types[0].Shape[ax]
	}
	return pays(out.Size(), k)
}

// pays reports whether a pass over the results of a product counts beside sums of
// k terms.
func pays(results, k int) bool { return results <= manyProducts || k < longSum }

// ends is that of a convolution.
func (c *convolution) ends() bool {
	if !pays(c.in.Outs[0].Type.Size(), c.depth()) {
		return false
	}
	switch {
	case c.thin():
		return false
	case c.onePoint():
		return c.dense(c.pointOrder()...)
	case c.gathers():
		_, ok := c.gatherOrder()
		return ok
	}
	return len(c.parts()) == 1 && c.patchOrder() != nil
}
