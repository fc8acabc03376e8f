package strided

import (
	"nxvk/ops"
)

// ViewOf returns the view of the first operand over the shape of the result, for an operation
// that only rearranges it. s is the shape of the operand. ok is false for other operations.
func ViewOf(in *ops.Instr, s ops.Shape) (v View, ok bool) {
	switch in.Op {
	case ops.Reshape, ops.Squeeze:
		return Dense(in.Outs[0].Type.Shape), true
	case ops.BroadcastTo:
		return BroadcastTo(in, s), true
	case ops.Transpose:
		return TransposeView(in, s), true
	case ops.Reverse:
		return ReverseView(in, s), true
	case ops.Slice:
		if len(in.Attrs[0]) < len(s) {
			return View{}, false // starts are operands
		}
		return SliceView(s, ClampStarts(in.Attrs[0], s, in.Attrs[1]), in.Attrs[2]), true
	case ops.Pad:
		return croppedView(in, s)
	}
	return View{}, false
}

// BroadcastTo is the view of broadcast_to: dimension i of the operand is dimension axes[i] of the result.
func BroadcastTo(in *ops.Instr, s ops.Shape) View {
	v := View{Strides: make([]int, len(in.Outs[0].Type.Shape))}
	own := s.Strides()
	for i, a := range in.Attrs[0] {
		if s[i] > 1 {
			v.Strides[a] = own[i]
		}
	}
	return v
}

// TransposeView is the view of transpose: dimension i of the result is dimension axes[i] of the operand.
func TransposeView(in *ops.Instr, s ops.Shape) View {
	var v View
	own := s.Strides()
	for _, a := range in.Attrs[0] {
		v.Strides = append(v.Strides, own[a])
	}
	return v
}

// ReverseView is the view of reverse: some axes run backward.
func ReverseView(in *ops.Instr, s ops.Shape) View {
	v := Dense(s)
	for _, a := range in.Attrs[0] {
		v.Offset += (s[a] - 1) * v.Strides[a]
		v.Strides[a] = -v.Strides[a]
	}
	return v
}

// croppedView is the view of a pad with negative padding only.
func croppedView(in *ops.Instr, s ops.Shape) (v View, ok bool) {
	v = Dense(s)
	for i, stride := range v.Strides {
		if PadsAround(in, i) {
			return View{}, false
		}
		v.Offset -= in.Attrs[0][3*i] * stride
	}
	return v, true
}

// ClampStarts moves the starts of a slice of the given lengths so that the slice fits a shape.
func ClampStarts(starts []int, s ops.Shape, lengths []int) []int {
	at := make([]int, len(s))
	for i, start := range starts {
		at[i] = max(0, min(start, s[i]-lengths[i]))
	}
	return at
}

// SliceView is the view of every step-th element from a start.
func SliceView(s ops.Shape, at, steps []int) View {
	v := Dense(s)
	for i := range v.Strides {
		v.Offset += at[i] * v.Strides[i]
		if steps != nil {
			v.Strides[i] *= steps[i]
		}
	}
	return v
}

// PadsAround reports whether pad adds elements before, after or between those along
// dimension i, and does not only crop them.
func PadsAround(in *ops.Instr, i int) bool {
	cfg := in.Attrs[0][3*i:]
	return cfg[0] > 0 || cfg[1] > 0 || cfg[2] > 0
}
