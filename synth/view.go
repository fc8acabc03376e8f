package synth

import (
	"nxvk/ops"
)

// view says where the element of each point of an iteration space lies in a
// buffer: offset + the sum of coordinates times strides, in elements. A stride of
// 0 repeats, a negative one runs backward.
type view struct {
	offset  int
	strides []int
}

// dense is the view of a whole tensor.
func dense(s ops.Shape) view { return view{strides: s.Strides()} }

// stretched is the view of a tensor that is broadcast to a space, aligned at
// the last dimension.
func stretched(s, space ops.Shape) view {
	v := view{strides: make([]int, len(space))}
	own, shift := s.Strides(), len(space)-len(s)
	for i, d := range s {
		if d > 1 {
			v.strides[shift+i] = own[i]
		}
	}
	return v
}

// collapse joins neighbouring dimensions that all views walk as one, and drops
// those of size 1. At least one dimension is left. The views are changed.
func collapse(dims []int, views []*view) []int {
	room := make([]int, (1+len(views))*(len(dims)+1))
	take := func() []int {
		l := room[: 0 : len(dims)+1]
		room = room[len(dims)+1:]
		return l
	}
	out := take()
	strides := make([][]int, len(views))
	for k := range strides {
		strides[k] = take()
	}
	for i, d := range dims {
		if d == 1 {
			continue
		}
		n := len(out)
		joins := n > 0
		for k, v := range views {
			joins = joins && strides[k][n-1] == v.strides[i]*d
		}
		if !joins {
			out = append(out, d)
			for k, v := range views {
				strides[k] = append(strides[k], v.strides[i])
			}
			continue
		}
		out[n-1] *= d
		for k, v := range views {
			strides[k][n-1] = v.strides[i]
		}
	}
	if len(out) == 0 {
		out = append(out, 1)
		for k := range views {
			strides[k] = append(strides[k], 0)
		}
	}
	for k, v := range views {
		v.strides = strides[k]
	}
	return out
}

// extent is one more than the greatest index that the view reaches.
func (v *view) extent(dims []int) int {
	n := v.offset + 1
	for i, s := range v.strides {
		n += max(s, 0) * (dims[i] - 1)
	}
	return n
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}
