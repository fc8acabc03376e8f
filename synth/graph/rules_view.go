package graph

import (
	"bytes"
	"slices"

	"nxvk/ops"
)

// literalStarts brings starts that are literals into the attributes.
func literalStarts(w *work, in *ops.Instr) bool {
	first := 1
	switch in.Op {
	case ops.Slice:
	case ops.PutSlice:
		first = 2
	default:
		return false
	}
	if len(in.Ins) == first {
		return false
	}
	starts := make([]int, len(in.Ins)-first)
	for i, o := range in.Ins[first:] {
		lit := w.constantOf(o)
		if lit == nil {
			return false
		}
		n, ok := lit.Integer()
		if !ok {
			return false
		}
		starts[i] = int(n)
	}
	lengths := in.Attrs[1:]
	if in.Op == ops.PutSlice {
		lengths = [][]int{w.typeOf(in.Ins[1]).Shape}
	}
	in.Attrs = slices.Clone(in.Attrs)
	in.Attrs[0] = clamped(starts, w.typeOf(in.Ins[0]).Shape, lengths[0])
	in.Ins = in.Ins[:first:first]
	return true
}

// clamped brings starts to where pieces of the lengths fit.
func clamped(starts []int, s ops.Shape, lengths []int) []int {
	out := make([]int, len(starts))
	for i, at := range starts {
		out[i] = min(max(at, 0), s[i]-lengths[i])
	}
	return out
}

// asReshape replaces a movement that keeps the order of the elements by a
// reshape.
func asReshape(w *work, in *ops.Instr) bool {
	if in.Op == ops.Reshape || len(in.Ins) == 0 || len(in.Outs) != 1 || in.Ins[0].Lit != nil ||
		slices.ContainsFunc(in.Ins[1:], func(o ops.Operand) bool { return o.Lit == nil }) {
		return false
	}
	if !in.KeepsOrder(w.typeOf(in.Ins[0])) {
		return false
	}
	return become(in, ops.Reshape, in.Ins[:1:1])
}

// inner is the instruction of the same operation that makes the only operand.
func (w *work) inner(in *ops.Instr, op ops.Op) *ops.Instr {
	if in.Op != op || len(in.Ins) != 1 {
		return nil
	}
	m := w.producer(in.Ins[0])
	if m == nil || m.Op != op || len(m.Ins) != 1 || m.Ins[0].Lit != nil {
		return nil
	}
	return m
}

func reshapeTwice(w *work, in *ops.Instr) bool {
	m := w.inner(in, ops.Reshape)
	return m != nil && become(in, ops.Reshape, slices.Clone(m.Ins))
}

func transposeTwice(w *work, in *ops.Instr) bool {
	m := w.inner(in, ops.Transpose)
	return m != nil && become(in, ops.Transpose, slices.Clone(m.Ins), through(in.Attrs[0], m.Attrs[0]))
}

// through looks each index up.
func through(indices, in []int) []int {
	out := make([]int, len(indices))
	for i, k := range indices {
		out[i] = in[k]
	}
	return out
}

func reverseTwice(w *work, in *ops.Instr) bool {
	m := w.inner(in, ops.Reverse)
	if m == nil {
		return false
	}
	axes := []int{}
	for a := range in.Outs[0].Type.Shape {
		if slices.Contains(in.Attrs[0], a) != slices.Contains(m.Attrs[0], a) {
			axes = append(axes, a)
		}
	}
	return become(in, ops.Reverse, slices.Clone(m.Ins), axes)
}

func sliceTwice(w *work, in *ops.Instr) bool {
	m := w.inner(in, ops.Slice)
	if m == nil {
		return false
	}
	s, t := w.typeOf(m.Ins[0]).Shape, w.typeOf(in.Ins[0]).Shape
	at, off := clamped(m.Attrs[0], s, m.Attrs[1]), clamped(in.Attrs[0], t, in.Attrs[1])
	lengths, strides := make([]int, len(s)), make([]int, len(s))
	for i, n := range in.Outs[0].Type.Shape {
		at[i] += off[i] * m.Attrs[2][i]
		if strides[i] = 1; n > 1 {
			strides[i] = m.Attrs[2][i] * in.Attrs[2][i]
		}
		lengths[i] = (n-1)*strides[i] + 1
	}
	return become(in, ops.Slice, slices.Clone(m.Ins), at, lengths, strides)
}

func broadcastTwice(w *work, in *ops.Instr) bool {
	m := w.inner(in, ops.BroadcastTo)
	return m != nil && become(in, ops.BroadcastTo, slices.Clone(m.Ins), through(m.Attrs[0], in.Attrs[0]))
}

