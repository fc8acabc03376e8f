package partition

import (
	"nxvk/ops"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
)

// The kernel of a contraction (dot, conv) carries out the elementwise operations on its
// result as an epilogue, if they are few operations an element, together with the other
// values that they read. The contraction reads its operands from memory, so their
// producers stay apart.

// maxProductCost bounds the cost of an epilogue for one element. A kernel repeats the
// epilogue for each of the dozens of results of an invocation, and drivers take long to
// compile long kernels.
const maxProductCost = 160

// startContraction gives a contraction a cluster that others may join.
func (f *partitioner) startContraction(i int) {
	n := &f.nodes[i]
	if f.isolate(i, f.keepsOut(n.in)); n.reason != "" {
		return
	}
	n.cluster.product, n.cluster.n, n.cluster.outputs = true, n.in.Outs[0].Type.Size(), []int{i}
	for _, o := range n.in.Ins {
		if o.Lit != nil {
			continue
		}
		n.cluster.addUse(fusion.Use{Of: f.number(o.ID)})
	}
}

// keepsOut gives the reason why a contraction takes no epilogue; see Capabilities.
func (f *partitioner) keepsOut(in *ops.Instr) Reason {
	if !f.t.Allows(lowering.RuleProducts) {
		return off(lowering.RuleProducts)
	}
	return f.caps.KeepsOut(in, f.typesOf(in), f.t)
}

// joinsProduct is joins if one of the clusters has a contraction.
func (f *partitioner) joinsProduct(a, b *cluster) Reason {
	switch {
	case a.product && b.product:
		return twoProducts
	case a.reduction != nil || b.reduction != nil:
		return reductionOfProduct
	case a.checks || b.checks:
		return gatherInProduct
	case a.n != b.n:
		return otherSize
	case !f.reads(a, b) && !f.reads(b, a):
		return unrelated
	case a.cost+b.cost > maxProductCost:
		return tooLong
	}
	return f.aligned(a, b, lowering.RuleProducts)
}
