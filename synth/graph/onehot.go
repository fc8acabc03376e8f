package graph

import (
	"slices"

	"nxvk/ops"
)

// Compare returns a region in which a gather of one element of each row compares the index with the
// positions of the row, and so does its gradient: an indexed_add of one element to each row of a
// constant. The loss of a classifier, such as a cross-entropy over a vocabulary, then needs neither
// the probabilities of all classes nor their gradient of zeros in memory, because comparisons are
// fused with what makes and reads the rows.
//
// The values are the same, bit for bit. An index out of bounds is still an error: the index that is
// compared is taken from the positions. The region that is given stays as it is.
func Compare(r *ops.Region) *ops.Region {
	c := &comparer{rewriter: newRewriter(r)}
	c.rewrite = func(in *ops.Instr) bool { return c.pick(in) || c.place(in) }
	return c.region(r)
}

type comparer struct{ *rewriter }

// rows are indices with one place in each row along an axis of a tensor.
type rows struct {
	axis  int         // of the tensor
	index ops.Operand // the places along it
	shape ops.Shape   // of the tensor, with 1 for the axis and for what the indices do not name
}

// rowsOf finds rows of a tensor of shape s in indices of the given axes: a concatenation of the
// positions along all of these but one, and of the indices along that one.
func (c *comparer) rowsOf(indices ops.Operand, axes []int, s ops.Shape) (r rows, ok bool) {
	cat := c.through(indices)
	if cat == nil || cat.Op != ops.Concatenate || len(cat.Ins) != len(axes) {
		return rows{}, false
	}
	grid := cat.Outs[0].Type.Shape
	if cat.Attrs[0][0] != len(grid)-1 {
		return rows{}, false
	}
	grid = grid[:len(grid)-1]
	r = rows{axis: -1, shape: slices.Repeat([]int{1}, len(s))}
	left := slices.Clone(grid) // without what positions count
	last := -1                 // axes of the grid come in the order of those of the tensor
	for _, j := range inOrder(axes) {
		a, part := axes[j], cat.Ins[j]
		along, counts := c.positions(part, grid)
		switch {
		case counts && along > last && grid[along] == s[a]:
			r.shape[a], left[along], last = s[a], 1, along
		case r.axis < 0 && c.indexes(part, grid, cat.Outs[0].Type.DType):
			r.axis, r.index = a, part
		default:
			return rows{}, false
		}
	}
	return r, r.axis >= 0 && left.Size() == 1 && s[r.axis] > 1
}

// inOrder are the places of numbers in a list, the least first.
func inOrder(list []int) []int {
	at := make([]int, len(list))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(i, j int) int { return list[i] - list[j] })
	return at
}

// through is the instruction that makes an operand, before it is reshaped.
func (c *comparer) through(o ops.Operand) *ops.Instr {
	for o.Lit == nil {
		in := c.made[o.ID]
		if in == nil || in.Op != ops.Reshape {
			return in
		}
		o = in.Ins[0]
	}
	return nil
}

// positions reports along which axis of a grid an operand counts.
func (c *comparer) positions(o ops.Operand, grid ops.Shape) (axis int, ok bool) {
	if o.Lit != nil {
		return 0, false
	}
	in := c.made[o.ID]
	if in == nil || in.Op != ops.Iota || len(in.Attrs[0]) != 1 {
		return 0, false
	}
	s, axis := in.Outs[0].Type.Shape, in.Attrs[0][0]
	return axis, axis >= 0 && axis < len(grid) && s.Equal(append(slices.Clone(grid), 1)) && in.Outs[0].Type.DType.IsInteger()
}

// indexes reports whether an operand has an index for each point of a grid, which conversion to the
// type of all indices leaves as it is.
func (c *comparer) indexes(o ops.Operand, grid ops.Shape, to ops.DType) bool {
	if o.Lit != nil {
		return false
	}
	t := c.types[o.ID]
	return t.Size() == grid.Size() && t.DType.IsInteger() && (t.DType == to || to == ops.S64 && t.DType != ops.U64)
}

