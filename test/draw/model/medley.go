package model

import (
	"slices"

	"nxvk/ops"
	"nxvk/test/draw"
)

// medley adds a block of other operations to x, whose shape it keeps: concatenations, divisions and stacks along any axis,
// pads, slices, gathers, updates, sorts, running sums, reductions of any axes.
func (m *Model) medley(x ops.Operand) ops.Operand {
	y := x
	for range 1 + m.r.IntN(3) {
		y = m.change(y)
	}
	return m.e(ops.Add, x, m.e(ops.Multiply, m.e(ops.Tanh, y), m.num(y, 0.5)))
}

// change is one such operation. The result has the shape of x.
func (m *Model) change(x ops.Operand) ops.Operand {
	s := m.shape(x)
	axis := m.r.IntN(len(s))
	n := s[axis]
	switch m.r.IntN(12) {
	case 0:
		return m.divided(x, axis)
	case 1: // twice as long, and the half of it
		y := m.concat(axis, m.e(ops.Tanh, x), m.e(ops.Negate, x))
		starts, lengths, steps := make([]int, len(s)), slices.Clone([]int(s)), slices.Repeat([]int{1}, len(s))
		if steps[axis], lengths[axis] = 2, 2*n-1; m.r.IntN(2) == 0 {
			steps[axis], lengths[axis] = 1, n
			starts[axis] = m.r.IntN(n + 1)
		}
		return m.do(ops.Slice, m.dtype(x), nil, [][]int{starts, lengths, steps}, y)
	case 2:
		a := m.r.IntN(len(s) + 1)
		y := m.stack(a, m.e(ops.Sin, x), x, m.e(ops.Abs, x))
		return m.fold(ops.Sum, y, []int{a}, 0)
	case 3: // shifted by one
		cfg := make([]int, 3*len(s))
		cfg[3*axis], cfg[3*axis+1] = 1, -1
		if m.r.IntN(2) == 0 {
			cfg[3*axis], cfg[3*axis+1] = -1, 1
		}
		if n == 1 {
			cfg[3*axis], cfg[3*axis+1] = 0, 0
		}
		return m.do(ops.Pad, m.dtype(x), nil, [][]int{cfg}, x, m.num(x, 0))
	case 4:
		return m.do(ops.CumulativeSum, m.dtype(x), nil, [][]int{{axis}, {m.r.IntN(2)}}, m.e(ops.Multiply, x, m.num(x, 0.5)))
	case 5:
		return m.do(ops.Sort, m.dtype(x), nil, [][]int{{axis}, {m.r.IntN(2)}, {m.r.IntN(2)}}, x)
	case 6: // less a statistic of some axes
		over := m.r.Perm(len(s))[:1+m.r.IntN(len(s))]
		slices.Sort(over)
		op := []ops.Op{ops.Sum, ops.ReduceMax, ops.ReduceMin}[m.r.IntN(3)]
		return m.e(ops.Subtract, x, m.e(ops.Multiply, m.fold(op, x, over, 1), m.num(x, 1/float64(1+x0(s, over)))))
	case 7: // entries in another order, which is sorted or computed
		idx := m.do(ops.Argsort, ops.S32, nil, [][]int{{axis}, {0}, {1}}, m.e(ops.Sin, x))
		return m.do(ops.TakeAlongAxis, m.dtype(x), nil, [][]int{{axis}}, x, idx)
	case 8:
		idx := m.do(ops.Remainder, ops.S32, nil, nil, m.e(ops.Add, m.iota(ops.S32, 0, n), draw.Number(ops.S32, 1)), draw.Number(ops.S32, float64(n)))
		return m.do(ops.Take, m.dtype(x), nil, [][]int{{axis}}, x, idx)
	case 9:
		return m.updated(x, axis)
	case 10:
		return m.do(ops.Reverse, m.dtype(x), nil, [][]int{{axis}}, m.dropout(x))
	}
	return m.written(x, axis)
}

// x0 is how many elements some axes have.
func x0(s ops.Shape, over []int) int {
	n := 1
	for _, a := range over {
		n *= s[a]
	}
	return n
}

// divided is x in two parts that are computed apart and joined, in one order or the other.
func (m *Model) divided(x ops.Operand, axis int) ops.Operand {
	n := m.shape(x)[axis]
	if n == 1 {
		return m.e(ops.Sigmoid, x)
	}
	at := n / 2
	if m.r.IntN(2) == 0 {
		at = 1 + m.r.IntN(n-1)
	}
	a, b := m.activation(m.part(x, axis, 0, at)), m.e(ops.Negate, m.part(x, axis, at, n-at))
	if m.r.IntN(2) == 0 {
		a, b = b, a
	}
	return m.concat(axis, a, b)
}

// updated adds slices of x to other slices of it.
func (m *Model) updated(x ops.Operand, axis int) ops.Operand {
	s := m.shape(x)
	n := s[axis]
	idx := m.e(ops.Quotient, m.iota(ops.S32, 0, n, 1), draw.Number(ops.S32, 2))
	order := slices.Concat([]int{axis}, axes(0, axis), axes(axis+1, len(s)))
	u := m.transpose(m.e(ops.Sin, x), order...)
	return m.do(ops.IndexedAdd, m.dtype(x), nil, [][]int{{axis}}, x, idx, u)
}

// written puts a slice of x somewhere else, at a place that is computed or that the program is given.
func (m *Model) written(x ops.Operand, axis int) ops.Operand {
	s := m.shape(x)
	u := m.e(ops.Negate, m.part(x, axis, 0, 1+m.r.IntN(s[axis])))
	ins := []ops.Operand{x, u}
	for a := range s {
		o := draw.Number(ops.S32, 0)
		if a == axis {
			switch m.r.IntN(3) {
			case 0:
				o = m.position
			case 1:
				o = m.do(ops.Add, ops.S32, nil, nil, m.position, draw.Number(ops.S32, 1))
			}
		}
		ins = append(ins, o)
	}
	return m.do(ops.PutSlice, m.dtype(x), nil, [][]int{{}}, ins...)
}
