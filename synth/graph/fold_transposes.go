package graph

import (
	"slices"

	"nxvk/ops"
)

// FoldTransposes returns a region in which a product reads an operand that was transposed for it alone as that lies, such as
// keys and values in a cache whose positions come before its heads (transpose folding, as XLA names it). The last
// axis stays the last, so that neighbours in memory stay neighbours of the same kind. What is transposed once before a loop stays.
//
// The terms of a sum are the same, but another tile may add them up in another order: a result is within
// the bound of products (decision 10 of ARCHITECTURE). The region that is given stays as it is.
func FoldTransposes(r *ops.Region) *ops.Region {
	f := &transposeFolder{rewriter: newRewriter(r)}
	f.rewrite = f.product
	return dropUnread(f.region(r))
}

type transposeFolder struct{ *rewriter }

// product rewrites a product of transposed operands.
func (f *transposeFolder) product(in *ops.Instr) bool {
	if in.Op != ops.Dot {
		return false
	}
	out := *in
	for i := range in.Ins {
		t := f.made[in.Ins[i].ID]
		if in.Ins[i].Lit != nil || t == nil || t.Op != ops.Transpose || t.Ins[0].Lit != nil || f.uses[in.Ins[i].ID] != 1 ||
			!keepsFree(t.Attrs[0], in.Attrs[2*i], in.Attrs[2*i+1]) || !f.isHere(in.Ins[i].ID) {
			continue
		}
		out.Ins, out.Attrs = slices.Clone(out.Ins), slices.Clone(out.Attrs)
		out.Ins[i] = t.Ins[0]
		for k := 2 * i; k < 2*i+2; k++ { // contracted axes, and those of the batch
			out.Attrs[k] = through(in.Attrs[k], t.Attrs[0])
		}
	}
	if slices.Equal(out.Ins, in.Ins) {
		return false
	}
	f.body = append(f.body, out)
	return true
}

// isHere reports whether a value is made in the region under way.
func (f *transposeFolder) isHere(id ops.ID) bool {
	return slices.ContainsFunc(f.body, func(in ops.Instr) bool { return len(in.Outs) > 0 && in.Outs[0].ID == id })
}

// keepsFree reports whether a permutation leaves the last axis where it is, and the order of the axes of an operand of a product
// that are neither contracted nor of the batch.
func keepsFree(axes, contract, batch []int) bool {
	last := len(axes) - 1
	if last < 0 || axes[last] != last {
		return false
	}
	before := -1
	for i, from := range axes {
		if slices.Contains(contract, i) || slices.Contains(batch, i) {
			continue
		}
		if from < before {
			return false
		}
		before = from
	}
	return true
}
