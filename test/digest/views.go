package main

import (
	"slices"

	"nxvk/ops"
)

// indexTypes are those of indices.
var indexTypes = []ops.DType{ops.S32, ops.S32, ops.S64, ops.U8}

// indices are a parameter of indices from 0 to most.
func (m *maker) indices(most int, dims ...int) ops.Operand {
	t := ops.Type{DType: pick(m.s.Rand, indexTypes...), Shape: dims}
	return m.param(t, m.whole(t, 0, most))
}

// lookup chooses elements by indices, or changes them.
func (m *maker) lookup() []ops.Operand {
	d := pick(m.s.Rand, ops.DTypes()...)
	s := m.shape(1+m.s.IntN(4), 20000)
	axis, count := m.s.IntN(len(s)), 1+m.s.IntN(300)
	x := m.real(d, s...)
	switch m.s.IntN(5) {
	case 0:
		return []ops.Operand{m.one(ops.Take, d, [][]int{{axis}}, x, m.indices(s[axis]-1, m.shape(m.s.IntN(3), 60)...))}
	case 1:
		along := slices.Clone(s)
		along[axis] = 1 + m.s.IntN(40)
		return []ops.Operand{m.one(ops.TakeAlongAxis, d, [][]int{{axis}}, x, m.indices(s[axis]-1, along...))}
	}
	axes := m.s.Perm(len(s))[:1+m.s.IntN(len(s))]
	most := s[axes[0]]
	for _, a := range axes {
		most = min(most, s[a])
	}
	idx := m.indices(most-1, count, len(axes))
	op := pick(m.s.Rand, ops.Gather, ops.IndexedAdd, ops.IndexedPut)
	if op == ops.Gather {
		return []ops.Operand{m.one(op, d, [][]int{axes}, x, idx)}
	}
	up := ops.Shape{count}
	for i, n := range s {
		if !slices.Contains(axes, i) {
			up = append(up, n)
		}
	}
	return []ops.Operand{m.one(op, d, [][]int{axes}, x, idx, m.real(d, up...))}
}

// window folds windows, or scatters to where their extremes are.
func (m *maker) window() []ops.Operand {
	d := pick(m.s.Rand, ops.F32, ops.F32, ops.F64, ops.S32, ops.U8, ops.BF16)
	s := m.shape(1+m.s.IntN(4), 5000)
	var size, pads, strides, dilations []int
	scatter := m.s.IntN(4) == 0
	counts := ops.Shape{}
	for _, n := range s {
		w := 1 + m.s.IntN(min(n, 4))
		stride, dilation, low, high := 1+m.s.IntN(3), 1, m.s.IntN(3), m.s.IntN(3)
		if !scatter && (w-1)*2+1 <= n {
			dilation += m.s.IntN(2)
		}
		size, pads, strides, dilations = append(size, w), append(pads, low, high), append(strides, stride), append(dilations, dilation)
		counts = append(counts, (n+low+high-w)/stride+1)
	}
	x := m.real(d, s...)
	switch {
	case scatter:
		op := pick(m.s.Rand, ops.WindowScatterMax, ops.WindowScatterMin)
		return []ops.Operand{m.one(op, d, [][]int{size, pads, strides}, x, m.real(d, counts...), m.real(d))}
	case m.s.IntN(5) == 0:
		return []ops.Operand{m.function(ops.WindowReduce, d, [][]int{size, pads, strides, dilations, nil}, x)}
	}
	op := pick(m.s.Rand, ops.WindowSum, ops.WindowProduct, ops.WindowMax, ops.WindowMin)
	y := m.one(op, d, [][]int{size, pads, strides, dilations}, x)
	return []ops.Operand{y, m.one(ops.Negate, d, nil, y)}
}

// scan folds along an axis and keeps what is so far.
func (m *maker) scan() []ops.Operand {
	d := pick(m.s.Rand, computed...)
	s, axis := m.line(m.length())
	list := []ops.Op{ops.CumulativeSum, ops.CumulativeProduct, ops.CumulativeMin, ops.CumulativeMax}
	if d.IsComplex() {
		list = list[:2]
	}
	return []ops.Operand{m.one(pick(m.s.Rand, list...), d, [][]int{{axis}, {m.s.IntN(2)}}, m.real(d, s...))}
}

