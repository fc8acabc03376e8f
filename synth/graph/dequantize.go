package graph

import (
	"slices"

	"nxvk/ops"
)

// Dequantize returns a region in which products of few vectors and a matrix that is computed from fewer
// bytes, such as a weight of 8 bits times its scales, or of 4 bits taken out of bytes by shifts, are sums of
// products of elements. These are fused with what computes the matrix, which then is never in memory.
//
// Sums of bf16 and f16 are those of f32, as in a product. The order of the terms is another one: a result
// is within the bound of products (decision 10 of ARCHITECTURE). The region that is given stays as it is.
func Dequantize(r *ops.Region) *ops.Region {
	q := &dequantizer{rewriter: newRewriter(r)}
	q.rewrite = q.product
	return q.region(r)
}

const (
	fewVectors  = 4       // rows of the other operand, of a matrix that is only converted; of any other there is one
	largeMatrix = 1 << 16 // elements; a smaller one is soon written and read
	mostParts   = 4       // along the contracted axis
	deepest     = 24      // instructions from the matrix to what is in memory
)

type dequantizer struct{ *rewriter }

// weight is the right operand of a product, which is computed from fewer bytes.
type weight struct {
	value ops.Operand
	typ   ops.Type
	axis  int // that is contracted
	parts int // that make the matrix along the axis, each as long as the others
	every int // the distance of elements of a part along the axis: 1, or parts where they take turns
}

// product rewrites a product of few vectors and a weight.
func (q *dequantizer) product(in *ops.Instr) bool {
	w, vectors, ok := q.weightOf(in)
	if !ok {
		return false
	}
	out := in.Outs[0].Type
	k, n := w.typ.Shape[w.axis], w.typ.Shape[1-w.axis]
	x := q.add(ops.Reshape, ops.Type{DType: q.typeOf(in.Ins[0]).DType, Shape: ops.Shape{vectors, k}}, nil, in.Ins[0])
	rows := make([]ops.Operand, vectors)
	for m := range rows {
		terms := q.products(&w, x, m, 0)
		for p := 1; p < w.parts; p++ {
			terms = q.add(ops.Add, q.typeOf(terms), nil, terms, q.products(&w, x, m, p))
		}
		sum := q.add(ops.Sum, ops.Type{DType: ops.F32, Shape: ops.Shape{n}}, [][]int{{w.axis}, {0}}, terms)
		if out.DType != ops.F32 {
			sum = q.add(ops.AsType, ops.Type{DType: out.DType, Shape: ops.Shape{n}}, nil, sum)
		}
		rows[m] = q.add(ops.Reshape, ops.Type{DType: out.DType, Shape: ops.Shape{1, n}}, nil, sum)
	}
	all := rows[0]
	if vectors > 1 {
		all = q.add(ops.Concatenate, ops.Type{DType: out.DType, Shape: ops.Shape{vectors, n}}, [][]int{{0}}, rows...)
	}
	q.body = append(q.body, ops.Instr{Op: ops.Reshape, Ins: []ops.Operand{all}, Outs: in.Outs})
	return true
}

// products are those of a part of row m of x and the same part of the weight.
func (q *dequantizer) products(w *weight, x ops.Operand, m, part int) ops.Operand {
	d, k := q.typeOf(x).DType, w.typ.Shape[w.axis]
	line := ops.Shape{1, 1}
	line[w.axis] = k / w.parts
	from, length, stride := w.places(part, k)
	row := q.add(ops.Slice, ops.Type{DType: d, Shape: ops.Shape{1, k / w.parts}}, [][]int{{m, from}, {1, length}, {1, stride}}, x)
	row = q.float(q.add(ops.Reshape, ops.Type{DType: d, Shape: line}, nil, row))
	column := q.float(q.part(*w, w.value, part))
	return q.add(ops.Multiply, q.typeOf(column), nil, row, column)
}

// places are where a part takes its elements from along an axis of so many.
func (w *weight) places(part, n int) (from, length, stride int) {
	if w.every > 1 {
		return part, n - w.parts + 1, w.every
	}
	return part * (n / w.parts), n / w.parts, 1
}

// float is a value in f32.
func (q *dequantizer) float(o ops.Operand) ops.Operand {
	t := q.typeOf(o)
	if t.DType == ops.F32 {
		return o
	}
	return q.add(ops.AsType, ops.Type{DType: ops.F32, Shape: t.Shape}, nil, o)
}

