package spmd

import (
	"slices"

	"nxvk/ops"
	"nxvk/ops/shard"
)

// apply writes an instruction by its rule.
func (e *emitter) apply(in *ops.Instr, args []value, r *rule) {
	factors := e.axesOfFactors(in, args, r)
	local := *in
	local.Ins = make([]ops.Operand, len(args))
	for i, a := range args {
		local.Ins[i] = e.bring(a, wanted(r.operand(i, len(a.typ.Shape)), factors)).local
	}
	local.Attrs = e.attrs(in, args, r, factors)
	local.Outs = make([]ops.Result, len(in.Outs))
	shardings := make([]shard.Sharding, len(in.Outs))
	for i, o := range in.Outs {
		shardings[i] = wanted(r.result(i, len(o.Type.Shape)), factors)
		*e.last++
		local.Outs[i] = ops.Result{ID: *e.last, Type: e.mesh.Local(o.Type, shardings[i])}
	}
	e.body = append(e.body, local)
	for i, o := range in.Outs {
		part := ops.Operand{ID: local.Outs[i].ID}
		axes := contracted(r, factors)
		if v, ok := e.combines(in, axes); ok {
			x := e.mesh.Local(args[0].typ, wanted(r.operand(0, len(args[0].typ.Shape)), factors))
			part = e.combine(v, &local, x, shardings[i], axes)
		} else if len(axes) > 0 {
			part = e.collective(ops.AllReduce, local.Outs[i].Type, [][]int{e.group(axes), {r.operator}}, part)
		}
		v := value{typ: o.Type, sharding: shardings[i], local: part}
		if r.restore {
			v = e.bring(v, e.restored(v, args[0].sharding))
		}
		e.define(o, v.sharding, v.local)
	}
}

// axesOfFactors chooses which axes of the mesh divide each factor: those by which the first operand that is
// divided there is. An axis divides one factor, and dimensions that it does not divide stay whole.
func (e *emitter) axesOfFactors(in *ops.Instr, args []value, r *rule) map[int][]int {
	factors := make(map[int][]int)
	var used []int
	for i, a := range args {
		for d, f := range r.operand(i, len(a.typ.Shape)) {
			axes := a.sharding[d]
			if f == whole || len(factors[f]) > 0 || len(axes) == 0 ||
				slices.ContainsFunc(axes, func(x int) bool { return slices.Contains(used, x) }) || !e.divides(in, args, r, f, axes) {
				continue
			}
			factors[f] = axes
			used = append(used, axes...)
		}
	}
	return factors
}

// divides reports whether axes divide all dimensions of a factor.
func (e *emitter) divides(in *ops.Instr, args []value, r *rule, f int, axes []int) bool {
	n := e.mesh.Parts(axes)
	fits := func(dims []int, s ops.Shape) bool {
		for d, g := range dims {
			if g == f && s[d]%n != 0 {
				return false
			}
		}
		return true
	}
	for i, a := range args {
		if !fits(r.operand(i, len(a.typ.Shape)), a.typ.Shape) {
			return false
		}
	}
	for i, o := range in.Outs {
		if !fits(r.result(i, len(o.Type.Shape)), o.Type.Shape) {
			return false
		}
	}
	return true
}

// wanted is the sharding of a value whose dimensions have these factors.
func wanted(dims []int, factors map[int][]int) shard.Sharding {
	s := shard.Whole(len(dims))
	for d, f := range dims {
		if f != whole {
			s[d] = factors[f]
		}
	}
	return s
}

// contracted lists the axes over which parts of the result have to be combined.
func contracted(r *rule, factors map[int][]int) (axes []int) {
	for _, f := range r.contracts {
		axes = append(axes, factors[f]...)
	}
	return axes
}

// attrs are the attributes on the parts: the lengths of a slice are sizes.
func (e *emitter) attrs(in *ops.Instr, args []value, r *rule, factors map[int][]int) [][]int {
	if in.Op != ops.Slice {
		return in.Attrs
	}
	lengths := slices.Clone(in.Attrs[1])
	for d, f := range r.operand(0, len(lengths)) {
		if f != whole {
			lengths[d] /= e.mesh.Parts(factors[f])
		}
	}
	return [][]int{in.Attrs[0], lengths, in.Attrs[2]}
}

// restored is the sharding of a result like that of its operand, where it can be divided so.
func (e *emitter) restored(v value, of shard.Sharding) shard.Sharding {
	s := slices.Clone(v.sharding)
	if len(of) != len(s) {
		return s
	}
	var used []int
	for _, axes := range s {
		used = append(used, axes...)
	}
	for d, axes := range of {
		free := !slices.ContainsFunc(axes, func(a int) bool { return slices.Contains(used, a) })
		if len(s[d]) == 0 && free && v.typ.Shape[d]%e.mesh.Parts(axes) == 0 {
			s[d] = axes
			used = append(used, axes...)
		}
	}
	return s
}
