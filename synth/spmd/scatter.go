package spmd

import (
	"fmt"
	"slices"

	"nxvk/ops"
)

// scatter replaces an all_reduce of which this rank needs only its part by a reduce_scatter, which moves half as much: the
// gradient of a parameter that is divided over the axis which divides the batch. Elements may be computed in between,
// such as the gradient times a learning rate; they are then computed of the part. All ranks do the same, since
// their programs differ in the starts of these slices alone.
func (e *emitter) scatter(r *ops.Region) {
	s := &scatterer{emitter: e, region: r, makers: make(map[ops.ID]int), uses: make(map[ops.ID]int), types: make(map[ops.ID]ops.Type)}
	s.count(r)
	for i := range r.Body {
		for _, o := range r.Body[i].Outs {
			s.makers[o.ID] = i
		}
	}
	dead := make(map[int]bool)
	before := make(map[int][]ops.Instr)
	for i := range r.Body {
		if at, list := s.replace(i); at >= 0 {
			dead[i], before[at] = true, list
		}
	}
	if len(dead) == 0 {
		return
	}
	var body []ops.Instr
	for i, in := range r.Body {
		body = append(body, before[i]...)
		if !dead[i] {
			body = append(body, in)
		}
	}
	r.Body = body
}

// scatterer is what scatter knows of a region.
type scatterer struct {
	*emitter
	region *ops.Region
	makers map[ops.ID]int // by the values of the body
	uses   map[ops.ID]int // also in the regions inside
	types  map[ops.ID]ops.Type
}

func (s *scatterer) count(r *ops.Region) {
	for _, p := range r.Params {
		s.types[p.ID] = p.Type
	}
	for i := range r.Body {
		for _, o := range r.Body[i].Ins {
			s.uses[o.ID]++
		}
		for _, o := range r.Body[i].Outs {
			s.types[o.ID] = o.Type
		}
		for _, inner := range r.Body[i].Regions {
			s.count(inner)
		}
	}
	for _, o := range r.Values {
		s.uses[o.ID]++
	}
}

// replace makes a reduce_scatter of the all_reduce whose part slice i takes. It returns where that is, with the
// instructions to put before it, or -1.
func (s *scatterer) replace(i int) (at int, before []ops.Instr) {
	cut := &s.region.Body[i]
	if cut.Op != ops.Slice || s.parts[cut.Outs[0].ID] == nil {
		return -1, nil
	}
	var between []int // that compute elements, last first
	id := cut.Ins[0].ID
	for {
		at, ok := s.makers[id]
		if !ok || s.uses[id] != 1 || cut.Ins[0].Lit != nil {
			return -1, nil
		}
		in := &s.region.Body[at]
		if in.Op == ops.AllReduce {
			d := s.part(cut, in)
			if d < 0 {
				return -1, nil
			}
			return at, s.rewrite(cut, in, between, d)
		}
		next := s.through(in)
		if next == 0 {
			return -1, nil
		}
		between, id = append(between, at), next
	}
}

// through is the operand of an instruction that computes elements of that and of scalars; 0 for another one.
func (s *scatterer) through(in *ops.Instr) (id ops.ID) {
	if in.Op.Info().Kind != ops.Pointwise || len(in.Outs) != 1 {
		return 0
	}
	for _, o := range in.Ins {
		t := s.types[o.ID]
		if o.Lit != nil {
			t = o.Lit.Type
		}
		switch {
		case len(t.Shape) == 0:
		case o.Lit == nil && id == 0 && slices.Equal(t.Shape, in.Outs[0].Type.Shape):
			id = o.ID
		default:
			return 0
		}
	}
	return id
}

// part is the dimension of which a slice takes the part of this rank in the group of an all_reduce; -1 where it takes
// that in another group, or in another order of the same ranks.
func (s *scatterer) part(cut, sum *ops.Instr) (d int) {
	if !slices.Equal(s.parts[cut.Outs[0].ID], sum.Attrs[0]) {
		return -1
	}
	for d, n := range s.types[cut.Ins[0].ID].Shape {
		if cut.Attrs[1][d] != n {
			return d
		}
	}
	return -1
}

// rewrite makes a reduce_scatter of an all_reduce, and has the instructions between it and the slice compute the part. The
// last of them makes what the slice made.
func (s *scatterer) rewrite(cut, sum *ops.Instr, between []int, d int) (before []ops.Instr) {
	n, whole := len(sum.Attrs[0]), sum.Outs[0].Type
	part := ops.Type{DType: whole.DType, Shape: slices.Clone(whole.Shape)}
	part.Shape[d] /= n
	add := func(op ops.Op, shape ops.Shape, attrs [][]int, o ops.Operand) ops.Operand {
		*s.last++
		before = append(before, ops.Instr{Op: op, Ins: []ops.Operand{o}, Attrs: attrs,
			Outs: []ops.Result{{ID: *s.last, Type: ops.Type{DType: whole.DType, Shape: shape}}}})
		return ops.Operand{ID: *s.last}
	}
	// The parts become the first dimension.
	o := add(ops.Reshape, slices.Insert(slices.Clone(part.Shape), d, n), nil, sum.Ins[0])
	if d > 0 {
		order := []int{d}
		for k := range len(whole.Shape) + 1 {
			if k != d {
				order = append(order, k)
			}
		}
		o = add(ops.Transpose, append(ops.Shape{n}, part.Shape...), [][]int{order}, o)
	}
	for i := range *s.notes {
		if note := &(*s.notes)[i]; note.by == sum.Outs[0].ID {
			note.What, note.Bytes = fmt.Sprintf("%v of %v among %d ranks", ops.ReduceScatter, part, n), part.Bytes()
		}
	}
	sum.Op, sum.Ins = ops.ReduceScatter, []ops.Operand{o}
	made := &sum.Outs[0]
	made.Type = part
	for _, at := range slices.Backward(between) {
		made = &s.region.Body[at].Outs[0]
		made.Type.Shape = slices.Clone(part.Shape)
	}
	last := made.ID
	made.ID = cut.Outs[0].ID
	s.types[made.ID], s.uses[last] = made.Type, 0
	return before
}