// weightOf reports whether a product is one of few vectors and a weight.
func (q *dequantizer) weightOf(in *ops.Instr) (w weight, vectors int, ok bool) {
	if in.Op != ops.Dot || in.Ins[0].Lit != nil || in.Ins[1].Lit != nil || len(in.Attrs[1])+len(in.Attrs[3]) > 0 ||
		len(in.Attrs[0]) != 1 || len(in.Attrs[2]) != 1 {
		return w, 0, false
	}
	x, m, out := q.typeOf(in.Ins[0]), q.typeOf(in.Ins[1]), in.Outs[0].Type.DType
	last := len(x.Shape) - 1
	if len(m.Shape) != 2 || last < 0 || in.Attrs[0][0] != last || !narrowFloat(out) || !narrowFloat(x.DType) || !narrowFloat(m.DType) {
		return w, 0, false
	}
	w = weight{value: in.Ins[1], typ: m, axis: in.Attrs[2][0], parts: 1, every: 1}
	vectors = x.Size() / x.Shape[last]
	if vectors > fewVectors || vectors > 1 && !q.converted(w.value) || m.Size() < largeMatrix {
		return w, 0, false
	}
	read, ok := q.reads(&w, w.value, deepest)
	return w, vectors, ok && q.uses[w.value.ID] == 1 && 4*read <= 3*m.Bytes() && m.Shape[w.axis]%w.parts == 0
}

// converted reports whether a value is one in memory of another type: sums that share it read that.
func (q *dequantizer) converted(o ops.Operand) bool {
	in := q.made[o.ID]
	for in != nil && in.Op == ops.AsType && in.Ins[0].Lit == nil {
		in = q.made[in.Ins[0].ID]
	}
	return in == nil
}

func narrowFloat(d ops.DType) bool { return d == ops.F32 || d == ops.BF16 || d == ops.F16 }

// reads counts the bytes from which a value of the shape of the weight is computed, or of a shape that
// broadcasts to it. It finds the parts on the way. Values in memory are the leaves.
func (q *dequantizer) reads(w *weight, o ops.Operand, depth int) (bytes int, ok bool) {
	if o.Lit != nil {
		return 0, len(o.Lit.Type.Shape) == 0
	}
	in, t := q.made[o.ID], q.typeOf(o)
	switch {
	case depth == 0:
		return 0, false
	case in == nil || t.Size() == 1 || q.uses[o.ID] > 1 && t.Size() >= w.typ.Size()/w.parts:
		return t.Bytes(), true
	case in.Op == ops.Constant:
		return 0, true
	case in.Op.Info().Kind == ops.Pointwise:
		for _, a := range in.Ins {
			n, ok := q.reads(w, a, depth-1)
			if !ok {
				return 0, false
			}
			bytes += n
		}
		return bytes, true
	}
	if parts, every := q.joined(o, w); len(parts) > 0 {
		if w.parts > 1 && (w.parts != len(parts) || w.every != every) {
			return 0, false
		}
		w.parts, w.every = len(parts), every
		seen := map[ops.ID]bool{}
		for _, p := range parts {
			n, ok := q.leaves(p, depth-1, seen)
			if !ok {
				return 0, false
			}
			bytes += n
		}
		return bytes, true
	}
	if in.Op == ops.Reshape || in.Op == ops.BroadcastTo { // of scales, or of groups
		return q.leaves(o, depth-1, map[ops.ID]bool{})
	}
	return t.Bytes(), true
}

// leaves counts the bytes in memory from which a value is computed, each once.
func (q *dequantizer) leaves(o ops.Operand, depth int, seen map[ops.ID]bool) (bytes int, ok bool) {
	if o.Lit != nil || seen[o.ID] {
		return 0, true
	}
	seen[o.ID] = true
	in := q.made[o.ID]
	switch {
	case depth == 0:
		return 0, false
	case in == nil:
		return q.typeOf(o).Bytes(), true
	case in.Op == ops.Constant:
		return 0, true
	case in.Op.Info().Kind != ops.Pointwise && in.Op != ops.Reshape && in.Op != ops.BroadcastTo:
		return q.typeOf(o).Bytes(), true
	}
	for _, a := range in.Ins {
		n, ok := q.leaves(a, depth-1, seen)
		if !ok {
			return 0, false
		}
		bytes += n
	}
	return bytes, true
}

