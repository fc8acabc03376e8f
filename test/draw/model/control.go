package model

import "nxvk/ops"

// while adds a loop over a state.
func (m *Model) while(state []ops.Operand, condition func([]ops.Operand) ops.Operand, body func([]ops.Operand) []ops.Operand) []ops.Operand {
	in := ops.Instr{Op: ops.While, Ins: state, Attrs: [][]int{nil, nil}}
	region := func(f func([]ops.Operand) []ops.Operand) *ops.Region {
		outer := m.Body
		m.Body = nil
		var s []ops.Operand
		r := &ops.Region{}
		for _, o := range state {
			t := m.TypeOf(o)
			id := m.ID(t)
			r.Params = append(r.Params, ops.Result{ID: id, Type: t})
			s = append(s, ops.Operand{ID: id})
		}
		r.Values = f(s)
		r.Body, m.Body = m.Body, outer
		return r
	}
	in.Regions = []*ops.Region{
		region(func(s []ops.Operand) []ops.Operand { return []ops.Operand{condition(s)} }),
		region(body),
	}
	var outs []ops.Operand
	for _, o := range state {
		t := m.TypeOf(o)
		id := m.ID(t)
		in.Outs = append(in.Outs, ops.Result{ID: id, Type: t})
		outs = append(outs, ops.Operand{ID: id})
	}
	m.Body = append(m.Body, in)
	return outs
}
