package model

import (
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/test/draw"
)

// all adds an instruction of several results.
func (m *Model) all(op ops.Op, dtypes []ops.DType, shape ops.Shape, attrs [][]int, ins ...ops.Operand) []ops.Operand {
	outs, ok := m.Add(op, dtypes, shape, attrs, ins...)
	if !ok {
		var types []ops.Type
		for _, o := range ins {
			types = append(types, m.TypeOf(o))
		}
		panic(fmt.Sprintf("BUG: %v%v %v to %v%v", op, types, attrs, dtypes, shape))
	}
	return outs
}

// do adds an instruction; shape is nil where it follows from the operands.
func (m *Model) do(op ops.Op, d ops.DType, shape ops.Shape, attrs [][]int, ins ...ops.Operand) ops.Operand {
	return m.all(op, []ops.DType{d}, shape, attrs, ins...)[0]
}

// e adds an operation on elements. Literals take the type of the tensors beside them, as Nx has it.
func (m *Model) e(op ops.Op, ins ...ops.Operand) ops.Operand {
	from := 0
	if op == ops.Select {
		from = 1
	}
	typed := slices.DeleteFunc(slices.Clone(ins[from:]), func(o ops.Operand) bool { return o.Lit != nil })
	if len(typed) == 0 {
		typed = ins[from:]
	}
	d := m.dtype(typed[0])
	for _, o := range typed {
		d = ops.Merge(d, m.dtype(o))
	}
	return m.do(op, d, nil, nil, ins...)
}

// is adds a comparison.
func (m *Model) is(op ops.Op, x, y ops.Operand) ops.Operand { return m.do(op, ops.U8, nil, nil, x, y) }

func (m *Model) shape(x ops.Operand) ops.Shape { return m.TypeOf(x).Shape }
func (m *Model) dtype(x ops.Operand) ops.DType { return m.TypeOf(x).DType }
func (m *Model) rank(x ops.Operand) int        { return len(m.shape(x)) }

// num is a literal beside x.
func (m *Model) num(x ops.Operand, v float64) ops.Operand { return draw.Number(m.dtype(x), v) }

func (m *Model) cast(x ops.Operand, d ops.DType) ops.Operand {
	if m.dtype(x) == d {
		return x
	}
	return m.do(ops.AsType, d, nil, nil, x)
}

func (m *Model) reshape(x ops.Operand, dims ...int) ops.Operand {
	s := append(ops.Shape{}, dims...)
	if m.shape(x).Equal(s) {
		return x
	}
	return m.do(ops.Reshape, m.dtype(x), s, nil, x)
}

func (m *Model) transpose(x ops.Operand, axes ...int) ops.Operand {
	if slices.IsSorted(axes) {
		return x
	}
	return m.do(ops.Transpose, m.dtype(x), nil, [][]int{axes}, x)
}

func (m *Model) broadcast(x ops.Operand, s ops.Shape, axes []int) ops.Operand {
	return m.do(ops.BroadcastTo, m.dtype(x), append(ops.Shape{}, s...), [][]int{axes}, x)
}

func (m *Model) fold(op ops.Op, x ops.Operand, axes []int, keep int) ops.Operand {
	return m.do(op, m.dtype(x), nil, [][]int{axes, {keep}}, x)
}

// mean is what Nx.mean gives: a sum divided by a count.
func (m *Model) mean(x ops.Operand, axes []int, keep int) ops.Operand {
	n := 1
	for _, a := range axes {
		n *= m.shape(x)[a]
	}
	return m.e(ops.Divide, m.fold(ops.Sum, x, axes, keep), draw.Number(ops.S32, float64(n)))
}

// part is a slice along one axis.
func (m *Model) part(x ops.Operand, axis, from, length int) ops.Operand {
	s := m.shape(x)
	starts, lengths := make([]int, len(s)), slices.Clone(s)
	starts[axis], lengths[axis] = from, length
	return m.do(ops.Slice, m.dtype(x), nil, [][]int{starts, lengths, slices.Repeat([]int{1}, len(s))}, x)
}

// at is an entry along an axis, without the axis.
func (m *Model) at(x ops.Operand, axis, i int) ops.Operand {
	return m.do(ops.Squeeze, m.dtype(x), nil, [][]int{{axis}}, m.part(x, axis, i, 1))
}

func (m *Model) concat(axis int, xs ...ops.Operand) ops.Operand {
	return m.do(ops.Concatenate, m.dtype(xs[0]), nil, [][]int{{axis}}, xs...)
}

func (m *Model) stack(axis int, xs ...ops.Operand) ops.Operand {
	return m.do(ops.Stack, m.dtype(xs[0]), nil, [][]int{{axis}}, xs...)
}

func (m *Model) iota(d ops.DType, axis int, dims ...int) ops.Operand {
	return m.do(ops.Iota, d, append(ops.Shape{}, dims...), [][]int{{axis}})
}

// full is a tensor of equal elements.
func (m *Model) full(d ops.DType, v float64, s ops.Shape) ops.Operand {
	return m.do(ops.Constant, d, append(ops.Shape{}, s...), nil, draw.Number(d, v))
}

func (m *Model) dot(x ops.Operand, cx, bx []int, y ops.Operand, cy, by []int) ops.Operand {
	return m.do(ops.Dot, ops.Merge(m.dtype(x), m.dtype(y)), nil, [][]int{cx, bx, cy, by}, x, y)
}

// axes are those from lo to hi-1.
func axes(lo, hi int) []int {
	list := make([]int, 0, max(0, hi-lo))
	for a := lo; a < hi; a++ {
		list = append(list, a)
	}
	return list
}

// without are the axes of a rank but some.
func without(rank int, some []int) []int {
	return slices.DeleteFunc(axes(0, rank), func(a int) bool { return slices.Contains(some, a) })
}
