package strided

import (
	"nxvk/ops"
)

// ViewOf gives, for an operation that only looks at its first operand in another
// way, the view of the operand over the shape of the result.
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

// BroadcastTo: dimension i of the operand is dimension axes[i] of the result.
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

// TransposeView: dimension i of the result is dimension axes[i] of the operand.
func TransposeView(in *ops.Instr, s ops.Shape) View {
	var v View
	own := s.Strides()
	for _, a := range in.Attrs[0] {
		v.Strides = append(v.Strides, own[a])
	}
	return v
}

// ReverseView walks axes backward.
func ReverseView(in *ops.Instr, s ops.Shape) View {
	v := Dense(s)
	for _, a := range in.Attrs[0] {
		v.Offset += (s[a] - 1) * v.Strides[a]
		v.Strides[a] = -v.Strides[a]
	}
	return v
}

// croppedView is the view of a tensor that pad only crops.
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

// ClampStarts moves the starts of a slice of the given lengths so that it fits a shape.
func ClampStarts(starts []int, s ops.Shape, lengths []int) []int {
	at := make([]int, len(s))
	for i, start := range starts {
		at[i] = max(0, min(start, s[i]-lengths[i]))
	}
	return at
}

// SliceView is the view of a tensor from a point on, every step-th element.
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

// PadsAround reports whether something stands before, after or between the elements along
// dimension i of the operand of pad, rather than some of them being cropped.
func PadsAround(in *ops.Instr, i int) bool {
	cfg := in.Attrs[0][3*i:]
	return cfg[0] > 0 || cfg[1] > 0 || cfg[2] > 0
}
