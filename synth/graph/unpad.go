package graph

import (
	"slices"

	"nxvk/ops"
)

// Unpad returns a region in which products read a value as it was before it was padded with zeros, as the gradient of a
// slice is: along a contracted axis the other operand is sliced instead, along any other one the product is padded.
// Gradients of the logits of all tokens but the last, padded, are the largest value of a language model's step.
//
// Terms of zero are left out. So elements of the other operand that are Inf or NaN do not spoil a sum to which they
// contribute 0 times themselves, and a sum may take another order within the bound of products (decision 10 of
// ARCHITECTURE). A value that anything but products reads stays padded, and so does one that is no larger than what
// would be sliced and padded instead. The region that is given stays as it is.
func Unpad(r *ops.Region) *ops.Region {
	u := &unpadder{rewriter: newRewriter(r), products: make(map[ops.ID]int)}
	u.count(r)
	u.rewrite = func(in *ops.Instr) bool { return in.Op == ops.Dot && (u.product(in, 0) || u.product(in, 1)) }
	return dropUnread(u.region(r))
}

type unpadder struct {
	*rewriter
	products map[ops.ID]int // how often products read a value
}

// count counts what products read.
func (u *unpadder) count(r *ops.Region) {
	for i := range r.Body {
		in := &r.Body[i]
		if in.Op == ops.Dot {
			for _, o := range in.Ins {
				if o.Lit == nil {
					u.products[o.ID]++
				}
			}
		}
		if in.Op.Info().Closed {
			continue
		}
		for _, inner := range in.Regions {
			u.count(inner)
		}
	}
}

// leastPadded is how many elements a padded value has at least; a smaller one is soon written.
const leastPadded = 1 << 16

// padded is the value that operand i of a product was before it was padded, and the elements before and after it along
// each axis.
func (u *unpadder) padded(in *ops.Instr, i int) (x ops.Operand, low, high []int, ok bool) {
	o := in.Ins[i]
	if o.Lit != nil || u.products[o.ID] != u.uses[o.ID] || u.typeOf(o).Size() < leastPadded {
		return x, nil, nil, false
	}
	x, low, high, ok = u.around(u.made[o.ID])
	return x, low, high, ok && u.typeOf(x).Size() > 0
}

// around is the value that an instruction puts zeros around, and how many it puts before and after it along each
// axis. Nx writes the gradient of a slice as one that is put into a tensor of zeros.
func (u *unpadder) around(in *ops.Instr) (x ops.Operand, low, high []int, ok bool) {
	switch {
	case in == nil:
		return x, nil, nil, false
	case len(in.Outs) != 1:
		return x, nil, nil, false
	case in.Op == ops.Pad && in.Ins[0].Lit == nil && u.isZero(in.Ins[1]) && u.typeOf(in.Ins[0]).DType == in.Outs[0].Type.DType:
		for config := in.Attrs[0]; len(config) > 0; config = config[3:] {
			if config[0] < 0 || config[1] < 0 || config[2] != 0 {
				return x, nil, nil, false
			}
			low, high = append(low, config[0]), append(high, config[1])
		}
		return in.Ins[0], low, high, true
	case in.Op == ops.PutSlice && in.Ins[1].Lit == nil && u.isZero(in.Ins[0]) && u.typeOf(in.Ins[1]).DType == in.Outs[0].Type.DType:
		whole, piece := in.Outs[0].Type.Shape, u.typeOf(in.Ins[1]).Shape
		starts, known := u.starts(in)
		if !known {
			return x, nil, nil, false
		}
		for axis, at := range clamped(starts, whole, piece) {
			low, high = append(low, at), append(high, whole[axis]-at-piece[axis])
		}
		return in.Ins[1], low, high, true
	}
	return x, nil, nil, false
}

// starts are where a put_slice puts the piece, if literals say so.
func (u *unpadder) starts(in *ops.Instr) (list []int, ok bool) {
	if len(in.Ins) == 2 {
		return in.Attrs[0], true
	}
	for _, o := range in.Ins[2:] {
		if o.Lit == nil {
			return nil, false
		}
		n, ok := o.Lit.Integer()
		if !ok {
			return nil, false
		}
		list = append(list, int(n))
	}
	return list, true
}