// movement gives elements other places.
func (m *maker) movement() []ops.Operand {
	d := pick(m.s.Rand, ops.DTypes()...)
	s := m.shape(1+m.s.IntN(4), 20000)
	x := m.real(d, s...)
	axis := m.s.IntN(len(s))
	switch m.s.IntN(5) {
	case 0:
		other := slices.Clone(s)
		other[axis] = 1 + m.s.IntN(9)
		return []ops.Operand{m.one(ops.Concatenate, d, [][]int{{axis}}, x, m.real(d, other...), x)}
	case 1:
		return []ops.Operand{m.one(ops.Stack, d, [][]int{{axis}}, x, m.real(d, s...))}
	case 2:
		part, at := make([]int, len(s)), make([]int, len(s))
		for i, n := range s {
			part[i] = 1 + m.s.IntN(n)
			at[i] = m.s.IntN(n - part[i] + 1)
		}
		return []ops.Operand{m.one(ops.PutSlice, d, [][]int{at}, x, m.real(d, part...))}
	case 3:
		ins := []ops.Operand{x, m.real(d, s...)}
		for _, n := range s {
			ins = append(ins, m.indices(n))
		}
		return []ops.Operand{m.one(ops.PutSlice, d, [][]int{{}}, ins...)}
	}
	y := m.look(x)
	return []ops.Operand{y, m.look(y)}
}

// look is a view of x: another order of its elements, some of them, or each several
// times.
func (m *maker) look(x ops.Operand) ops.Operand {
	t := m.TypeOf(x)
	s, d := t.Shape, t.DType
	switch m.s.IntN(8) {
	case 0:
		return m.one(ops.Transpose, d, [][]int{m.s.Perm(len(s))}, x)
	case 1:
		return m.one(ops.Reverse, d, [][]int{m.s.Perm(len(s))[:m.s.IntN(len(s)+1)]}, x)
	case 2:
		at, length, step := make([]int, len(s)), make([]int, len(s)), make([]int, len(s))
		for i, n := range s {
			step[i] = 1 + m.s.IntN(2)
			length[i] = 1 + m.s.IntN((n+step[i]-1)/step[i])
			at[i] = m.s.IntN(n - (length[i]-1)*step[i])
		}
		return m.one(ops.Slice, d, [][]int{at, length, step}, x)
	case 3:
		wide, axes := append(m.shape(1, 12), s...), make([]int, len(s))
		for i := range s {
			axes[i] = i + 1
		}
		return m.shaped(ops.BroadcastTo, d, wide, [][]int{axes}, x)
	case 4:
		if n := t.Size(); n%2 == 0 {
			return m.shaped(ops.Reshape, d, ops.Shape{2, n / 2}, nil, x)
		}
	case 5:
		return m.pad(x)
	case 6:
		return m.slide(x)
	}
	return m.shaped(ops.Reshape, d, append(ops.Shape{1}, s...), nil, x)
}

// pad surrounds the elements of x, spreads them or drops some.
func (m *maker) pad(x ops.Operand) ops.Operand {
	t := m.TypeOf(x)
	var cfg []int
	for _, n := range t.Shape {
		low, high, between := m.s.IntN(5)-2, m.s.IntN(5)-2, max(0, m.s.IntN(5)-2)
		if n+low+high+(n-1)*between < 1 {
			low, high = 0, 1
		}
		cfg = append(cfg, low, high, between)
	}
	return m.one(ops.Pad, t.DType, [][]int{cfg}, x, m.real(t.DType))
}

// slide is a part of x that begins where operands say.
func (m *maker) slide(x ops.Operand) ops.Operand {
	t := m.TypeOf(x)
	ins := []ops.Operand{x}
	var lengths, steps []int
	for _, n := range t.Shape {
		lengths, steps = append(lengths, 1+m.s.IntN(n)), append(steps, 1)
		ins = append(ins, m.indices(n))
	}
	return m.one(ops.Slice, t.DType, [][]int{{}, lengths, steps}, ins...)
}
