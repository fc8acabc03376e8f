package strided

import (
	"slices"

	"nxvk/ops"
)

// Gathered is how take, take_along_axis and gather read a tensor: the element of a point of
// the result lies where View leads and, for each of Axes, an index times the stride of that
// axis further. At leads to the indices, one view for each axis.
type Gathered struct {
	View
	At      []View
	Axes    []int
	Strides []int // of the axes
}

// GatherOf describes a take, take_along_axis or gather of a tensor of shape s by indices of
// shape idx.
func GatherOf(in *ops.Instr, s, idx ops.Shape) Gathered {
	g := Gathered{Axes: in.Attrs[0]}
	own, axis := s.Strides(), in.Attrs[0][0]
	for _, a := range g.Axes {
		g.Strides = append(g.Strides, own[a])
	}
	switch in.Op {
	case ops.Take:
		g.View.Strides = slices.Concat(own[:axis], make([]int, len(idx)), own[axis+1:])
		g.At = []View{{Strides: slices.Concat(make([]int, axis), idx.Strides(), make([]int, len(s)-axis-1))}}
	case ops.TakeAlongAxis:
		g.View = Dense(s)
		g.View.Strides[axis] = 0
		g.At = []View{Dense(idx)}
	default:
		outer := idx.Strides()[:len(idx)-1]
		g.View.Strides = make([]int, len(outer))
		for i, stride := range own {
			if !slices.Contains(g.Axes, i) {
				g.View.Strides = append(g.View.Strides, stride)
			}
		}
		for k := range g.Axes {
			g.At = append(g.At, View{Offset: k, Strides: slices.Concat(outer, make([]int, len(g.View.Strides)-len(outer)))})
		}
	}
	return g
}
