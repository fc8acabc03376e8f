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
	n := &f.nodes[i]
	if f.alone(i, f.t.keepsOut(n.in, f.typesOf(n.in))); n.apart != "" {
		return
	}
	n.group.product, n.group.n, n.group.open = true, n.in.Outs[0].Type.Size(), []int{i}
	for _, o := range n.in.Ins {
		if o.Lit != nil {
			continue
		}
		n.group.see(sight{of: f.number(o.ID)})
	}
}

// joinsProduct is joins where one of the groups has a product.
func (f *fuser) joinsProduct(a, b *group) reason {
	switch {
	case a.product && b.product:
		return twoProducts
	case a.fold != nil || b.fold != nil:
		return foldsProduct
	case a.n != b.n:
		return otherSize
	case !f.reads(a, b) && !f.reads(b, a):
		return unrelated
	case a.cost+b.cost > maxProductCost:
		return tooLong
	}
	return f.aligned(a, b, RuleProducts)
}

// keepsOut says why nothing comes into the kernels of a product: they do not have its
// results as these lie in memory, or there is little to gain. A processor's take
// nothing in: a dispatch costs it little, and its caches have the results.
func (t *Target) keepsOut(in *ops.Instr, types []ops.Type) reason {
	out := in.Outs[0].Type
	switch {
	case !t.allows(RuleProducts):
		return off(RuleProducts)
	case t.CPU:
		return productOfCPU
	case out.DType.IsComplex() || !t.computes(out.DType) || dotSupported(out.DType.Wide(), types, t) != nil:
		return otherType
	case in.Op == ops.Conv && (in.Ins[0].Lit != nil || in.Ins[1].Lit != nil):
		return readsTensor
	case in.Op == ops.Conv:
		return newConvolution(in, types, t).keepsOut()
	}
	k := 1
	for _, ax := range in.Attrs[0] {
		k *= types[0].Shape[ax]
	}
	if !pays(out.Size(), k) {
		return longProduct
	}
	return ""
}

// pays reports whether a pass over the results of a product counts beside sums of
// k terms.
func pays(results, k int) bool { return results <= manyProducts || k < longSum }

// keepsOut is that of a convolution.
func (c *convolution) keepsOut() reason {
	switch {
	case !pays(c.in.Outs[0].Type.Size(), c.depth()):
		return longProduct
	case !c.inOrder():
		return otherProduct
	}
	return ""
}

// inOrder reports whether the kernels of a convolution have its results as these lie in
// memory.
func (c *convolution) inOrder() bool {
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
