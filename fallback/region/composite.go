package region

import (
	"fmt"

	"nxvk/fallback/dense"
	"nxvk/ops"
)

// composite carries out the instructions of a region, one after the other. A value is dropped
// after its last use.
func composite(in *dense.Call, args, outs []dense.Value) error {
	r := in.Regions[0]
	values, last := make(map[ops.ID]dense.Value), make(map[ops.ID]int)
	for i, p := range r.Params {
		values[p.ID] = dense.Value{Type: p.Type, Data: args[i].Data}
	}
	for i := range r.Body {
		for _, o := range r.Body[i].Ins {
			last[o.ID] = i
		}
	}
	for _, o := range r.Values {
		last[o.ID] = len(r.Body)
	}
	for i := range r.Body {
		if err := carryOut(in.On(in.Worker), &r.Body[i], values); err != nil {
			return err
		}
		for _, o := range r.Body[i].Ins {
			if o.Lit == nil && last[o.ID] == i {
				delete(values, o.ID)
			}
		}
	}
	for i, o := range r.Values {
		v := values[o.ID]
		if o.Lit != nil {
			v = dense.Value{Type: o.Lit.Type, Data: o.Lit.Data}
		}
		copy(outs[i].Data, v.Data)
	}
	return nil
}

// carryOut carries out an instruction of a region whose operands have values.
func carryOut(c *dense.Call, in *ops.Instr, values map[ops.ID]dense.Value) error {
	k := dense.Lookup(in.Op)
	if k == nil {
		return fmt.Errorf("%v: %w", in.Op, dense.ErrUnsupported)
	}
	args, outs := make([]dense.Value, len(in.Ins)), make([]dense.Value, len(in.Outs))
	for i, o := range in.Ins {
		if args[i] = values[o.ID]; o.Lit != nil {
			args[i] = inPlace(dense.Value{Type: o.Lit.Type, Data: o.Lit.Data})
		}
	}
	for i, o := range in.Outs {
		outs[i] = dense.New(o.Type)
		values[o.ID] = outs[i]
	}
	c.Instr = in
	return k(c, args, outs)
}
