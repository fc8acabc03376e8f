package fusion

import (
	"nxvk/ops"
	"nxvk/synth/lowering"
)

// Operations on elements come into the kernel of a product of matrices, or of a
// convolution, whose results they take: as many as are few operations an element,
// together with what else they read. The product reads its operands as ever, so
// nothing that makes those joins.

// maxProductCost is the cost of an element up to which operations come into a
// product. Its kernels have the code for each result of an invocation, of which there
// are some dozens, and drivers take long for long kernels.
const maxProductCost = 160

// startContraction makes an instruction that is a product a unit that others may join.
func (f *partitioner) startContraction(i int) {
	n := &f.nodes[i]
	if f.alone(i, f.keepsOut(n.in)); n.apart != "" {
		return
	}
	n.group.product, n.group.n, n.group.open = true, n.in.Outs[0].Type.Size(), []int{i}
	for _, o := range n.in.Ins {
		if o.Lit != nil {
			continue
		}
		n.group.see(bufferUse{of: f.number(o.ID)})
	}
}

// keepsOut says why nothing comes into the kernels of a product; see Capabilities.
func (f *partitioner) keepsOut(in *ops.Instr) Reason {
	if !f.t.Allows(lowering.RuleProducts) {
		return off(lowering.RuleProducts)
	}
	return f.caps.KeepsOut(in, f.typesOf(in), f.t)
}

// joinsProduct is joins where one of the groups has a product.
func (f *partitioner) joinsProduct(a, b *cluster) Reason {
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
	return f.aligned(a, b, lowering.RuleProducts)
}
