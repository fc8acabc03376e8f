package dot

import (
	"slices"

	"nxvk/ops"
)

// Axes are those of one operand of a dot by their part in it, each list in the
// order in which its axes follow each other in the batch, the free dimension
// of the matrix, and the sum.
type Axes struct {
	Shape                  ops.Shape
	Batch, Outer, Contract []int
	Left                   bool
	Rows                   bool // the contracted axes are to be innermost
}

// pairAxes sorts the axes of both operands. The contracted axes, whose order
// is ours to choose, take the first order in which neither operand has to be
// transposed, or else that of the left operand; k is their size.
func pairAxes(l, r ops.Shape, attrs [][]int) (left, right Axes, k int) {
	cl, bl, cr, br := attrs[0], attrs[1], attrs[2], attrs[3]
	left = Axes{Shape: l, Batch: bl, Outer: others(l, cl, bl), Left: true}
	right = Axes{Shape: r, Batch: br, Outer: others(r, cr, br)}
	pairs := make([]int, len(cl))
	for i := range pairs {
		pairs[i] = i
	}
	byAxis := func(list []int) []int {
		p := slices.Clone(pairs)
		slices.SortFunc(p, func(i, j int) int { return list[i] - list[j] })
		return p
	}
	take := func(order []int) bool {
		left.Contract, right.Contract = pick(cl, order), pick(cr, order)
		_, okLeft := left.collapse()
		_, okRight := right.collapse()
		return okLeft && okRight
	}
	if !take(byAxis(cl)) && !take(byAxis(cr)) {
		take(byAxis(cl))
	}
	return left, right, left.size(left.Contract)
}

func pick(list, order []int) []int {
	out := make([]int, len(order))
	for i, j := range order {
		out[i] = list[j]
	}
	return out
}

// others are the axes of a shape in none of the lists.
func others(s ops.Shape, lists ...[]int) []int {
	var out []int
	for ax := range s {
		if !slices.Contains(slices.Concat(lists...), ax) {
			out = append(out, ax)
		}
	}
	return out
}

func (a *Axes) size(list []int) int {
	n := 1
	for _, ax := range list {
		n *= a.Shape[ax]
	}
	return n
}

func (a *Axes) free() int    { return a.size(a.Outer) }
func (a *Axes) batches() int { return a.size(a.Batch) }

// collapse returns the strides of the operand as it lies in memory, if each
// list of axes steps through it evenly.
func (a *Axes) collapse() (matrix, bool) {
	strides := a.Shape.Strides()
	var m matrix
	ok := true
	for _, part := range []struct {
		axes   []int
		stride *int
	}{{a.Batch, &m.Batch}, {a.Outer, &m.Free}, {a.Contract, &m.Contract}} {
		n := 0 // elements between neighbours of the axis outside this one
		for _, ax := range slices.Backward(part.axes) {
			size, stride := a.Shape[ax], strides[ax]
			switch {
			case size == 1:
				continue
			case n == 0:
				*part.stride = stride
			case stride != n:
				ok = false
			}
			n = stride * size
		}
	}
	return m, ok
}

// order is the permutation that makes the operand a dense batch of matrices.
func (a *Axes) order() []int {
	if a.Left || a.Rows {
		return slices.Concat(a.Batch, a.Outer, a.Contract)
	}
	return slices.Concat(a.Batch, a.Contract, a.Outer)
}

// ordered returns the strides after that permutation.
func (a *Axes) ordered() matrix {
	free, contract := a.free(), a.size(a.Contract)
	m := matrix{Free: contract, Contract: 1, Batch: free * contract}
	if !a.Left && !a.Rows {
		m.Free, m.Contract = 1, free
	}
	return m
}