// joined are the parts of a value along the contracted axis: one after the other, or in turns.
func (q *dequantizer) joined(o ops.Operand, w *weight) (parts []ops.Operand, every int) {
	in, shape := q.made[o.ID], q.typeOf(o).Shape
	if len(shape) != 2 || shape[w.axis] != w.typ.Shape[w.axis] {
		return nil, 0
	}
	every = 1
	if in.Op == ops.Reshape && in.Ins[0].Lit == nil { // [k/2, 2, n] to [k, n]
		inner := q.made[in.Ins[0].ID]
		s := q.typeOf(in.Ins[0]).Shape
		if inner == nil || inner.Op != ops.Stack && inner.Op != ops.Concatenate || len(s) != 3 || s[w.axis]*s[w.axis+1] != shape[w.axis] {
			return nil, 0
		}
		axis := inner.Attrs[0][0]
		if axis != w.axis+1 || len(inner.Ins) != s[axis] {
			return nil, 0
		}
		in, every = inner, len(inner.Ins)
	}
	if in.Op != ops.Concatenate && in.Op != ops.Stack || every == 1 && (in.Op != ops.Concatenate || in.Attrs[0][0] != w.axis) ||
		len(in.Ins) < 2 || len(in.Ins) > mostParts {
		return nil, 0
	}
	size := shape.Size() / len(in.Ins)
	for _, p := range in.Ins {
		if t := q.typeOf(p); p.Lit != nil || t.Size() != size || t.DType != in.Outs[0].Type.DType {
			return nil, 0
		}
	}
	return in.Ins, every
}

// part is a part of a value along the contracted axis.
func (q *dequantizer) part(w weight, o ops.Operand, p int) ops.Operand {
	t := q.typeOf(o)
	at := len(t.Shape) - 2 + w.axis // a shape of fewer dimensions broadcasts
	if w.parts == 1 || o.Lit != nil || at < 0 || t.Shape[at] == 1 {
		return o
	}
	shape := slices.Clone(t.Shape)
	shape[at] /= w.parts
	typ := ops.Type{DType: t.DType, Shape: shape}
	if in := q.made[o.ID]; in != nil {
		if parts, _ := q.joined(o, &w); len(parts) > 0 {
			return q.add(ops.Reshape, typ, nil, parts[p])
		}
		if in.Op.Info().Kind == ops.Pointwise {
			ins := make([]ops.Operand, len(in.Ins))
			for i, a := range in.Ins {
				ins[i] = q.part(w, a, p)
			}
			return q.add(in.Op, typ, in.Attrs, ins...)
		}
	}
	from, length, stride := w.places(p, t.Shape[at])
	starts, lengths, strides := make([]int, len(shape)), slices.Clone(shape), slices.Repeat([]int{1}, len(shape))
	starts[at], lengths[at], strides[at] = from, length, stride
	return q.add(ops.Slice, typ, [][]int{starts, lengths, strides}, o)
}

// Integers returns a region in which products of integers of 32 bits, whose operands are converted from s8 or u8, read
// these as they are: so no operand of 32 bits is in memory, and matrix hardware multiplies them. Sums wrap around as
// before, so the results have the same bits. The region that is given stays as it is.
func Integers(r *ops.Region) *ops.Region {
	n := &narrower{rewriter: newRewriter(r)}
	n.rewrite = n.product
	return n.region(r)
}

type narrower struct{ *rewriter }

// product rewrites a product of integers.
func (n *narrower) product(in *ops.Instr) bool {
	if in.Op != ops.Dot || in.Ins[0].Lit != nil || in.Ins[1].Lit != nil {
		return false
	}
	out := in.Outs[0].Type
	if out.DType != ops.S32 && out.DType != ops.U32 {
		return false
	}
	a, b := n.byte(in.Ins[0]), n.byte(in.Ins[1])
	d := n.typeOf(a).DType
	if d != n.typeOf(b).DType || d != ops.S8 && d != ops.U8 || a == in.Ins[0] && b == in.Ins[1] {
		return false
	}
	product := ops.Instr{Op: ops.Dot, Ins: []ops.Operand{a, b}, Outs: in.Outs, Attrs: in.Attrs}
	if wide := d.Wide(); wide != out.DType {
		sum := n.add(ops.Dot, ops.Type{DType: wide, Shape: out.Shape}, in.Attrs, a, b)
		product = ops.Instr{Op: ops.Bitcast, Ins: []ops.Operand{sum}, Outs: in.Outs}
	}
	n.body = append(n.body, product)
	return true
}

// byte is what an operand is converted from, where that has 8 bits; else the operand.
func (n *narrower) byte(o ops.Operand) ops.Operand {
	in := n.made[o.ID]
	if in == nil || in.Op != ops.AsType || in.Ins[0].Lit != nil {
		return o
	}
	from, to := n.typeOf(in.Ins[0]).DType, n.typeOf(o).DType
	if (from == ops.S8 || from == ops.U8) && (to == ops.S32 || to == ops.U32) {
		return in.Ins[0]
	}
	return o
}
