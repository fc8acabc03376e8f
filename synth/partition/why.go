package partition

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
)

// Reason is why two instructions are not in one fusion; empty if they can be.
type Reason string

// Reasons that concern two clusters. "It" is the later one.
const (
	otherSize              Reason = "it has a different number of elements"
	otherOrder             Reason = "it reads the elements in a different order"
	otherReduction         Reason = "it reduces other axes, or a tensor of another layout"
	otherRows              Reason = "it reads elements of other rows"
	needsTotal             Reason = "it needs the whole reduction first"
	alsoRead               Reason = "another instruction also reads the elements that are reduced"
	noRows                 Reason = "a row is too long for the registers of one kernel"
	tooLong                Reason = "the kernel would take too long to compile"
	slowEpilogue           Reason = "an epilogue of so many operations takes longer than a kernel of its own"
	manyBuffers            Reason = "the kernel would need more buffers than can be bound"
	manyParameters         Reason = "the kernel would need more push constants than the device has"
	cycle                  Reason = "another fusion has to run between the two"
	twoProducts            Reason = "a kernel computes at most one contraction"
	reductionOfProduct     Reason = "a reduction cannot be fused with a contraction"
	dataDependentReduction Reason = "a reduction cannot read padding, or slices at offsets given by operands"
	waitsForProduct        Reason = "a product would have to wait for another one"
	gatherInProduct        Reason = "an epilogue reads no elements at indices"
	twoUpdates             Reason = "a kernel updates at most one tensor"
	updateOfOther          Reason = "an update is fused with elementwise operations only"
	readsUpdate            Reason = "it reads the whole tensor that is updated"
	otherResult            Reason = "another instruction also reads the slice"
	unrelated              Reason = "neither reads the other"
)

// Reasons that concern one instruction, the subject of the sentence.
const (
	ownKernels      Reason = "has kernels of its own"
	manyResults     Reason = "has several results"
	OtherType       Reason = "has a type that fused kernels do not support"
	ReadsTensor     Reason = "reads a constant tensor of the program"
	readsMemory     Reason = "reads its operands from memory"
	noStrides       Reason = "reads elements at places that strides cannot express"
	inMemory        Reason = "must be in memory"
	nothingToReduce Reason = "has nothing to reduce"
	manySpaces      Reason = "reads other values at indices that no single iteration space can express"
	ProductOfCPU    Reason = "has no epilogue on a processor"
	LongProduct     Reason = "takes so long that an epilogue saves little"
	OtherProduct    Reason = "has kernels that do not write its result in memory order"
)

// and joins two reasons.
func (r Reason) and(s Reason) Reason {
	if r == s {
		return r
	}
	return r + "; " + s
}

// off is the reason of a disabled rule.
func off(by lowering.Rules) Reason { return Reason("the rule " + by.String() + " is disabled") }

// Explain is Partition, and fills in Fusion.Why.
func Explain(g *fusion.Graph, t *lowering.Target, caps Capabilities) []fusion.Fusion {
	return newPartitioner(g, t, caps, map[[2]int]Reason{}).partition()
}

// why explains the fusion of some items.
func (f *partitioner) why(items []int) *fusion.Why {
	w := &fusion.Why{Rules: f.nodes[items[0]].cluster.rules}
	var readers []int
	for _, i := range items {
		w.Rules |= f.rulesOf(i)
		f.anyReader(i, func(u int) bool {
			computes := slices.Contains(f.nodes[u].body, i) // it by itself
			if f.nodes[u].cluster != f.nodes[i].cluster && !computes && !slices.Contains(readers, u) {
				readers = append(readers, u)
				w.Ends = append(w.Ends, fusion.End{Reader: f.nodes[u].in, Reason: string(f.reasonBetween(i, u))})
			}
			return false
		})
	}
	return w
}

// rulesOf lists the rules by which node i computes other nodes as well.
func (f *partitioner) rulesOf(i int) (by lowering.Rules) {
	for _, j := range f.nodes[i].body {
		switch {
		case j == i:
		case f.nodes[j].pattern == patternView || f.nodes[j].in.Op == ops.Pad || fusion.JoinsParts(f.nodes[j].in.Op):
			by |= lowering.RuleViews
		case f.nodes[j].pattern == patternElementwise && f.nodes[i].pattern == patternReduction:
			by |= lowering.RuleReduceIn
		case f.nodes[j].pattern == patternElementwise:
			by |= lowering.RulePointwise
		}
	}
	return by
}

// reasonBetween says why node u, which reads node i, is in another fusion.
func (f *partitioner) reasonBetween(i, u int) Reason {
	m, n := &f.nodes[i], &f.nodes[u]
	switch why := f.refused[[2]int{i, u}]; {
	case n.pattern == patternContraction:
		return n.subject(readsMemory)
	case n.reason != "":
		return n.subject(n.reason)
	case m.reason != "":
		return m.subject(m.reason)
	case why != "":
		return why
	}
	_, why := f.joins(m.cluster, n.cluster)
	return why
}

// reasonAlone is the reason of an instruction that others cannot join.
func (f *partitioner) reasonAlone(a, b *cluster) Reason {
	if b.n == 0 {
		a = b
	}
	n := &f.nodes[a.items[0]]
	return n.subject(n.reason)
}

func (n *node) subject(why Reason) Reason { return Reason(n.in.Op.String()) + " " + why }
