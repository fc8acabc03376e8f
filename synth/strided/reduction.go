package strided

import (
	"slices"

	"nxvk/ops"
)

// Equal reports whether two reductions have the same dimensions and layout.
func (r *Reduction) Equal(o *Reduction) bool {
	return slices.Equal(r.Kept, o.Kept) && slices.Equal(r.Reduced, o.Reduced) &&
		slices.Equal(r.KeptAt.Strides, o.KeptAt.Strides) && slices.Equal(r.ReducedAt.Strides, o.ReducedAt.Strides)
}

// Vectorized reports whether a view is contiguous along dimension r and its rows begin at
// multiples of group elements.
func Vectorized(v *View, r, group int) bool {
	if v.Strides[r] != 1 || v.Offset%group != 0 {
		return false
	}
	for _, s := range v.Strides[:r] {
		if s%group != 0 {
			return false
		}
	}
	return true
}

// Reduction is the iteration space of a reduction and the layout of its operand, or of a
// dense tensor in its place. The order of summation depends on nothing else.
type Reduction struct {
	Kept, Reduced     []int // dimensions of the result, and the reduced ones
	KeptAt, ReducedAt View
}

// NewReduction divides the dimensions of a tensor into kept and reduced ones.
func NewReduction(s ops.Shape, axes []int) Reduction {
	var r Reduction
	for i, stride := range s.Strides() {
		if slices.Contains(axes, i) {
			r.Reduced, r.ReducedAt.Strides = append(r.Reduced, s[i]), append(r.ReducedAt.Strides, stride)
		} else {
			r.Kept, r.KeptAt.Strides = append(r.Kept, s[i]), append(r.KeptAt.Strides, stride)
		}
	}
	r.Kept = Collapse(r.Kept, []*View{&r.KeptAt})
	r.Reduced = Collapse(r.Reduced, []*View{&r.ReducedAt})
	return r
}

// Elements is the number of elements of the operand.
func (r *Reduction) Elements() int { return Product(r.Kept) * Product(r.Reduced) }

// Columns is Components if neighbouring results reduce neighbouring elements, so that an
// invocation can load those of several results at once; else it is 1.
func (r *Reduction) Columns() int {
	last := len(r.Kept) - 1
	if r.Kept[last]%Components != 0 || !Vectorized(&r.KeptAt, last, Components) {
		return 1
	}
	for _, s := range r.ReducedAt.Strides {
		if s%Components != 0 {
			return 1
		}
	}
	return Components
}

// rows reports whether the elements of a result are contiguous.
func (r *Reduction) rows() bool {
	return len(r.Reduced) == 1 && r.ReducedAt.Strides[0] == 1
}

// across reports whether the elements of neighbouring results are contiguous.
func (r *Reduction) across() bool {
	last := len(r.Kept) - 1
	return r.Kept[last] > 1 && r.KeptAt.Strides[last] == 1
}
