package model

import (
	"slices"

	"nxvk/ops"
)

// sums are the rules of reductions, products and running sums.
func (t *tape) sums(in *ops.Instr, g ops.Operand) bool {
	x := in.Ins[0]
	switch in.Op {
	case ops.Sum:
		t.add(x, func() ops.Operand { return t.spread(in, g) })
	case ops.ReduceMax, ops.ReduceMin:
		t.add(x, func() ops.Operand {
			ans := ops.Operand{ID: in.Outs[0].ID}
			mask := t.cast(t.is(ops.Equal, x, t.kept(in, ans)), t.dtype(g))
			count := t.fold(ops.Sum, mask, in.Attrs[0], 1)
			return t.e(ops.Multiply, t.e(ops.Divide, t.kept(in, g), count), mask)
		})
	case ops.CumulativeSum:
		t.add(x, func() ops.Operand {
			return t.do(ops.CumulativeSum, t.dtype(g), nil, [][]int{in.Attrs[0], {1 - in.Attrs[1][0]}}, t.whole(in, g))
		})
	case ops.Dot:
		y, a := in.Ins[1], in.Attrs
		g = t.whole(in, g)
		nb, fx, fy := len(a[1]), len(t.shape(x))-len(a[1])-len(a[0]), len(t.shape(y))-len(a[3])-len(a[2])
		t.add(x, func() ops.Operand { return t.factor(g, axes(nb+fx, nb+fx+fy), y, a[2], x, a[0], nb) })
		t.add(y, func() ops.Operand { return t.factor(g, axes(nb, nb+fx), x, a[0], y, a[2], nb) })
	default:
		return false
	}
	return true
}

// kept is a derivative of a reduction with the reduced axes kept.
func (t *tape) kept(in *ops.Instr, g ops.Operand) ops.Operand {
	if t.rank(g) == 0 && len(in.Outs[0].Type.Shape) > 0 {
		g = t.whole(in, g)
	}
	s := slices.Clone(t.shape(in.Ins[0]))
	for _, a := range in.Attrs[0] {
		s[a] = 1
	}
	return t.reshape(g, s...)
}

// spread repeats a derivative of a sum along the axes.
func (t *tape) spread(in *ops.Instr, g ops.Operand) ops.Operand {
	s := t.shape(in.Ins[0])
	if g.Lit != nil && t.rank(g) == 0 {
		return t.broadcast(g, s, nil)
	}
	if in.Attrs[1][0] != 0 {
		return t.broadcast(g, s, axes(0, len(s)))
	}
	return t.broadcast(g, s, without(len(s), in.Attrs[0]))
}

// factor is the derivative of a product by its factor x: that by the product, contracted with the other factor along the
// axes that this has alone.
func (t *tape) factor(g ops.Operand, over []int, y ops.Operand, contracted []int, x ops.Operand, cx []int, batches int) ops.Operand {
	alone := slices.DeleteFunc(axes(batches, t.rank(y)), func(a int) bool { return slices.Contains(contracted, a) })
	d := t.dot(g, over, axes(0, batches), y, alone, axes(0, batches))
	// The result has the batches, the axes that x has alone, and the contracted ones in the order of y.
	var order []int // of each axis of the result, that of x
	order = append(order, axes(0, batches)...)
	order = append(order, slices.DeleteFunc(axes(batches, t.rank(x)), func(a int) bool { return slices.Contains(cx, a) })...)
	byY := slices.Sorted(slices.Values(contracted))
	for _, a := range byY {
		order = append(order, cx[slices.Index(contracted, a)])
	}
	back := make([]int, len(order))
	for i, a := range order {
		back[a] = i
	}
	return t.transpose(d, back...)
}

// indices are the rules of operations that read at indices, and of sorting.
func (t *tape) indices(in *ops.Instr, g ops.Operand) bool {
	x := in.Ins[0]
	s := t.shape(x)
	zeros := func() ops.Operand { return t.full(t.dtype(g), 0, s) }
	switch in.Op {
	case ops.Take:
		t.add(x, func() ops.Operand {
			axis, idx := in.Attrs[0][0], in.Ins[1]
			k := t.rank(idx)
			order := slices.Concat(axes(axis, axis+k), axes(0, axis), axes(axis+k, len(s)-1+k))
			u := t.transpose(t.whole(in, g), order...)
			n := t.shape(idx).Size()
			u = t.reshape(u, append([]int{n}, slices.Delete(slices.Clone(s), axis, axis+1)...)...)
			return t.do(ops.IndexedAdd, t.dtype(u), nil, [][]int{{axis}}, zeros(), t.reshape(idx, n, 1), u)
		})
	case ops.TakeAlongAxis:
		t.add(x, func() ops.Operand {
			at := t.positions(in.Ins[1], in.Attrs[0][0])
			u := t.reshape(t.whole(in, g), t.shape(in.Ins[1]).Size())
			return t.do(ops.IndexedAdd, t.dtype(u), nil, [][]int{axes(0, len(s))}, zeros(), at, u)
		})
	case ops.Gather:
		t.add(x, func() ops.Operand {
			idx := in.Ins[1]
			k := len(in.Attrs[0])
			n := t.shape(idx).Size() / k
			rest := []int{n}
			for _, a := range without(len(s), in.Attrs[0]) {
				rest = append(rest, s[a])
			}
			u := t.reshape(t.whole(in, g), rest...)
			return t.do(ops.IndexedAdd, t.dtype(u), nil, in.Attrs, zeros(), t.reshape(idx, n, k), u)
		})
	case ops.IndexedAdd:
		t.add(x, func() ops.Operand { return g })
		t.add(in.Ins[2], func() ops.Operand { return t.do(ops.Gather, t.dtype(g), nil, in.Attrs, t.whole(in, g), in.Ins[1]) })
	case ops.Sort:
		t.add(x, func() ops.Operand {
			idx := t.do(ops.Argsort, ops.S32, nil, [][]int{in.Attrs[0], in.Attrs[1], {1}}, x)
			back := t.do(ops.Argsort, ops.S32, nil, [][]int{in.Attrs[0], {0}, {1}}, idx)
			return t.do(ops.TakeAlongAxis, t.dtype(g), nil, [][]int{in.Attrs[0]}, t.whole(in, g), back)
		})
	default:
		return false
	}
	return true
}

