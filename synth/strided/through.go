package strided

import (
	"errors"
	"fmt"

	"nxvk/ops"
)

// ErrView says that strides cannot express the composition of two views.
var ErrView = errors.New("no strides lead there")

// SplitError says that strides can express a composition if dimension Dim of the iteration
// space is split in two, the inner one of Inner points.
type SplitError struct{ Dim, Inner int }

// Error names the dimension.
func (s *SplitError) Error() string {
	return fmt.Sprintf("dimension %d must be cut into parts of %d", s.Dim, s.Inner)
}

// Compose composes two views: v leads from an iteration space of dims to the elements of a
// tensor of shape s, and w from the coordinates of that tensor to other elements. The error is
// ErrView or a SplitError.
func Compose(dims []int, v View, s ops.Shape, w View) (View, error) {
	own := Dense(s)
	shape := Collapse(s, []*View{&own, &w})
	if len(shape) == 1 && w.Strides[0] == own.Strides[0] && w.Offset == 0 {
		return v, nil
	}
	digits, out := v.Offset, View{Offset: w.Offset, Strides: make([]int, len(dims))}
	start, low, high := make([]int, len(shape)), make([]int, len(shape)), make([]int, len(shape))
	for j, t := range own.Strides {
		if t > 0 { // 0 if there is only one element
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

// dimensionOf finds the dimension along which a stride advances, and by how many elements.
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

// overflow is the error of dimension i of a space that advances beyond the end of a dimension:
// a SplitError if it can be split at that end.
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

// Cut is the view after dimension i of its space was split in two.
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
