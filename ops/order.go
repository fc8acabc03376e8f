package ops

import "slices"

// KeepsOrder reports whether the result of an instruction that moves elements has those of its first operand, of type
// from, in their order: its bytes are those of the operand, as those of a reshape are. A transposition of axes of one
// element keeps the order, and so does a slice of everything. Other operands are the number of a padding or
// the starts of a slice, and change nothing then.
func (in *Instr) KeepsOrder(from Type) bool {
	if len(in.Outs) != 1 || in.Outs[0].Type.DType != from.DType || in.Outs[0].Type.Size() != from.Size() {
		return false
	}
	wide := func(axis int) bool { return from.Shape[axis] > 1 }
	switch in.Op {
	case Reshape, Squeeze, AsType, Bitcast, Slice:
		return true
	case BroadcastTo:
		return increasing(in.Attrs[0], wide)
	case Transpose:
		// Axis i of the result is axes[i] of the operand.
		return slices.IsSorted(slices.DeleteFunc(slices.Clone(in.Attrs[0]), func(a int) bool { return !wide(a) }))
	case Reverse:
		return !slices.ContainsFunc(in.Attrs[0], wide)
	case Pad:
		return !slices.ContainsFunc(in.Attrs[0], func(n int) bool { return n != 0 })
	case Concatenate:
		return len(in.Ins) == 1
	}
	return false
}

// increasing reports whether those of the axes whose index counts are increasing.
func increasing(axes []int, counts func(i int) bool) bool {
	last := -1
	for i, a := range axes {
		if !counts(i) {
			continue
		}
		if a < last {
			return false
		}
		last = a
	}
	return true
}