// positions are all coordinates of elements that are taken along an axis, one in a row.
func (m *Model) positions(idx ops.Operand, axis int) ops.Operand {
	s := m.shape(idx)
	long := append(slices.Clone([]int(s)), 1)
	var all []ops.Operand
	for a := range s {
		if a == axis {
			all = append(all, m.reshape(idx, long...))
		} else {
			all = append(all, m.iota(m.dtype(idx), a, long...))
		}
	}
	if len(all) == 1 {
		return m.reshape(all[0], s.Size(), 1)
	}
	return m.reshape(m.concat(len(s), all...), s.Size(), len(s))
}

// windows are the rules of pools and of convolutions.
func (t *tape) windows(in *ops.Instr, g ops.Operand) bool {
	x := in.Ins[0]
	switch in.Op {
	case ops.WindowMax:
		t.add(x, func() ops.Operand {
			return t.do(ops.WindowScatterMax, t.dtype(g), nil, in.Attrs[:3], x, t.whole(in, g), t.num(g, 0))
		})
	case ops.WindowSum:
		t.add(x, func() ops.Operand {
			g = t.whole(in, g)
			var cfg, none, ones []int
			for i, n := range t.shape(x) {
				w, lo, step := in.Attrs[0][i], in.Attrs[1][2*i], in.Attrs[2][i]
				low := w - 1 - lo
				cfg = append(cfg, low, n+w-1-((t.shape(g)[i]-1)*step+1)-low, step-1)
				none, ones = append(none, 0, 0), append(ones, 1)
			}
			g = t.do(ops.Pad, t.dtype(g), nil, [][]int{cfg}, g, t.num(g, 0))
			return t.do(ops.WindowSum, t.dtype(g), nil, [][]int{in.Attrs[0], none, ones, ones}, g)
		})
	case ops.Conv:
		t.conv(in, t.whole(in, g))
	default:
		return false
	}
	return true
}

// conv adds the derivatives of a convolution without dilations and groups: convolutions of the derivative by its result
// with the reversed kernel, and with the input.
func (t *tape) conv(in *ops.Instr, g ops.Operand) {
	x, w, a := in.Ins[0], in.Ins[1], in.Attrs
	swap, plain := []int{1, 0, 2, 3}, []int{0, 1, 2, 3}
	inner := func(o ops.Operand, perm []int) ops.Operand { return t.transpose(o, perm...) }
	g = inner(g, a[ops.ConvOutputPermutation])
	xs, ws := permuted(t.shape(x), a[ops.ConvInputPermutation]), permuted(t.shape(w), a[ops.ConvKernelPermutation])
	steps, pad, gs := a[ops.ConvStrides], a[ops.ConvPadding], t.shape(g)
	var padX, padW []int
	for i := range 2 {
		n, k, long := xs[2+i], ws[2+i], (gs[2+i]-1)*steps[i]+1
		lo := k - 1 - pad[2*i]
		padX = append(padX, lo, n+k-1-long-lo)
		padW = append(padW, pad[2*i], k-1+long-n-pad[2*i])
	}
	ones := []int{1, 1}
	t.add(x, func() ops.Operand {
		turned := t.do(ops.Reverse, t.dtype(w), nil, [][]int{{2, 3}}, inner(w, a[ops.ConvKernelPermutation]))
		d := t.do(ops.Conv, t.dtype(g), nil, [][]int{ones, padX, steps, ones, {1}, {1}, plain, swap, plain}, g, turned)
		return t.transpose(d, inverse(a[ops.ConvInputPermutation])...)
	})
	t.add(w, func() ops.Operand {
		d := t.do(ops.Conv, t.dtype(g), nil, [][]int{ones, padW, ones, steps, {1}, {1}, swap, swap, swap},
			inner(x, a[ops.ConvInputPermutation]), g)
		return t.transpose(d, inverse(a[ops.ConvKernelPermutation])...)
	})
}

func permuted(s ops.Shape, perm []int) ops.Shape {
	out := make(ops.Shape, len(s))
	for i, a := range perm {
		out[i] = s[a]
	}
	return out
}

func inverse(perm []int) []int {
	back := make([]int, len(perm))
	for i, a := range perm {
		back[a] = i
	}
	return back
}
