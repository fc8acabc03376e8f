package fusion

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/lowering"
)

// Reason says why parts of a graph stay apart; empty where they need not.
type Reason string

// Reasons of two groups. "It" is what comes after.
const (
	otherSize      Reason = "it has another number of elements"
	otherOrder     Reason = "it reads the elements in another order"
	otherFold      Reason = "it reduces other axes, or elements that lie otherwise"
	otherRows      Reason = "it reads other elements than those of its row"
	needsTotal     Reason = "it needs the whole reduction first"
	wantedToo      Reason = "others read the elements that are reduced"
	noRows         Reason = "one kernel cannot hold such rows"
	tooLong        Reason = "the kernel would be too long for drivers"
	manyBuffers    Reason = "the kernel would take more buffers than can be bound"
	manyParameters Reason = "the kernel would take more parameters than the device has room for"
	inBetween      Reason = "something else has to run between the two"
	twoProducts    Reason = "a kernel has one product at most"
	foldsProduct   Reason = "a product takes no reduction in"
	foldsShifted   Reason = "a reduction takes nothing in that looks at padding, or where operands say"
	unrelated      Reason = "neither reads the other"
)

// Reasons of one instruction, which is their subject.
const (
	ownKernels   Reason = "has kernels of its own"
	manyResults  Reason = "has several results"
	OtherType    Reason = "has a type that these kernels do not compute"
	ReadsTensor  Reason = "reads a tensor that is part of the program"
	readsMemory  Reason = "reads its operands from memory"
	noStrides    Reason = "has its elements where no strides lead"
	inMemory     Reason = "must lie in memory"
	notFolding   Reason = "has nothing to reduce"
	otherSpace   Reason = "looks at the others of its kernel in ways that no one space has"
	ProductOfCPU Reason = "takes nothing in on a processor"
	LongProduct  Reason = "takes so long that a pass over its results hardly counts"
	OtherProduct Reason = "has kernels that make its results in another order than memory has"
)

// and is both reasons.
func (r Reason) and(s Reason) Reason {
	if r == s {
		return r
	}
	return r + "; " + s
}

// off is the reason of a rule that is switched off.
func off(by lowering.Rules) Reason { return Reason("the rule " + by.String() + " is switched off") }

// Why tells how a unit has become what it is.
type Why struct {
	Rules lowering.Rules // that brought its instructions together
	Ends  []End          // of others that read its values, each once, in order
}

// End tells why an instruction that reads a value of a unit is not part of it.
type End struct {
	Reader *ops.Instr
	Reason string
}

// Explain is partition, with what Fusion.Why tells.
func Explain(g *Graph, t *lowering.Target, caps Capabilities) []Fusion {
	return newPartitioner(g, t, caps, map[[2]int]Reason{}).partition()
}

// why tells how the unit of items has become what it is.
func (f *partitioner) why(items []int) *Why {
	w := &Why{Rules: f.nodes[items[0]].group.by}
	var readers []int
	for _, i := range items {
		w.Rules |= f.looked(i)
		f.anyReader(i, func(u int) bool {
			computes := slices.Contains(f.nodes[u].body, i) // it by itself
			if f.nodes[u].group != f.nodes[i].group && !computes && !slices.Contains(readers, u) {
				readers = append(readers, u)
				w.Ends = append(w.Ends, End{f.nodes[u].in, string(f.apart(i, u))})
			}
			return false
		})
	}
	return w
}

// looked says by which rules node i has what it looks through.
func (f *partitioner) looked(i int) (by lowering.Rules) {
	for _, j := range f.nodes[i].body {
		switch {
		case j == i:
		case f.nodes[j].pattern == patternView || f.nodes[j].in.Op == ops.Pad:
			by |= lowering.RuleViews
		case f.nodes[j].pattern == patternElementwise && f.nodes[i].pattern == patternReduction:
			by |= lowering.RuleReduceIn
		case f.nodes[j].pattern == patternElementwise:
			by |= lowering.RulePointwise
		}
	}
	return by
}

// apart says why node u, which reads node i, is not in its unit.
func (f *partitioner) apart(i, u int) Reason {
	m, n := &f.nodes[i], &f.nodes[u]
	switch why := f.refused[[2]int{i, u}]; {
	case n.pattern == patternContraction:
		return n.subject(readsMemory)
	case n.apart != "":
		return n.subject(n.apart)
	case m.apart != "":
		return m.subject(m.apart)
	case why != "":
		return why
	}
	_, why := f.joins(m.group, n.group)
	return why
}

// apartness is what join says of groups of which one is an instruction that others do
// not join.
func (f *partitioner) apartness(a, b *cluster) Reason {
	if b.n == 0 {
		a = b
	}
	n := &f.nodes[a.items[0]]
	return n.subject(n.apart)
}

func (n *node) subject(why Reason) Reason { return Reason(n.in.Op.String()) + " " + why }
