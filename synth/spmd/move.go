package spmd

import (
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/ops/shard"
)

// bring gives a value another sharding: parts of other ranks are gathered, and a part of what is there is taken.
func (e *emitter) bring(v value, to shard.Sharding) value {
	if same(v.sharding, to) {
		return v
	}
	key := move{v.local.ID, fmt.Sprint(to)}
	if o, ok := e.moved[key]; ok && v.local.Lit == nil {
		return value{typ: v.typ, sharding: to, local: o}
	}
	now := slices.Clone(v.sharding)
	o := v.local
	for d := range to {
		p := common(now[d], to[d])
		if rest := now[d][p:]; len(rest) > 0 {
			o = e.gather(o, e.mesh.Local(v.typ, now), d, rest)
			now[d] = now[d][:p]
		}
	}
	for d := range to {
		if rest := to[d][len(now[d]):]; len(rest) > 0 {
			o = e.slice(o, e.mesh.Local(v.typ, now), d, rest)
			now[d] = to[d]
		}
	}
	if v.local.Lit == nil {
		e.moved[key] = o
	}
	return value{typ: v.typ, sharding: to, local: o}
}

func same(a, b shard.Sharding) bool { return slices.EqualFunc(a, b, slices.Equal) }

// common is how many axes two lists begin with alike.
func common(a, b []int) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// gather makes a dimension of the parts along axes of the mesh.
func (e *emitter) gather(o ops.Operand, t ops.Type, d int, axes []int) ops.Operand {
	group := e.group(axes)
	n, rank := len(group), len(t.Shape)
	stacked := ops.Type{DType: t.DType, Shape: append(ops.Shape{n}, t.Shape...)}
	o = e.collective(ops.AllGather, stacked, [][]int{group}, o)
	if d > 0 {
		transposed := ops.Type{DType: t.DType, Shape: slices.Insert(slices.Clone(t.Shape), d, n)}
		order := make([]int, 0, rank+1)
		for i := range d {
			order = append(order, i+1)
		}
		order = append(order, 0)
		for i := d; i < rank; i++ {
			order = append(order, i+1)
		}
		o = e.add(ops.Transpose, transposed, [][]int{order}, o)
	}
	joined := ops.Type{DType: t.DType, Shape: slices.Clone(t.Shape)}
	joined.Shape[d] *= n
	return e.add(ops.Reshape, joined, nil, o)
}

// slice takes this rank's part of a dimension.
func (e *emitter) slice(o ops.Operand, t ops.Type, d int, axes []int) ops.Operand {
	n := e.mesh.Parts(axes)
	part := ops.Type{DType: t.DType, Shape: slices.Clone(t.Shape)}
	part.Shape[d] /= n
	starts, strides := make([]int, len(t.Shape)), make([]int, len(t.Shape))
	for i := range strides {
		strides[i] = 1
	}
	starts[d] = part.Shape[d] * slices.Index(e.group(axes), e.mesh.Rank)
	o = e.add(ops.Slice, part, [][]int{starts, slices.Clone([]int(part.Shape)), strides}, o)
	e.parts[o.ID] = e.group(axes)
	return o
}

// collective writes a collective and notes it.
func (e *emitter) collective(op ops.Op, t ops.Type, attrs [][]int, o ops.Operand) ops.Operand {
	made := e.add(op, t, attrs, o)
	*e.notes = append(*e.notes, Note{Op: e.op, What: fmt.Sprintf("%v of %v among %d ranks", op, t, len(attrs[0])), Bytes: t.Bytes(), by: made.ID})
	return made
}

// group lists the ranks whose places differ from that of this one along some axes alone, the first axis slowest.
func (e *emitter) group(axes []int) []int {
	stride := make([]int, len(e.mesh.Shape))
	for a, n := len(stride)-1, 1; a >= 0; a-- {
		stride[a] = n
		n *= e.mesh.Shape[a]
	}
	base := e.mesh.Rank
	for _, a := range axes {
		base -= e.mesh.Rank / stride[a] % e.mesh.Shape[a] * stride[a]
	}
	group := []int{base}
	for _, a := range axes {
		var next []int
		for _, r := range group {
			for i := range e.mesh.Shape[a] {
				next = append(next, r+i*stride[a])
			}
		}
		group = next
	}
	return group
}
