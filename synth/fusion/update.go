package fusion

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// A put_slice is the store of a fusion: its kernel computes the slice and writes it where it goes, in
// a copy of the tensor or in the tensor itself (see lowering.InPlace). So a rotary embedding and its
// write to a cache are one kernel, and so are a repetition of heads and its write. The iteration space
// is the slice. The tensor and the starts are read from memory.

// updates reports whether an instruction is a put_slice.
func updates(in *ops.Instr) bool { return in.Op == ops.PutSlice }

// The operands of a put_slice; starts follow.
const (
	updateOf = iota // the tensor
	updateBy        // the slice
	updateAt        // the first start
)

// updatePattern classifies a put_slice. The kernel stores elements of the type of the tensor.
func (f *partitioner) updatePattern(in *ops.Instr) (opPattern, Reason) {
	out := in.Outs[0].Type
	for _, o := range in.Ins[:updateAt] {
		if o.Lit != nil || f.typeOf(o).DType != out.DType {
			return patternOpaque, ownKernels
		}
	}
	return patternElementwise, ""
}

// updatesAt reports whether an instruction is a put_slice that has the result of a node for its tensor or
// a start.
func updatesAt(in *ops.Instr, n *node) bool {
	return updates(in) && (n.gives(in.Ins[updateOf]) || slices.ContainsFunc(in.Ins[updateAt:], n.gives))
}

// gives reports whether an operand is the result of a node.
func (n *node) gives(o ops.Operand) bool { return o.Lit == nil && o.ID == n.in.Outs[0].ID }

// Update is the store of a trace that ends in a put_slice.
type Update struct {
	In     *ops.Instr
	Out    strided.View    // from a point to the place of its element in the tensor, but for the starts
	Starts []codegen.Shift // by sources
}

// update traces the slice of a put_slice, and where it goes.
func (tr *Trace) update(in *ops.Instr) (value int, err error) {
	s, u := in.Outs[0].Type.Shape, tr.typeOf(in.Ins[updateBy]).Shape
	at := make([]int, len(s))
	if len(in.Attrs[0]) > 0 {
		at = strided.ClampStarts(in.Attrs[0], s, u)
	}
	tr.Update = &Update{In: in}
	for i, o := range in.Ins[updateAt:] {
		if room := s[i] - u[i]; room > 0 {
			from, err := tr.start(o)
			if err != nil {
				return 0, err
			}
			tr.Update.Starts = append(tr.Update.Starts, codegen.Shift{From: from, Limit: room, Stride: s.Strides()[i]})
		}
	}
	if tr.Update.Out, err = tr.through(in.Outs[0].ID, tr.Full, u, strided.SliceView(s, at, nil)); err != nil {
		return 0, err
	}
	return tr.value(in.Ins[updateBy].ID, tr.Full)
}

// updateDeps adds the tensor of a put_slice to what the node reads from memory. It and the starts are
// not computed in the kernel, however few elements they have.
func (f *partitioner) updateDeps(n *node, deps []dep) []dep {
	for k, o := range n.in.Ins {
		j, ok := f.producer(o)
		if !ok || k == updateBy {
			continue
		}
		deps = slices.DeleteFunc(deps, func(d dep) bool { return d.node == j })
		deps = append(deps, dep{node: j})
	}
	n.uses = append(n.uses, bufferUse{of: f.number(n.in.Ins[updateOf].ID), by: ^uint64(0)})
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
	if len(f.outputs) != 1 || !updates(f.nodes[f.outputs[0]].in) {
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
	if u := f.unexplained(slices.Concat(other.items, put.items)); !f.traces(&u) {
		return otherOrder
	}
	return ""
}

// LastUpdate is the put_slice that ends a fusion, or nil.
func (u *Fusion) LastUpdate() *ops.Instr {
	if in := &u.Body[len(u.Body)-1]; updates(in) && len(u.Body) > 1 {
		return in
	}
	return nil
}
