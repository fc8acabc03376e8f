package synth

import (
	"slices"

	"nxvk/ops"
)

// reason says why parts of a graph stay apart; empty where they need not.
type reason string

// Reasons of two groups. "It" is what comes after.
const (
	otherSize      reason = "it has another number of elements"
	otherOrder     reason = "it reads the elements in another order"
	otherFold      reason = "it reduces other axes, or elements that lie otherwise"
	otherRows      reason = "it reads other elements than those of its row"
	needsTotal     reason = "it needs the whole reduction first"
	wantedToo      reason = "others read the elements that are reduced"
	noRows         reason = "one kernel cannot hold such rows"
	tooLong        reason = "the kernel would be too long for drivers"
	manyBuffers    reason = "the kernel would take more buffers than can be bound"
	manyParameters reason = "the kernel would take more parameters than the device has room for"
	inBetween      reason = "something else has to run between the two"
	twoProducts    reason = "a kernel has one product at most"
	foldsProduct   reason = "a product takes no reduction in"
	foldsShifted   reason = "a reduction takes nothing in that looks at padding, or where operands say"
	unrelated      reason = "neither reads the other"
)

// Reasons of one instruction, which is their subject.
const (
	ownKernels   reason = "has kernels of its own"
	manyResults  reason = "has several results"
	otherType    reason = "has a type that these kernels do not compute"
	readsTensor  reason = "reads a tensor that is part of the program"
	readsMemory  reason = "reads its operands from memory"
	noStrides    reason = "has its elements where no strides lead"
	inMemory     reason = "must lie in memory"
	notFolding   reason = "has nothing to reduce"
	otherSpace   reason = "looks at the others of its kernel in ways that no one space has"
	productOfCPU reason = "takes nothing in on a processor"
	longProduct  reason = "takes so long that a pass over its results hardly counts"
	otherProduct reason = "has kernels that make its results in another order than memory has"
)

// and is both reasons.
func (r reason) and(s reason) reason {
	if r == s {
		return r
	}
	return r + "; " + s
}

// off is the reason of a rule that is switched off.
func off(by Rules) reason { return reason("the rule " + by.String() + " is switched off") }

// Why tells how a unit has become what it is.
type Why struct {
	Rules Rules // that brought its instructions together
	Ends  []End // of others that read its values, each once, in order
}

// End tells why an instruction that reads a value of a unit is not part of it.
type End struct {
	Reader *ops.Instr
	Reason string
}

// explained is partition, with what Unit.Why tells.
func explained(g *Graph, t *Target, caps Capabilities) []Unit {
	return newFuser(g, t, caps, map[[2]int]reason{}).cut()
}

// why tells how the unit of items has become what it is.
func (f *fuser) why(items []int) *Why {
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
func (f *fuser) looked(i int) (by Rules) {
	for _, j := range f.nodes[i].body {
		switch {
		case j == i:
		case f.nodes[j].role == roleView || f.nodes[j].in.Op == ops.Pad:
			by |= RuleViews
		case f.nodes[j].role == rolePoint && f.nodes[i].role == roleFold:
			by |= RuleReduceIn
		case f.nodes[j].role == rolePoint:
			by |= RulePointwise
		}
	}
	return by
}

// apart says why node u, which reads node i, is not in its unit.
func (f *fuser) apart(i, u int) reason {
	m, n := &f.nodes[i], &f.nodes[u]
	switch why := f.refused[[2]int{i, u}]; {
	case n.role == roleProduct:
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
func (f *fuser) apartness(a, b *group) reason {
	if b.n == 0 {
		a = b
	}
	n := &f.nodes[a.items[0]]
	return n.subject(n.apart)
}

func (n *node) subject(why reason) reason { return reason(n.in.Op.String()) + " " + why }
