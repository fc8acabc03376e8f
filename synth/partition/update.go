package partition

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
)

// updatePattern classifies a put_slice. The kernel stores elements of the type of the tensor.
func (f *partitioner) updatePattern(in *ops.Instr) (opPattern, Reason) {
	out := in.Outs[0].Type
	for _, o := range in.Ins[:fusion.UpdateAt] {
		if o.Lit != nil || f.typeOf(o).DType != out.DType {
			return patternOpaque, ownKernels
		}
	}
	return patternElementwise, ""
}

// updatesAt reports whether an instruction is a put_slice that has the result of a node for its tensor or
// a start.
func updatesAt(in *ops.Instr, n *node) bool {
	return fusion.Updates(in) && (n.gives(in.Ins[fusion.UpdateOf]) || slices.ContainsFunc(in.Ins[fusion.UpdateAt:], n.gives))
}

// gives reports whether an operand is the result of a node.
func (n *node) gives(o ops.Operand) bool { return o.Lit == nil && o.ID == n.in.Outs[0].ID }

// updateDeps adds the tensor of a put_slice to what the node reads from memory. It and the starts are
// not computed in the kernel, however few elements they have.
func (f *partitioner) updateDeps(n *node, deps []dep) []dep {
	for k, o := range n.in.Ins {
		j, ok := f.producer(o)
		if !ok || k == fusion.UpdateBy {
			continue
		}
		deps = slices.DeleteFunc(deps, func(d dep) bool { return d.node == j })
		deps = append(deps, dep{node: j})
	}
	n.uses = append(n.uses, fusion.Use{Of: f.number(n.in.Ins[fusion.UpdateOf].ID), By: ^uint64(0)})
	return deps
}

// joinsUpdate gives the reason why two clusters, one of which has a put_slice, are not one kernel.
func (f *partitioner) joinsUpdate(a, b *cluster) Reason {
	switch {
	case a.update && b.update:
		return twoUpdates
	case a.product || b.product || a.reduction != nil || b.reduction != nil:
		return updateOfOther
	case !f.t.Allows(lowering.RulePointwise):
		return off(lowering.RulePointwise)
	}
	put, other := a, b
	if b.update {
		put, other = b, a
	}
	if slices.ContainsFunc(other.deps, func(d dep) bool { return f.nodes[d.node].cluster == put }) {
		return readsUpdate
	}
	f.outputs = f.outputsOf(f.outputs[:0], a, b)
	if len(f.outputs) != 1 || !fusion.Updates(f.nodes[f.outputs[0]].in) {
		return otherResult
	}
	if a.n == b.n {
		return f.aligned(a, b, lowering.RulePointwise)
	}
	return f.repeats(put, other)
}

// maxRepeats bounds how often the kernel of a put_slice computes an element that is written to several
// places, such as a key that several heads share. To write it once and read it takes a dispatch more.
const maxRepeats = 8

// repeats gives the reason why the kernel of a put_slice does not compute the elements of another
// cluster as often as it writes them.
func (f *partitioner) repeats(put, other *cluster) Reason {
	if other.n > put.n || put.n > maxRepeats*other.n {
		return otherSize
	}
	if u := f.unexplained(slices.Concat(other.items, put.items)); !f.hasSpace(&u) {
		return otherOrder
	}
	return ""
}
