package strided

import (
	"nxvk/ops"
)

// View is where the element of each point of an iteration space is in a buffer: Offset plus
// the sum of coordinates times Strides, in elements. A stride of 0 repeats an element, a
// negative one runs backward.
type View struct {
	Offset  int
	Strides []int
}

// Dense is the view of a whole tensor, in row-major order.
func Dense(s ops.Shape) View { return View{Strides: s.Strides()} }

// Broadcast is the view of a tensor that is broadcast to an iteration space, aligned at the
// last dimension.
func Broadcast(s, space ops.Shape) View {
	v := View{Strides: make([]int, len(space))}
	own, shift := s.Strides(), len(space)-len(s)
	for i, d := range s {
		if d > 1 {
			v.Strides[shift+i] = own[i]
		}
	}
	return v
}

// Collapse merges neighbouring dimensions that every view passes through as one, and drops
// dimensions of size 1. At least one dimension remains. The views are changed.
func Collapse(dims []int, views []*View) []int {
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
			joins = joins && strides[k][n-1] == v.Strides[i]*d
		}
		if !joins {
			out = append(out, d)
			for k, v := range views {
				strides[k] = append(strides[k], v.Strides[i])
			}
			continue
		}
		out[n-1] *= d
		for k, v := range views {
			strides[k][n-1] = v.Strides[i]
		}
	}
	if len(out) == 0 {
		out = append(out, 1)
		for k := range views {
			strides[k] = append(strides[k], 0)
		}
	}
	for k, v := range views {
		v.Strides = strides[k]
	}
	return out
}

// Extent is the greatest index that the view reaches, plus one.
func (v *View) Extent(dims []int) int {
	n := v.Offset + 1
	for i, s := range v.Strides {
		n += max(s, 0) * (dims[i] - 1)
	}
	return n
}

// Product is the product of dimensions: the number of points.
func Product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}