func bitcastTwice(w *work, in *ops.Instr) bool {
	m := w.inner(in, ops.Bitcast)
	if m == nil || in.Outs[0].Type.DType.Bits() < 8 {
		return false
	}
	return become(in, ops.Bitcast, slices.Clone(m.Ins))
}

// viewOfConstant replaces a view of a constant by a constant.
func viewOfConstant(w *work, in *ops.Instr) bool {
	switch in.Op {
	case ops.Reshape, ops.BroadcastTo, ops.Transpose, ops.Reverse, ops.Slice:
	default:
		return false
	}
	m := w.producer(in.Ins[0])
	return m != nil && m.Op == ops.Constant && become(in, ops.Constant, slices.Clone(m.Ins))
}

// updateOfConstant replaces a put_slice into a constant by padding, which needs no memory for the
// constant and may be fused.
func updateOfConstant(w *work, in *ops.Instr) bool {
	if in.Op != ops.PutSlice || len(in.Ins) != 2 || in.Ins[1].Lit != nil || len(in.Outs[0].Type.Shape) == 0 {
		return false
	}
	out, piece := in.Outs[0].Type, w.typeOf(in.Ins[1])
	lit := w.constantOf(in.Ins[0])
	if lit == nil || in.Ins[0].Lit != nil || lit.Type.DType != out.DType || piece.DType != out.DType {
		return false
	}
	config := make([]int, 0, 3*len(out.Shape))
	for i, at := range clamped(in.Attrs[0], out.Shape, piece.Shape) {
		config = append(config, at, out.Shape[i]-at-piece.Shape[i], 0)
	}
	return become(in, ops.Pad, []ops.Operand{in.Ins[1], {Lit: lit}}, config)
}

// constantBeside replaces a concatenation of one tensor and constants by a padding.
func constantBeside(w *work, in *ops.Instr) bool {
	if in.Op != ops.Concatenate || len(in.Ins) < 2 {
		return false
	}
	out, axis := in.Outs[0].Type, in.Attrs[0][0]
	var tensor *ops.Operand
	var lit *ops.Literal
	var beside [2]int // elements before and behind the tensor, along the axis
	for i := range in.Ins {
		o := &in.Ins[i]
		number := w.constantOf(*o)
		if number == nil && o.Lit != nil && len(o.Lit.Type.Shape) > 0 {
			number = numberOf(*o)
		}
		switch {
		case number == nil && (tensor != nil || o.Lit != nil || w.typeOf(*o).DType != out.DType):
			return false
		case number == nil:
			tensor = o
			continue
		case number.Type.DType != out.DType || number.Hold != nil || lit != nil && !bytes.Equal(lit.Data, number.Data):
			return false
		}
		lit = number
		if tensor == nil {
			beside[0] += w.typeOf(*o).Shape[axis]
		} else {
			beside[1] += w.typeOf(*o).Shape[axis]
		}
	}
	if tensor == nil {
		return false
	}
	config := make([]int, 3*len(out.Shape))
	config[3*axis], config[3*axis+1] = beside[0], beside[1]
	return become(in, ops.Pad, []ops.Operand{*tensor, {Lit: lit}}, config)
}

// viewOfNumber replaces a view of a literal of one element by a constant.
func viewOfNumber(_ *work, in *ops.Instr) bool {
	switch in.Op {
	case ops.Reshape, ops.Squeeze, ops.BroadcastTo, ops.Transpose, ops.Reverse:
	default:
		return false
	}
	lit := in.Ins[0].Lit
	if lit != nil && len(lit.Type.Shape) > 0 {
		lit = numberOf(in.Ins[0])
	}
	if lit == nil || lit.Hold != nil || lit.Type.DType != in.Outs[0].Type.DType {
		return false
	}
	return become(in, ops.Constant, []ops.Operand{{Lit: lit}})
}

// repeatedIndices takes slices where all elements of a slice have the same index, as when an image is resized.
func repeatedIndices(w *work, in *ops.Instr) bool {
	if in.Op != ops.TakeAlongAxis {
		return false
	}
	m := w.producer(in.Ins[1])
	if m == nil || m.Op != ops.BroadcastTo || m.Ins[0].Lit != nil {
		return false
	}
	axis, n := in.Attrs[0][0], m.Outs[0].Type.Shape[in.Attrs[0][0]]
	list := m.Ins[0]
	for i, size := range w.typeOf(list).Shape {
		if size != 1 && m.Attrs[0][i] != axis {
			return false
		}
	}
	if view := w.producer(list); view != nil && view.Op == ops.Reshape && view.Ins[0].Lit == nil {
		list = view.Ins[0]
	}
	return w.typeOf(list).Shape.Equal(ops.Shape{n}) && become(in, ops.Take, []ops.Operand{in.Ins[0], list}, in.Attrs[0])
}
