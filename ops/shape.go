package ops

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxElements is the largest number of elements of a tensor. With it, products of dimensions
// and element sizes fit in 63 bits.
const MaxElements = 1 << 48

// MaxRank is the largest number of dimensions.
const MaxRank = 64

// Shape is the dimensions of a tensor, outermost first; an empty shape is a
// scalar. Dimensions are at least 1: Nx has no empty tensors.
type Shape []int

// Type is the element type and the shape of a value.
type Type struct {
	DType DType
	Shape Shape
}

// ErrShape marks every error about dimensions.
var ErrShape = errors.New("shape")

// Size returns the number of elements. It is valid for checked shapes only.
func (s Shape) Size() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// Check reports whether the shape can be a tensor's.
func (s Shape) Check() error {
	if len(s) > MaxRank {
		return fmt.Errorf("%w has %d dimensions, at most %d are allowed", ErrShape, len(s), MaxRank)
	}
	n := 1
	for i, d := range s {
		if d < 1 {
			return fmt.Errorf("%w %v: dimension %d is %d, must be at least 1", ErrShape, s, i, d)
		}
		if d > MaxElements || n > MaxElements/d {
			return fmt.Errorf("%w %v has more than 2^48 elements", ErrShape, s)
		}
		n *= d
	}
	return nil
}

// Equal reports whether two shapes have the same dimensions.
func (s Shape) Equal(t Shape) bool { return slices.Equal(s, t) }

// String prints the shape as Elixir does: {2, 3}.
func (s Shape) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, d := range s {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, d)
	}
	b.WriteByte('}')
	return b.String()
}

// Strides returns the distance, in elements, between neighbours along each
// dimension of a dense row-major tensor.
func (s Shape) Strides() []int {
	st := make([]int, len(s))
	n := 1
	for i := len(s) - 1; i >= 0; i-- {
		st[i] = n
		n *= s[i]
	}
	return st
}

// Size returns the number of elements.
func (t Type) Size() int { return t.Shape.Size() }

// Bytes returns the bytes that a dense value of the type takes in memory.
func (t Type) Bytes() int { return t.Shape.Size() * t.DType.Size() }

// Equal reports whether two types are the same.
func (t Type) Equal(u Type) bool { return t.DType == u.DType && t.Shape.Equal(u.Shape) }

// String prints the type as f32{2, 3}.
func (t Type) String() string {
	if len(t.Shape) == 0 {
		return t.DType.String()
	}
	return t.DType.String() + t.Shape.String()
}

// Check reports whether the type can be a tensor's.
func (t Type) Check() error {
	if t.DType == Invalid || t.DType >= dtypeEnd {
		return errors.New("the element type is invalid")
	}
	return t.Shape.Check()
}

// Broadcast returns the shape to which two operands are broadcast, as in Nx: they are aligned at
// the last dimension, and a dimension of 1 is repeated.
func Broadcast(a, b Shape) (Shape, error) {
	if len(a) < len(b) {
		a, b = b, a
	}
	if a.Equal(b) {
		return a, nil
	}
	out := slices.Clone(a)
	off := len(a) - len(b)
	for i, d := range b {
		switch {
		case out[off+i] == d || d == 1:
		case out[off+i] == 1:
			out[off+i] = d
		default:
			return nil, fmt.Errorf("%w: cannot broadcast %v to %v", ErrShape, a, b)
		}
	}
	return out, nil
}

// BroadcastsTo reports whether Broadcast of s and t is t.
func (s Shape) BroadcastsTo(t Shape) bool {
	if len(s) > len(t) {
		return false
	}
	off := len(t) - len(s)
	for i, d := range s {
		if d != 1 && d != t[off+i] {
			return false
		}
	}
	return true
}
