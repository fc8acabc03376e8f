package partition

import (
	"slices"

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

// maxFollowing bounds how many nodes behind a contraction are looked at.
const maxFollowing = 256

// startContraction gives a contraction a cluster that others may join.
func (f *partitioner) startContraction(i int) {
	n := &f.nodes[i]
	if f.isolate(i, f.keepsOut(n.in)); n.reason != "" {
		return
	}
	n.cluster.product, n.cluster.n, n.cluster.outputs = true, n.in.Outs[0].Type.Size(), []int{i}
	n.cluster.most = f.mostOperations(i)
	for _, o := range n.in.Ins {
		if o.Lit != nil {
			continue
		}
		n.cluster.addUse(fusion.Use{Of: f.number(o.ID)})
	}
}

// mostOperations is the most that the epilogue of a contraction costs for an element. Where what follows the contraction costs
// more, it is all in a kernel of its own: with the first few operations in the epilogue, that kernel would read what they give and what
// they read.
func (f *partitioner) mostOperations(i int) int {
	in := f.nodes[i].in
	most := f.caps.MostOperations(in, f.typesOf(in), f.t)
	if most < maxProductCost && f.following(i) > most {
		return 0
	}
	return min(most, maxProductCost)
}

// following is what the elementwise operations cost that follow a contraction, for an element.
func (f *partitioner) following(i int) (cost int) {
	n, known := f.nodes[i].in.Outs[0].Type.Size(), map[int]bool{i: false}
	for list, at := []int{i}, 0; at < len(list) && len(known) < maxFollowing; at++ {
		for _, u := range f.nodes[list[at]].users {
			x := &f.nodes[u]
			if slices.Contains(list, u) || x.in.Outs[0].Type.Size() != n || f.behind(u, i, known) {
				continue
			}
			if list = append(list, u); x.pattern == patternElementwise {
				cost += fusion.Cost(f.t, x.in, f.typesOf(x.in))
			}
		}
	}
	return cost
}

// behind reports whether a node needs more than elementwise operations on the results of a contraction and on what comes
// before it, such as a reduction of these results. known has the answers so far.
func (f *partitioner) behind(u, contraction int, known map[int]bool) bool {
	if yes, ok := known[u]; ok || u < contraction {
		return yes
	}
	p := f.nodes[u].pattern
	yes := p == patternContraction || p == patternReduction || p == patternOpaque
	for _, o := range f.nodes[u].in.Ins {
		yes = yes || o.Lit == nil && f.behind(f.number(o.ID), contraction, known)
	}
	known[u] = yes
	return yes
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
	case a.cost+b.cost > max(a.most, b.most): // one of them is 0
		return slowEpilogue
	case f.waits(a, b) || f.waits(b, a):
		return waitsForProduct
	}
	return f.aligned(a, b, lowering.RuleProducts)
}

// waits reports whether a small product a would have to wait for another one if it had the operations of b as its
// epilogue. Apart, the products run side by side, and a reader of b may carry it out; see chained.
func (f *partitioner) waits(a, b *cluster) bool {
	if f.t.CPU || !f.t.Allows(lowering.RuleChains) || a.n > maxChained || !f.ofVector(a) {
		return false
	}
	for _, d := range b.deps {
		c := f.nodes[d.node].cluster
		if c == a || !f.ofVector(c) || f.reads(c, a) || f.reads(a, c) {
			continue
		}
		if !f.between(a, c) {
			return true
		}
	}
	return false
}

// ofVector reports whether a cluster begins with a product of one vector.
func (f *partitioner) ofVector(g *cluster) bool {
	in := f.nodes[g.items[0]].in
	if !g.product || in.Op != ops.Dot {
		return false
	}
	terms := 1
	for _, a := range in.Attrs[0] {
		terms *= f.typeOf(in.Ins[0]).Shape[a]
	}
	return f.typeOf(in.Ins[0]).Size() == terms || f.typeOf(in.Ins[1]).Size() == terms
}
