package indexing

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/movement"
	"nxvk/synth/strided"
)

// checked gives a plan the check of its indices. A literal has none: whoever has it knows
// whether it is within its dimension.
func checked(in *ops.Instr, p *lowering.Plan, err error) (*lowering.Plan, error) {
	if err == nil && in.Ins[1].Lit == nil {
		p.Checks = []lowering.Check{{Operand: 1}}
	}
	return p, err
}

// checks are the sources that check indices, which shifts take from earlier sources.
func checks(in *ops.Instr, shifts []codegen.Shift) (list []codegen.Source) {
	if in.Ins[1].Lit != nil {
		return nil
	}
	for _, h := range shifts {
		list = append(list, codegen.CheckSource(0, h.From, h.Limit))
	}
	return list
}

// LowerGather plans a take, take_along_axis or gather: elements, or slices, at indices along
// one or several axes.
func LowerGather(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	if j := pickOf(in, types, t); j != nil {
		p, err := codegen.NewPlan(t, nil, j.program())
		return checked(in, p, err)
	}
	s, out := types[0].Shape, in.Outs[0].Type.Shape
	g := strided.GatherOf(in, s, types[1].Shape)
	m := movement.Move{Dims: out, Operand: 0, In: g.View, Out: strided.Dense(out)}
	for k, a := range g.Axes {
		m.Indices = append(m.Indices, codegen.IndexOperand(in, types, 1, g.At[k]))
		m.Shifts = append(m.Shifts, codegen.Shift{From: k, Limit: s[a] - 1, Stride: g.Strides[k]})
	}
	m.Indices = append(m.Indices, checks(in, m.Shifts)...)
	p, err := movement.Lower(in, types, t, m)
	return checked(in, p, err)
}

// apart splits what belongs to the dimensions of a tensor into that of axes, in
// their order, and the rest.
func apart(of, axes []int) (chosen, rest []int) {
	for _, a := range axes {
		chosen = append(chosen, of[a])
	}
	for i, x := range of {
		if !slices.Contains(axes, i) {
			rest = append(rest, x)
		}
	}
	return chosen, rest
}
