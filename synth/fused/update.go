package fused

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/elementwise"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
	"nxvk/synth/movement"
	"nxvk/synth/strided"
)

// lowerUpdate plans a fusion that ends in a put_slice: a copy of the tensor, and the kernel that
// computes the slice and writes it over that. The copy is left out where the tensor may be updated in
// place, unless the slice is computed from elements of the tensor: other invocations may have
// overwritten them.
func lowerUpdate(u *fusion.Fusion, dag *fusion.DAG, types func(ops.ID) ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	put, err := codegen.NewPlan(t, nil, updateJob(u, dag, t).Programs(t)...)
	if err != nil {
		return nil, err
	}
	put.Checks = dag.Checks
	return withCopy(u, dag.Update.In, put, types, t)
}

// updateJob computes the slice and writes it.
func updateJob(u *fusion.Fusion, dag *fusion.DAG, t *lowering.Target) *elementwise.Job {
	j := ElementwiseJob(dag, u, t)
	j.Out, j.OutShifts = dag.Update.Out, dag.Update.Starts
	return j
}

// withCopy is the plan put of an update, after a copy of the tensor.
func withCopy(u *fusion.Fusion, in *ops.Instr, put *lowering.Plan, types func(ops.ID) ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	p, tensor, err := copyOf(u, in, types, t)
	if err != nil {
		return nil, err
	}
	if !reads(put.Steps, tensor) {
		p.InPlace = []lowering.InPlace{{Operand: tensor, Copies: len(p.Steps)}}
	}
	p.Steps, p.Checks = append(p.Steps, put.Steps...), put.Checks
	return p, nil
}

// copyOf is the plan that copies the tensor of an update, which is the given operand of the fusion, to result 0.
func copyOf(u *fusion.Fusion, in *ops.Instr, types func(ops.ID) ops.Type, t *lowering.Target) (p *lowering.Plan, tensor int, err error) {
	ts, places := u.Operands(in, func(id ops.ID) ops.Type { return typeIn(u, id, types) })
	s := ts[0].Shape
	p, err = movement.Lower(in, ts, t, movement.Move{Dims: s, Operand: 0, In: strided.Dense(s), Out: strided.Dense(s)})
	if err != nil {
		return nil, 0, err
	}
	return p.Renumber(places), places[0], nil
}

// reads reports whether steps read an operand.
func reads(steps []lowering.Step, operand int) bool {
	ref := lowering.Ref{Kind: lowering.Operand, Index: operand}
	return slices.ContainsFunc(steps, func(s lowering.Step) bool {
		return slices.ContainsFunc(s.Args, func(a lowering.Arg) bool { return a.Ref == ref })
	})
}

// typeIn is the type of a value that a fusion reads or makes.
func typeIn(u *fusion.Fusion, id ops.ID, types func(ops.ID) ops.Type) ops.Type {
	for i := range u.Body {
		for _, o := range u.Body[i].Outs {
			if o.ID == id {
				return o.Type
			}
		}
	}
	return types(id)
}
