package synth

import "nxvk/ops"

// viewOf gives, for an operation that only looks at its first operand in another
// way, the view of the operand over the shape of the result.
func viewOf(in *ops.Instr, s ops.Shape) (v view, ok bool) {
	switch in.Op {
	case ops.Reshape, ops.Squeeze:
		return dense(in.Outs[0].Type.Shape), true
	case ops.BroadcastTo:
		return broadcastView(in, s), true
	case ops.Transpose:
		return transposeView(in, s), true
	case ops.Reverse:
		return reverseView(in, s), true
	case ops.Slice:
		if len(in.Attrs[0]) < len(s) {
			return view{}, false // starts are operands
		}
		return part(s, fitted(in.Attrs[0], s, in.Attrs[1]), in.Attrs[2]), true
	case ops.Pad:
		return croppedView(in, s)
	}
	return view{}, false
}

// broadcastView: dimension i of the operand is dimension axes[i] of the result.
func broadcastView(in *ops.Instr, s ops.Shape) view {
	v := view{strides: make([]int, len(in.Outs[0].Type.Shape))}
	own := s.Strides()
	for i, a := range in.Attrs[0] {
		if s[i] > 1 {
			v.strides[a] = own[i]
		}
	}
	return v
}

// transposeView: dimension i of the result is dimension axes[i] of the operand.
func transposeView(in *ops.Instr, s ops.Shape) view {
	var v view
	own := s.Strides()
	for _, a := range in.Attrs[0] {
		v.strides = append(v.strides, own[a])
	}
	return v
}

// reverseView walks axes backward.
func reverseView(in *ops.Instr, s ops.Shape) view {
	v := dense(s)
	for _, a := range in.Attrs[0] {
		v.offset += (s[a] - 1) * v.strides[a]
		v.strides[a] = -v.strides[a]
	}
	return v
}

// croppedView is the view of a tensor that pad only crops.
func croppedView(in *ops.Instr, s ops.Shape) (v view, ok bool) {
	v = dense(s)
	for i, stride := range v.strides {
		if pads(in, i) {
			return view{}, false
		}
		v.offset -= in.Attrs[0][3*i] * stride
	}
	return v, true
}

// fitted moves the starts of a slice of the given lengths so that it fits a shape.
func fitted(starts []int, s ops.Shape, lengths []int) []int {
	at := make([]int, len(s))
	for i, start := range starts {
		at[i] = max(0, min(start, s[i]-lengths[i]))
	}
	return at
}

// part is the view of a tensor from a point on, every step-th element.
func part(s ops.Shape, at, steps []int) view {
	v := dense(s)
	for i := range v.strides {
		v.offset += at[i] * v.strides[i]
		if steps != nil {
			v.strides[i] *= steps[i]
		}
	}
	return v
}

// pads reports whether something stands before, after or between the elements along
// dimension i of the operand of pad, rather than some of them being cropped.
func pads(in *ops.Instr, i int) bool {
	cfg := in.Attrs[0][3*i:]
	return cfg[0] > 0 || cfg[1] > 0 || cfg[2] > 0
}
