// Package tile has what kernels of attention are built of: operands that are batches of matrices, tiles
// of them in shared memory, and products of tiles by fused multiply-adds.
package tile

import (
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/fusion"
	"nxvk/synth/strided"
)

// The groups of dimensions of a tensor: the batch, then the rows and the columns of its matrices.
const (
	Batch = iota
	Rows
	Columns
	Groups
)

// Operand is a batch of matrices in memory. Each group of dimensions has sizes and strides.
type Operand struct {
	Buffer  codegen.Buffer
	DType   ops.DType
	Offset  int
	Dims    [Groups][]int
	Strides [Groups][]int
}

// NewOperand finds the matrices of a value of a body, by its axes of the batch, the rows and the columns.
func NewOperand(body *fusion.Fusion, id ops.ID, types func(ops.ID) ops.Type, parts ...[]int) (o Operand, err error) {
	t := types(id)
	dims, s, err := body.Load(id, slices.Concat(parts...), types)
	if err != nil {
		return o, err
	}
	o = Operand{Buffer: s.Buffer, DType: t.DType, Offset: s.Offset}
	sizes := [Groups]int{Size(t.Shape, parts[Batch]), Size(t.Shape, parts[Rows]), Size(t.Shape, parts[Columns])}
	for g, part := range Divide(dims, sizes) {
		view := strided.View{Strides: slices.Clone(s.Strides[part[0]:part[1]])}
		o.Dims[g] = strided.Collapse(dims[part[0]:part[1]], []*strided.View{&view})
		o.Strides[g] = view.Strides
	}
	return o, nil
}

// Divide finds which dimensions are those of each group, by their sizes.
func Divide(dims []int, sizes [Groups]int) (parts [Groups][2]int) {
	at := 0
	for g, n := range sizes {
		parts[g][0] = at
		for product := 1; product < n; at++ {
			product *= dims[at]
		}
		if g == Columns {
			at = len(dims)
		}
		parts[g][1] = at
	}
	return parts
}

// Others are the axes of a shape that are in neither list.
func Others(s ops.Shape, a, b []int) (list []int) {
	for i := range s {
		if !slices.Contains(a, i) && !slices.Contains(b, i) {
			list = append(list, i)
		}
	}
	return list
}

// Size is the number of elements along axes.
func Size(s ops.Shape, axes []int) int {
	n := 1
	for _, a := range axes {
		n *= s[a]
	}
	return n
}

// Numbers are the parameters of an operand.
func (o *Operand) Numbers() []int {
	nums := []int{o.Offset}
	for g := range Groups {
		nums = append(nums, o.Dims[g][1:]...)
		nums = append(nums, o.Strides[g]...)
	}
	return nums
}

// Describe is the part of a kernel's key that the dimensions of an operand are.
func (o *Operand) Describe() (key string) {
	for g := range Groups {
		key += fmt.Sprintf(" %d", len(o.Dims[g]))
	}
	return key
}

// Size is the number of elements.
func (o *Operand) Size() int {
	n := 1
	for g := range Groups {
		n *= strided.Product(o.Dims[g])
	}
	return n
}

// Extent is one more than the greatest index.
func (o *Operand) Extent() int {
	n := o.Offset + 1
	for g := range Groups {
		for i, s := range o.Strides[g] {
			n += max(s, 0) * (o.Dims[g][i] - 1)
		}
	}
	return n
}

// InOrder reports whether the matrices of the batch are single rows of n columns that follow one another in memory, from
// its beginning on.
func (o *Operand) InOrder(n int) bool {
	if o.Offset != 0 || strided.Product(o.Dims[Columns]) != n || len(o.Dims[Columns]) != 1 || n > 1 && o.Strides[Columns][0] != 1 {
		return false
	}
	for i := len(o.Dims[Batch]) - 1; i >= 0; i-- {
		if d := o.Dims[Batch][i]; d > 1 && o.Strides[Batch][i] != n {
			return false
		}
		n *= o.Dims[Batch][i]
	}
	return true
}

// InGroups reports whether n columns from each multiple of n on are neighbours in memory, at a multiple of n
// elements.
func (o *Operand) InGroups(n int) bool {
	if len(o.Dims[Columns]) != 1 || o.Strides[Columns][0] != 1 || o.Offset%n != 0 {
		return false
	}
	for _, g := range []int{Batch, Rows} {
		for _, s := range o.Strides[g] {
			if s%n != 0 {
				return false
			}
		}
	}
	return true
}