// pick rewrites a gather of one element of each row of a tensor that is computed for it alone. The
// largest of the bits of that element and of zeros is the element.
func (c *comparer) pick(in *ops.Instr) bool {
	if in.Op != ops.Gather && in.Op != ops.TakeAlongAxis || in.Ins[0].Lit != nil || c.uses[in.Ins[0].ID] != 1 {
		return false
	}
	from, x := c.made[in.Ins[0].ID], c.types[in.Ins[0].ID]
	bits, ok := map[int]ops.DType{8: ops.U8, 16: ops.U16, 32: ops.U32}[x.DType.Bits()]
	if !ok || from == nil || from.Op.Info().Kind != ops.Pointwise || x.DType != in.Outs[0].Type.DType {
		return false
	}
	r, ok := c.picked(in, x.Shape)
	if !ok {
		return false
	}
	here := c.compare(r, x.Shape)
	word := c.add(ops.Bitcast, ops.Type{DType: bits, Shape: x.Shape}, nil, in.Ins[0])
	one := c.add(ops.Select, ops.Type{DType: bits, Shape: x.Shape}, nil, here, word, number(bits))
	most := c.add(ops.ReduceMax, ops.Type{DType: bits, Shape: r.shape}, [][]int{{r.axis}, {1}}, one)
	value := c.add(ops.Bitcast, ops.Type{DType: x.DType, Shape: r.shape}, nil, most)
	c.body = append(c.body, ops.Instr{Op: ops.Reshape, Ins: []ops.Operand{value}, Outs: in.Outs})
	return true
}

// picked finds the rows if a gather takes one element of each.
func (c *comparer) picked(in *ops.Instr, s ops.Shape) (r rows, ok bool) {
	if in.Op == ops.Gather {
		r, ok = c.rowsOf(in.Ins[1], in.Attrs[0], s)
		return r, ok && len(in.Attrs[0]) == len(s)
	}
	axis, index := in.Attrs[0][0], in.Ins[1]
	shape := slices.Clone(s)
	shape[axis] = 1
	return rows{axis: axis, index: index, shape: shape}, index.Lit == nil && s[axis] > 1 && in.Outs[0].Type.Shape.Equal(shape)
}

// place rewrites an indexed_add of one element to each row of a constant.
func (c *comparer) place(in *ops.Instr) bool {
	if in.Op != ops.IndexedAdd || in.Ins[0].Lit != nil || in.Ins[2].Lit != nil {
		return false
	}
	out, target := in.Outs[0].Type, c.made[in.Ins[0].ID]
	if target == nil || target.Op != ops.Constant || !widened(out.DType, target.Ins[0].Lit.Type.DType) || !widened(out.DType, target.Outs[0].Type.DType) ||
		!widened(out.DType, c.types[in.Ins[2].ID].DType) ||
		len(in.Attrs[0]) != len(out.Shape) {
		return false
	}
	r, ok := c.rowsOf(in.Ins[1], in.Attrs[0], out.Shape)
	if !ok {
		return false
	}
	here, nothing := c.compare(r, out.Shape), target.Ins[0]
	update := c.add(ops.Reshape, ops.Type{DType: c.types[in.Ins[2].ID].DType, Shape: r.shape}, nil, in.Ins[2])
	sum := c.add(ops.Add, ops.Type{DType: out.DType, Shape: r.shape}, nil, nothing, update)
	c.body = append(c.body, ops.Instr{Op: ops.Select, Ins: []ops.Operand{here, sum, nothing}, Outs: in.Outs})
	return true
}

// widened reports whether conversion of floats of another type, or of the same, leaves them as they are.
func widened(d, other ops.DType) bool {
	return d == other || d == ops.F32 && (other == ops.BF16 || other == ops.F16)
}

// compare tells where in a tensor of shape s the indices of its rows point.
func (c *comparer) compare(r rows, s ops.Shape) ops.Operand {
	n := s[r.axis]
	index := c.add(ops.Reshape, ops.Type{DType: c.types[r.index.ID].DType, Shape: r.shape}, nil, r.index)
	known := c.add(ops.Iota, ops.Type{DType: ops.S32, Shape: ops.Shape{n}}, [][]int{{0}})
	index = c.add(ops.Take, ops.Type{DType: ops.S32, Shape: r.shape}, [][]int{{0}}, known, index)
	line := slices.Repeat(ops.Shape{1}, len(s))
	line[r.axis] = n
	place := c.add(ops.Iota, ops.Type{DType: ops.S32, Shape: line}, [][]int{{r.axis}})
	return c.add(ops.Equal, ops.Type{DType: ops.U8, Shape: s}, nil, place, index)
}

// number is the zero of a type.
func number(d ops.DType) ops.Operand {
	return ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: d}, Data: make([]byte, d.Size())}}
}