// isZero reports whether all elements of an operand are zero bytes: it is a scalar, or a constant.
func (u *unpadder) isZero(o ops.Operand) bool {
	if in := u.made[o.ID]; o.Lit == nil && in != nil && in.Op == ops.Constant {
		o = in.Ins[0]
	}
	return o.Lit != nil && len(o.Lit.Data) > 0 && !slices.ContainsFunc(o.Lit.Data, func(b byte) bool { return b != 0 })
}

// product rewrites a product whose operand i is padded.
func (u *unpadder) product(in *ops.Instr, i int) bool {
	x, low, high, ok := u.padded(in, i)
	if !ok || in.Ins[1-i].Lit != nil {
		return false
	}
	a := in.Attrs
	contracted, batch, others := a[2*i], a[2*i+1], a[2-2*i]
	y, whole := in.Ins[1-i], u.typeOf(x).Shape
	if slices.ContainsFunc(batch, func(axis int) bool { return low[axis]+high[axis] > 0 }) {
		return false
	}
	if moved := u.moved(in, i, low, high); moved >= u.typeOf(in.Ins[i]).Size() {
		return false
	}
	y = u.sliced(y, contracted, others, low, whole)
	out, config := in.Outs[0].Type, []int(nil)
	inner := ops.Type{DType: out.DType, Shape: slices.Clone(out.Shape)}
	first := len(batch) // the free axes of the left operand follow the batch, those of the right one come last
	if i == 1 {
		first = len(out.Shape) - (len(whole) - len(contracted) - len(batch))
	}
	for range out.Shape {
		config = append(config, 0, 0, 0)
	}
	grows := false
	for axis := range whole {
		if slices.Contains(contracted, axis) || slices.Contains(batch, axis) {
			continue
		}
		inner.Shape[first] = whole[axis]
		config[3*first], config[3*first+1] = low[axis], high[axis]
		grows = grows || low[axis]+high[axis] > 0
		first++
	}
	dot := ops.Instr{Op: ops.Dot, Ins: []ops.Operand{x, y}, Attrs: a, Outs: in.Outs}
	if i == 1 {
		dot.Ins[0], dot.Ins[1] = y, x
	}
	if !grows {
		u.body = append(u.body, dot)
		return true
	}
	u.last++
	dot.Outs = []ops.Result{{ID: u.last, Type: inner}}
	zero := ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: out.DType}, Data: make([]byte, out.DType.Size())}}
	u.body = append(u.body, dot, ops.Instr{Op: ops.Pad, Ins: []ops.Operand{{ID: u.last}, zero}, Attrs: [][]int{config}, Outs: in.Outs})
	return true
}

// moved is how many elements a product moves in place of padding its operand i: the other operand that is sliced, and
// the result that is padded.
func (u *unpadder) moved(in *ops.Instr, i int, low, high []int) (n int) {
	contracts, grows := false, false
	for axis := range low {
		if low[axis]+high[axis] > 0 {
			along := slices.Contains(in.Attrs[2*i], axis)
			contracts, grows = contracts || along, grows || !along
		}
	}
	if contracts {
		n += u.typeOf(in.Ins[1-i]).Size()
	}
	if grows {
		n += in.Outs[0].Type.Size()
	}
	return n
}

// sliced is the other operand without what zeros are multiplied with.
func (u *unpadder) sliced(y ops.Operand, contracted, others, low []int, whole ops.Shape) ops.Operand {
	t := u.typeOf(y)
	starts, lengths, strides := make([]int, len(t.Shape)), slices.Clone(t.Shape), slices.Repeat([]int{1}, len(t.Shape))
	for k, axis := range contracted {
		starts[others[k]], lengths[others[k]] = low[axis], whole[axis]
	}
	if slices.Equal(lengths, t.Shape) {
		return y
	}
	return u.add(ops.Slice, ops.Type{DType: t.DType, Shape: lengths}, [][]int{starts, lengths, strides}, y)
}
