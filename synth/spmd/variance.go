package spmd

import (
	"slices"

	"nxvk/ops"
	"nxvk/ops/shard"
)

// A variance, as of a batch norm, sums squared distances from a mean: ranks would first combine the sums of their parts, and then those
// of the squares. In place of that each rank gathers two sums of every part, that of its elements and that of their squared distances
// from the mean of the part, and combines them by the formula of Chan, Golub and LeVeque (1983), which loses no digits far from zero.

// variance is what is known of a variance by its first sum, of the elements of a value along some axes, which it keeps.
type variance struct {
	squares ops.Result // the second sum, of their squared distances from their mean
	count   int        // elements of each sum
}

// variances finds those of a region, by their first sums.
func variances(r *ops.Region) map[ops.ID]*variance {
	made, types := make(map[ops.ID]*ops.Instr), make(map[ops.ID]ops.Type)
	for _, p := range r.Params {
		types[p.ID] = p.Type
	}
	found := make(map[ops.ID]*variance)
	for i := range r.Body {
		in := &r.Body[i]
		for _, o := range in.Outs {
			made[o.ID], types[o.ID] = in, o.Type
		}
		if in.Op != ops.Sum || in.Ins[0].Lit != nil {
			continue
		}
		if first := firstSum(in, made, types); first != nil && found[first.Outs[0].ID] == nil {
			found[first.Outs[0].ID] = &variance{in.Outs[0], types[first.Ins[0].ID].Size() / first.Outs[0].Type.Size()}
		}
	}
	return found
}

// firstSum is the sum of what a sum adds the squared distances of; nil where it adds anything else.
func firstSum(squares *ops.Instr, made map[ops.ID]*ops.Instr, types map[ops.ID]ops.Type) *ops.Instr {
	square := made[squares.Ins[0].ID]
	if square == nil || !squared(square) {
		return nil
	}
	away := made[square.Ins[0].ID]
	if away == nil || away.Op != ops.Subtract || away.Ins[0].Lit != nil || away.Ins[1].Lit != nil {
		return nil
	}
	mean := made[away.Ins[1].ID]
	if mean == nil || mean.Op != ops.Divide || mean.Ins[0].Lit != nil || mean.Ins[1].Lit == nil {
		return nil
	}
	sum := made[mean.Ins[0].ID]
	if sum == nil || sum.Op != ops.Sum || sum.Ins[0].Lit != nil || sum.Ins[0].ID != away.Ins[0].ID || !slices.Equal(sum.Attrs[0], squares.Attrs[0]) {
		return nil
	}
	x := types[sum.Ins[0].ID]
	n, ok := mean.Ins[1].Lit.Number()
	for _, t := range []ops.Type{sum.Outs[0].Type, mean.Outs[0].Type, away.Outs[0].Type, square.Outs[0].Type, squares.Outs[0].Type} {
		ok = ok && t.DType == x.DType && (t.DType == ops.F32 || t.DType == ops.F64)
	}
	if !ok || x.Size() == 0 || n != float64(x.Size()/sum.Outs[0].Type.Size()) || sum.Attrs[1][0] == 0 {
		return nil
	}
	return sum
}

// squared reports whether an instruction squares a value.
func squared(in *ops.Instr) bool {
	if in.Ins[0].Lit != nil {
		return false
	}
	switch in.Op {
	case ops.Multiply:
		return in.Ins[1].Lit == nil && in.Ins[1].ID == in.Ins[0].ID
	case ops.Pow:
		if in.Ins[1].Lit == nil {
			return false
		}
		n, ok := in.Ins[1].Lit.Number()
		return ok && n == 2
	}
	return false
}

// combines returns the variance whose first sum an instruction is, where ranks combine that over axes of the mesh and it is little:
// of more, what moves would take the time, and gathering moves more.
func (e *emitter) combines(sum *ops.Instr, axes []int) (v *variance, ok bool) {
	if len(axes) == 0 || len(sum.Outs) > 1 || sum.Outs[0].Type.Bytes() > shard.HostBytes {
		return nil, false
	}
	v, ok = e.sums[sum.Outs[0].ID]
	return v, ok
}

// combine writes both sums of a variance, and returns the first one. sum is that of the part, x what it adds, and s what the whole
// is divided by.
func (e *emitter) combine(v *variance, sum *ops.Instr, x ops.Type, s shard.Sharding, axes []int) (first ops.Operand) {
	group := e.group(axes)
	t, kept := x.DType, sum.Outs[0].Type
	of := func(shape ...int) ops.Type { return ops.Type{DType: t, Shape: shape} }
	number := func(n int) ops.Operand { return ops.Operand{Lit: ops.NumberLiteral(t, float64(n))} }
	n, ranks := kept.Size(), len(group)
	own := ops.Operand{ID: sum.Outs[0].ID}
	squaresOf := func(at ops.Type, a, mean ops.Operand) ops.Operand {
		away := e.add(ops.Subtract, at, nil, a, mean)
		return e.add(ops.Multiply, at, nil, away, away)
	}
	count := number(v.count / ranks)
	mine := e.add(ops.Sum, kept, sum.Attrs, squaresOf(x, sum.Ins[0], e.add(ops.Divide, kept, nil, own, count)))
	both := e.add(ops.Concatenate, of(2*n), [][]int{{0}}, e.add(ops.Reshape, of(n), nil, own), e.add(ops.Reshape, of(n), nil, mine))
	all := e.collective(ops.AllGather, of(ranks, 2*n), [][]int{group}, both)
	total := e.add(ops.Sum, of(2*n), [][]int{{0}, {0}}, all)
	half := func(k int) ops.Operand { return e.add(ops.Slice, of(n), [][]int{{k * n}, {n}, {1}}, total) }
	first = half(0)
	means := e.add(ops.Divide, of(ranks, n), nil, e.add(ops.Slice, of(ranks, n), [][]int{{0, 0}, {ranks, n}, {1, 1}}, all), count)
	mean := e.add(ops.Divide, of(n), nil, first, number(v.count))
	between := e.add(ops.Sum, of(n), [][]int{{0}, {0}}, squaresOf(of(ranks, n), means, mean))
	within := half(1)
	squares := e.add(ops.Add, of(n), nil, within, e.add(ops.Multiply, of(n), nil, between, count))
	if len(v.squares.Type.Shape) < len(s) {
		left := shard.Sharding{}
		for d := range s {
			if !slices.Contains(sum.Attrs[0], d) {
				left = append(left, s[d])
			}
		}
		s = left
	}
	e.given[v.squares.ID] = value{typ: v.squares.Type, sharding: s, local: e.add(ops.Reshape, e.mesh.Local(v.squares.Type, s), nil, squares)}
	return e.add(ops.Reshape, kept, nil, first)
}
