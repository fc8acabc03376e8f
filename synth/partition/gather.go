package partition

import (
	"nxvk/ops"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
)

// gatherPattern classifies an operation on indices.
func (f *partitioner) gatherPattern(in *ops.Instr) (opPattern, Reason) {
	switch {
	case !fusion.Gathers(in.Op) || in.Ins[0].Lit != nil || in.Ins[1].Lit != nil:
		return patternOpaque, ownKernels
	case !f.t.Allows(lowering.RuleViews):
		return patternOpaque, off(lowering.RuleViews)
	case f.typeOf(in.Ins[0]).DType != in.Outs[0].Type.DType:
		return patternOpaque, OtherType
	}
	return patternView, ""
}

// gatheredOnce reports whether a value that is read at indices is left to its only reader.
// If there are more, or one that reads it many times, it is sooner read once from where the elements lie
// apart, and then from memory.
func (f *partitioner) gatheredOnce(n *node) bool {
	reader := -1
	for _, u := range n.users {
		if !f.nodes[u].live {
			continue
		}
		if reader >= 0 && u != reader || f.widens(n, u) {
			return false
		}
		reader = u
	}
	return !n.inMemory
}

// manyTimes is how often a kernel may read the same index.
const manyTimes = 64

// widens reports whether a reader would read each index many times, as the operation that compares one
// index of each row with all positions.
func (f *partitioner) widens(n *node, u int) bool {
	for _, o := range f.nodes[u].in.Outs {
		if o.Type.Size() > manyTimes*n.in.Outs[0].Type.Size() {
			return true
		}
	}
	return false
}
