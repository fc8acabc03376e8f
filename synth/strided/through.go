package strided

import (
	"errors"
	"fmt"

	"nxvk/ops"
)

// ErrView says that a view of a view is no view: its elements do not lie at
// offset + coordinates times strides.
var ErrView = errors.New("no strides lead there")

// SplitError says that a view of a view is one if a dimension of the space is cut
// in two, of which the inner has so many points.
type SplitError struct{ Dim, Inner int }

// Error names the dimension.
func (s *SplitError) Error() string {
	return fmt.Sprintf("dimension %d must be cut into parts of %d", s.Dim, s.Inner)
}

// Compose composes views: v leads from a space to the elements of a tensor of
// shape s, and w from the coordinates of that tensor to other elements.
func Compose(dims []int, v View, s ops.Shape, w View) (View, error) {
	own := Dense(s)
	shape := Collapse(s, []*View{&own, &w})
	if len(shape) == 1 && w.Strides[0] == own.Strides[0] && w.Offset == 0 {
		return v, nil
	}
	digits, out := v.Offset, View{Offset: w.Offset, Strides: make([]int, len(dims))}
	start, low, high := make([]int, len(shape)), make([]int, len(shape)), make([]int, len(shape))
	for j, t := range own.Strides {
		if t > 0 { // 0 where there is but one element
			start[j] = digits / t
			digits %= t
		}
		out.Offset += start[j] * w.Strides[j]
		low[j], high[j] = start[j], start[j]
	}
	for i, stride := range v.Strides {
		if dims[i] == 1 || stride == 0 {
			continue
		}
		j, steps := dimensionOf(stride, own.Strides)
		if j < 0 {
			return View{}, ErrView
		}
		out.Strides[i] = steps * w.Strides[j]
		low[j] += min(steps, 0) * (dims[i] - 1)
		high[j] += max(steps, 0) * (dims[i] - 1)
		if low[j] < 0 || high[j] >= shape[j] {
			return View{}, overflow(i, dims[i], steps, start[j], shape[j])
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
		return ErrView
	}
	if inner := size / steps; inner > 1 && inner < points && points%inner == 0 {
		return &SplitError{i, inner}
	}
	return ErrView
}

// Cut is the view when dimension i of its space is cut in two.
func (v View) Cut(i, inner int) View {
	c := View{Offset: v.Offset}
	for k, s := range v.Strides {
		if k == i {
			c.Strides = append(c.Strides, s*inner)
		}
		c.Strides = append(c.Strides, s)
	}
	return c
}
