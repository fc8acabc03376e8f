package partition

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
)

// A concatenation takes no kernel if one kernel makes all its operands and only the
// concatenation reads them: that kernel writes them into the result, one behind the other.

// partAlign is the alignment of a part in bytes: the strictest of devices that bind buffers.
const partAlign = 256

// concatenated adds such concatenations to the fusions of their operands.
func (f *partitioner) concatenated(fusions []fusion.Fusion) []fusion.Fusion {
	makes, reads := make(map[ops.ID]int), make(map[ops.ID]int) // the fusion that makes a value, and how many read it
	for i := range fusions {
		for _, o := range fusions[i].Outs {
			makes[o.ID] = i
		}
		for _, id := range fusions[i].Ins {
			reads[id]++
		}
	}
	gone := make([]bool, len(fusions)) // they leave at the end: makes has their places
	for at := range fusions {
		u := &fusions[at]
		cat := &u.Body[0]
		if len(u.Body) != 1 || !f.adjoins(cat) || slices.ContainsFunc(cat.Ins, func(o ops.Operand) bool { return reads[o.ID] != 1 }) {
			continue
		}
		i, ok := makes[cat.Ins[0].ID]
		if !ok || !makesAll(&fusions[i], cat.Ins) {
			continue
		}
		concatenate(&fusions[i], cat)
		if u.Why != nil {
			passOn(fusions[i].Why, u.Why, cat)
		}
		gone[at] = true
	}
	kept := fusions[:0]
	for at := range fusions {
		if !gone[at] {
			kept = append(kept, fusions[at])
		}
	}
	return kept
}

// adjoins reports whether the operands of an instruction are the parts of a concatenation, in memory order.
func (f *partitioner) adjoins(in *ops.Instr) bool {
	if in.Op != ops.Concatenate || !f.t.Computes(in.Outs[0].Type.DType) || !f.t.Allows(lowering.RuleViews) {
		return false
	}
	if ops.Shape(in.Outs[0].Type.Shape[:in.Attrs[0][0]]).Size() != 1 {
		return false
	}
	seen := map[ops.ID]bool{}
	for i, o := range in.Ins {
		j, ok := f.producer(o)
		if !ok || seen[o.ID] || f.nodes[j].kept {
			return false
		}
		t := f.typeOf(o)
		if i < len(in.Ins)-1 && t.Bytes()%partAlign != 0 && !f.anywhere(in) || t.DType != in.Outs[0].Type.DType {
			return false
		}
		seen[o.ID] = true
	}
	return true
}

// anywhere reports whether the parts of a concatenation may begin at any element: the device reaches
// them by address, and they have one size, so that one kernel can make them.
func (f *partitioner) anywhere(in *ops.Instr) bool {
	size := f.typeOf(in.Ins[0]).Shape.Size()
	return f.t.Addresses && !f.t.CPU && !slices.ContainsFunc(in.Ins, func(o ops.Operand) bool { return f.typeOf(o).Shape.Size() != size })
}

// makesAll reports whether a fusion is one kernel without reductions that makes all operands.
func makesAll(u *fusion.Fusion, list []ops.Operand) bool {
	if len(u.Body) < 2 || u.FirstReduction() != nil {
		return false
	}
	return !slices.ContainsFunc(list, func(o ops.Operand) bool {
		return !slices.ContainsFunc(u.Outs, func(r ops.Result) bool { return r.ID == o.ID })
	})
}

// concatenate adds a concatenation to the fusion of its operands.
func concatenate(u *fusion.Fusion, in *ops.Instr) {
	u.Body = append(u.Body, *in)
	u.Outs = slices.DeleteFunc(u.Outs, func(r ops.Result) bool {
		return slices.ContainsFunc(in.Ins, func(o ops.Operand) bool { return o.ID == r.ID })
	})
	u.Outs = append(u.Outs, in.Outs...)
	u.Whole = append(u.Whole, in.Outs[0].ID)
}

// passOn adds the explanation of a concatenation to that of the fusion of its operands.
func passOn(w, cat *fusion.Why, in *ops.Instr) {
	w.Rules |= lowering.RuleViews
	w.Ends = slices.DeleteFunc(w.Ends, func(e fusion.End) bool { return e.Reader.Outs[0].ID == in.Outs[0].ID })
	w.Ends = append(w.Ends, cat.Ends...)
}
