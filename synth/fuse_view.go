package synth

import (
	"errors"
	"fmt"

	"nxvk/ops"
)

// errView says that a view of a view is no view: its elements do not lie at
// offset + coordinates times strides.
var errView = errors.New("no strides lead there")

// splitError says that a view of a view is one if a dimension of the space is cut
// in two, of which the inner has so many points.
type splitError struct{ dim, inner int }

// Error names the dimension.
func (s *splitError) Error() string {
	return fmt.Sprintf("dimension %d must be cut into parts of %d", s.dim, s.inner)
}

// through composes views: v leads from a space to the elements of a tensor of
// shape s, and w from the coordinates of that tensor to other elements.
func through(dims []int, v view, s ops.Shape, w view) (view, error) {
	own := dense(s)
	shape := collapse(s, []*view{&own, &w})
	if len(shape) == 1 && w.strides[0] == own.strides[0] && w.offset == 0 {
		return v, nil
	}
	digits, out := v.offset, view{offset: w.offset, strides: make([]int, len(dims))}
	start, low, high := make([]int, len(shape)), make([]int, len(shape)), make([]int, len(shape))
	for j, t := range own.strides {
		if t > 0 { // 0 where there is but one element
			start[j] = digits / t
			digits %= t
		}
		out.offset += start[j] * w.strides[j]
		low[j], high[j] = start[j], start[j]
	}
	for i, stride := range v.strides {
		if dims[i] == 1 || stride == 0 {
			continue
		}
		j, steps := dimensionOf(stride, own.strides)
		if j < 0 {
			return view{}, errView
		}
		out.strides[i] = steps * w.strides[j]
		low[j] += min(steps, 0) * (dims[i] - 1)
		high[j] += max(steps, 0) * (dims[i] - 1)
		if low[j] < 0 || high[j] >= shape[j] {
			return view{}, overflow(i, dims[i], steps, start[j], shape[j])
		}
	}
	return out, nil
}

// dimensionOf finds the dimension along which a stride walks, and how far.
func dimensionOf(stride int, own []int) (j, steps int) {
	for j, t := range own {
		if t > 0 && t <= max(stride, -stride) {
			if stride%t != 0 {
				return -1, 0
			}
			return j, stride / t
		}
	}
	return -1, 0
}

// overflow says how dimension i of a space, which walks over the end of a
// dimension of so many elements, may be cut at that end.
func overflow(i, points, steps, start, size int) error {
	edge := 0
	if steps < 0 {
		steps, edge = -steps, size-1
	}
	if start != edge || size%steps != 0 {
		return errView
	}
	if inner := size / steps; inner > 1 && inner < points && points%inner == 0 {
		return &splitError{i, inner}
	}
	return errView
}

// cut is the view when dimension i of its space is cut in two.
func (v view) cut(i, inner int) view {
	c := view{offset: v.offset}
	for k, s := range v.strides {
		if k == i {
			c.strides = append(c.strides, s*inner)
		}
		c.strides = append(c.strides, s)
	}
	return c
}
