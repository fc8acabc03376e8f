package spmd

import (
	"slices"

	"nxvk/ops"
	"nxvk/ops/shard"
)

// loop writes a loop. Its state has the sharding with which it begins, as far as a round keeps that.
func (e *emitter) loop(in *ops.Instr) error {
	state := make([]shard.Sharding, len(in.Ins))
	for i, o := range in.Ins {
		state[i] = e.value(o).sharding
	}
	for {
		trial := e.trial()
		_, values, err := trial.region(in.Regions[1], state, nil)
		if err != nil {
			return err
		}
		if next := meet(state, values); !slices.EqualFunc(next, state, same) {
			state = next
			continue
		}
		break
	}
	return e.regions(in, state, [][]shard.Sharding{state, state}, [][]shard.Sharding{nil, state})
}

// trial is an emitter whose region nobody keeps.
func (e *emitter) trial() *emitter {
	t := e.inner()
	last, notes := *e.last, []Note{}
	t.last, t.notes = &last, &notes
	return t
}

// meet is what shardings have in common with those of values.
func meet(list []shard.Sharding, values []value) []shard.Sharding {
	out := make([]shard.Sharding, len(list))
	for i, s := range list {
		out[i] = slices.Clone(s)
		for d, axes := range s {
			out[i][d] = axes[:common(axes, values[i].sharding[d])]
		}
	}
	return out
}

// branch writes a branch. Its values have what the shardings of both regions have in common.
func (e *emitter) branch(in *ops.Instr) error {
	var out []shard.Sharding
	for k, r := range in.Regions {
		_, values, err := e.trial().region(r, nil, nil)
		if err != nil {
			return err
		}
		if k == 0 {
			for _, v := range values {
				out = append(out, v.sharding)
			}
			continue
		}
		out = meet(out, values)
	}
	return e.regions(in, out, make([][]shard.Sharding, 2), [][]shard.Sharding{out, out})
}

// regions writes an instruction whose regions take and give values of these shardings.
func (e *emitter) regions(in *ops.Instr, outs []shard.Sharding, params, want [][]shard.Sharding) error {
	local := *in
	local.Ins = make([]ops.Operand, len(in.Ins))
	for i, o := range in.Ins {
		v := e.value(o)
		if in.Op == ops.While {
			v = e.bring(v, outs[i])
		}
		local.Ins[i] = v.local
	}
	local.Regions = make([]*ops.Region, len(in.Regions))
	for k, r := range in.Regions {
		inner := e.inner()
		region, _, err := inner.region(r, params[k], want[k])
		if err != nil {
			return err
		}
		local.Regions[k] = region
	}
	local.Outs = make([]ops.Result, len(in.Outs))
	for i, o := range in.Outs {
		*e.last++
		local.Outs[i] = ops.Result{ID: *e.last, Type: e.mesh.Local(o.Type, outs[i])}
		e.define(o, outs[i], ops.Operand{ID: *e.last})
	}
	e.body = append(e.body, local)
	return nil
}
