package spmd

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"nxvk/ops"
	"nxvk/ops/shard"
)

// Result is one rank's program, and what became of the values.
type Result struct {
	Region *ops.Region
	Values []shard.Sharding // of the values of the region
	Types  []ops.Type       // of them, whole
	Notes  []Note
}

// Note is a collective of the program, or an instruction that is carried out whole on every rank.
type Note struct {
	Op    ops.Op // which needs it
	What  string
	Bytes int // of the result that arrives, in each execution

	by ops.ID // of the result of the collective
}

var errCalls = errors.New("hooks and callbacks are not supported in a program that is divided over a mesh")

// Partition divides a program, which has been checked.
func Partition(r *ops.Region, p *shard.Share) (*Result, error) {
	if err := p.Check(r.Params); err != nil {
		return nil, err
	}
	e := &emitter{mesh: p, last: new(ops.ID), notes: &[]Note{}, values: make(map[ops.ID]value), moved: make(map[move]ops.Operand),
		parts: make(map[ops.ID][]int)}
	*e.last = r.LastID()
	out, values, err := e.region(r, p.Params, e.wanted(r))
	if err != nil {
		return nil, err
	}
	e.overlap(out)
	res := &Result{Region: out, Notes: *e.notes}
	for _, v := range values {
		res.Values, res.Types = append(res.Values, v.sharding), append(res.Types, v.typ)
	}
	return res, nil
}

// wanted are the shardings that the values of a program have to have; nil where they follow from those of the parameters.
func (e *emitter) wanted(r *ops.Region) []shard.Sharding {
	if !e.mesh.Whole {
		return nil
	}
	types, err := r.CheckProgram()
	if err != nil {
		return nil // it has been checked
	}
	list := make([]shard.Sharding, len(types))
	for i, t := range types {
		list[i] = shard.Whole(len(t.Shape))
	}
	return list
}

// value is a value of the whole program, and a rank's part of it.
type value struct {
	typ      ops.Type // whole
	sharding shard.Sharding
	local    ops.Operand
}

// move is a value that has been brought to another sharding.
type move struct {
	id       ops.ID
	sharding string
}

// emitter writes the program of a rank.
type emitter struct {
	mesh   *shard.Share
	last   *ops.ID // that has been given
	notes  *[]Note
	values map[ops.ID]value // by the ids of the whole program
	moved  map[move]ops.Operand
	parts  map[ops.ID][]int     // that slice has taken, with the ranks that have the others
	sums   map[ops.ID]*variance // of the region, by their first sums
	given  map[ops.ID]value     // results of the region that have been written ahead
	body   []ops.Instr
	op     ops.Op // of the instruction under way
}

// inner is an emitter of a region inside of this one. It sees the values here, and adds none.
func (e *emitter) inner() *emitter {
	in := *e
	in.values, in.moved, in.body = maps.Clone(e.values), maps.Clone(e.moved), nil
	return &in
}

// region divides a region whose parameters have these shardings. Its values are brought to the shardings
// of want, where that is not nil.
func (e *emitter) region(r *ops.Region, params, want []shard.Sharding) (*ops.Region, []value, error) {
	out := &ops.Region{}
	e.sums, e.given = variances(r), make(map[ops.ID]value)
	for i, p := range r.Params {
		local := e.mesh.Local(p.Type, params[i])
		e.values[p.ID] = value{typ: p.Type, sharding: params[i], local: ops.Operand{ID: p.ID}}
		out.Params = append(out.Params, ops.Result{ID: p.ID, Type: local})
	}
	for i := range r.Body {
		if err := e.instr(&r.Body[i]); err != nil {
			return nil, nil, fmt.Errorf("instruction %d (%v): %w", i, r.Body[i].Op, err)
		}
	}
	values := make([]value, len(r.Values))
	for i, o := range r.Values {
		values[i] = e.value(o)
		if want != nil {
			values[i] = e.bring(values[i], want[i])
		}
		out.Values = append(out.Values, values[i].local)
	}
	out.Body = e.body
	e.scatter(out)
	return out, values, nil
}

// value finds an operand. A literal is whole.
func (e *emitter) value(o ops.Operand) value {
	if o.Lit != nil {
		return value{typ: o.Lit.Type, sharding: shard.Whole(len(o.Lit.Type.Shape)), local: o}
	}
	return e.values[o.ID]
}

// instr writes an instruction.
func (e *emitter) instr(in *ops.Instr) error {
	e.op = in.Op
	if in.Op == ops.Sum {
		if v, ok := e.given[in.Outs[0].ID]; ok {
			e.define(in.Outs[0], v.sharding, v.local)
			return nil
		}
	}
	switch {
	case in.Op == ops.While:
		return e.loop(in)
	case in.Op == ops.Branch:
		return e.branch(in)
	case in.Op == ops.OptimizationBarrier:
		e.barrier(in)
		return nil
	case in.Op == ops.Hook || in.Op == ops.Callback:
		return errCalls
	case in.Op.IsCollective():
		return fmt.Errorf("the program has collectives already")
	}
	args := make([]value, len(in.Ins))
	types := make([]ops.Type, len(in.Ins))
	for i, o := range in.Ins {
		args[i] = e.value(o)
		types[i] = args[i].typ
	}
	r := ruleOf(in, types)
	if r == nil {
		r = &rule{}
		e.noteWhole(in, args)
	}
	e.apply(in, args, r)
	return nil
}

// barrier writes a barrier of parts: each result is divided as its operand is.
func (e *emitter) barrier(in *ops.Instr) {
	local := *in
	local.Ins, local.Outs = make([]ops.Operand, len(in.Ins)), make([]ops.Result, len(in.Outs))
	for i, o := range in.Ins {
		*e.last++
		v := e.value(o)
		local.Ins[i], local.Outs[i] = v.local, ops.Result{ID: *e.last, Type: e.mesh.Local(v.typ, v.sharding)}
		e.define(in.Outs[i], v.sharding, ops.Operand{ID: *e.last})
	}
	e.body = append(e.body, local)
}

// noteWhole notes an instruction without a rule, where operands are divided.
func (e *emitter) noteWhole(in *ops.Instr, args []value) {
	for _, a := range args {
		if !isWhole(a.sharding) {
			*e.notes = append(*e.notes, Note{Op: in.Op, What: "no rule divides it: carried out whole on every rank"})
			return
		}
	}
}

func isWhole(s shard.Sharding) bool {
	return !slices.ContainsFunc(s, func(axes []int) bool { return len(axes) > 0 })
}

// define gives a result of the whole program its part.
func (e *emitter) define(r ops.Result, s shard.Sharding, local ops.Operand) {
	e.values[r.ID] = value{typ: r.Type, sharding: s, local: local}
}

// add writes an instruction with one result, under a new id.
func (e *emitter) add(op ops.Op, t ops.Type, attrs [][]int, ins ...ops.Operand) ops.Operand {
	*e.last++
	e.body = append(e.body, ops.Instr{Op: op, Ins: ins, Outs: []ops.Result{{ID: *e.last, Type: t}}, Attrs: attrs})
	return ops.Operand{ID: *e.last}
}
