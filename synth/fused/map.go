package fused

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/elementwise"
	"nxvk/synth/fusion"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
)

// lowerMap plans a fusion whose results all have an element for each point of one
// space, and no reductions: one kernel.
func lowerMap(u *fusion.Fusion, dag *fusion.DAG, t *lowering.Target) (*lowering.Plan, error) {
	p, err := codegen.NewPlan(t, nil, ElementwiseJob(dag, u, t).Programs(t)...)
	if err == nil {
		p.Checks = dag.Checks
	}
	return p, err
}

// ElementwiseJob is the job of a fusion without reductions.
func ElementwiseJob(dag *fusion.DAG, u *fusion.Fusion, t *lowering.Target) *elementwise.Job {
	j := &elementwise.Job{Key: "fusion " + describe(dag), Dims: dag.Dims, Sources: dag.Sources, Out: dag.Full, Flops: flops(dag), Loose: u.Loose}
	j.Cost = cost(dag, t)
	j.Long = j.Cost > longBody
	for i, o := range u.Outs {
		b := codegen.BufferOf(lowering.Ref{Kind: lowering.Result, Index: i}, o.Type.DType)
		if i == 0 {
			j.Result = b
		} else {
			j.MoreResults = append(j.MoreResults, b)
		}
		j.Key += fmt.Sprintf(" %d", dag.Outs[i])
	}
	at := places(dag)
	j.Groups = func(e *codegen.Emitter, xs [][]kernel.Value) ([][]kernel.Value, error) {
		ps := newPoints(dag, len(xs))
		for i := range dag.Exprs {
			loaded := make([][]kernel.Value, len(xs))
			if x := &dag.Exprs[i]; x.Kind == fusion.ExprSource {
				for k := range xs {
					loaded[k] = xs[k][at[x.Source]:at[x.Source+1]]
				}
			}
			if err := compute(dag, e, ps, i, loaded); err != nil {
				return nil, err
			}
		}
		vs := make([][]kernel.Value, len(xs))
		for k, p := range ps {
			for _, i := range dag.Outs {
				vs[k] = append(vs[k], p.store(e, i, dag.Exprs[i].Type)...)
			}
		}
		return vs, nil
	}
	return j
}

// places is the index of the first value of each source among the values of all
// sources at a point, and the number of all values.
func places(dag *fusion.DAG) []int {
	at := make([]int, 1, len(dag.Sources)+1)
	for i := range dag.Sources {
		at = append(at, at[i]+dag.Sources[i].Parts())
	}
	return at
}

// longBody is the number of primitive operations from which on a body is long.
// Arithmetic bounds such a kernel, not memory.
const longBody = 2048

// cost counts the primitive operations at a point.
func cost(dag *fusion.DAG, t *lowering.Target) int {
	n := 0
	for i := range dag.Exprs {
		if x := &dag.Exprs[i]; x.Kind != fusion.ExprSource {
			n += fusion.Cost(t, x.In, x.Types)
		}
	}
	return n
}

// flops counts the operations of the table that are applied at a point.
func flops(dag *fusion.DAG) int64 {
	n := int64(0)
	for i := range dag.Exprs {
		if dag.Exprs[i].Kind != fusion.ExprSource {
			n++
		}
	}
	return n
}

// Lower plans a fusion of several instructions.
func Lower(u *fusion.Fusion, types func(ops.ID) ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	switch {
	case len(u.Abreast) > 0:
		return lowerAbreast(u, types, t)
	case len(u.Stages) > 0:
		return lowerChain(u, types, t)
	}
	dag, err := fusion.NewDAG(u, types)
	if err != nil {
		panic(fmt.Sprintf("BUG: a fusion without a space: %v", err))
	}
	var p *lowering.Plan
	switch {
	case dag.Update != nil:
		p, err = lowerUpdate(u, dag, types, t)
	case u.Contraction() != nil:
		p, err = lowerContraction(u, dag, types, t)
	case u.FirstReduction() != nil:
		p, err = lowerFolded(u, dag, t)
	default:
		p, err = lowerMap(u, dag, t)
	}
	if err != nil {
		return nil, fmt.Errorf("lower a fusion of %d instructions: %w", len(u.Body), err)
	}
	return p, nil
}
