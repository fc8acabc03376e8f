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
func lowerMap(u *fusion.Fusion, tr *fusion.Trace, t *lowering.Target) (*lowering.Plan, error) {
	p, err := codegen.NewPlan(t, nil, ElementwiseJob(tr, u, t).Programs(t)...)
	if err == nil {
		p.Checks = tr.Checks
	}
	return p, err
}

// ElementwiseJob is the job of a fusion without reductions.
func ElementwiseJob(tr *fusion.Trace, u *fusion.Fusion, t *lowering.Target) *elementwise.Job {
	j := &elementwise.Job{Key: "fusion " + describe(tr), Dims: tr.Dims, Sources: tr.Sources, Out: tr.Full, Flops: flops(tr), Loose: u.Loose}
	j.Cost = cost(tr, t)
	j.Long = j.Cost > longBody
	for i, o := range u.Outs {
		b := codegen.BufferOf(lowering.Ref{Kind: lowering.Result, Index: i}, o.Type.DType)
		if i == 0 {
			j.Result = b
		} else {
			j.MoreResults = append(j.MoreResults, b)
		}
		j.Key += fmt.Sprintf(" %d", tr.Outs[i])
	}
	at := places(tr)
	j.Groups = func(e *codegen.Emitter, xs [][]kernel.Value) ([][]kernel.Value, error) {
		ps := newPoints(tr, len(xs))
		for i := range tr.Exprs {
			loaded := make([][]kernel.Value, len(xs))
			if x := &tr.Exprs[i]; x.Kind == fusion.ExprSource {
				for k := range xs {
					loaded[k] = xs[k][at[x.Source]:at[x.Source+1]]
				}
			}
			if err := compute(tr, e, ps, i, loaded); err != nil {
				return nil, err
			}
		}
		vs := make([][]kernel.Value, len(xs))
		for k, p := range ps {
			for _, i := range tr.Outs {
				vs[k] = append(vs[k], p.store(e, i, tr.Exprs[i].Type)...)
			}
		}
		return vs, nil
	}
	return j
}

// places is the index of the first value of each source among the values of all
// sources at a point, and the number of all values.
func places(tr *fusion.Trace) []int {
	at := make([]int, 1, len(tr.Sources)+1)
	for i := range tr.Sources {
		at = append(at, at[i]+tr.Sources[i].Parts())
	}
	return at
}

// longBody is the number of primitive operations from which on a body is long.
// Arithmetic bounds such a kernel, not memory.
const longBody = 2048

// cost counts the primitive operations at a point.
func cost(tr *fusion.Trace, t *lowering.Target) int {
	n := 0
	for i := range tr.Exprs {
		if x := &tr.Exprs[i]; x.Kind != fusion.ExprSource {
			n += fusion.Cost(t, x.In, x.Types)
		}
	}
	return n
}

// flops counts the operations of the table that are applied at a point.
func flops(tr *fusion.Trace) int64 {
	n := int64(0)
	for i := range tr.Exprs {
		if tr.Exprs[i].Kind != fusion.ExprSource {
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
	tr, err := fusion.NewTrace(u, types)
	if err != nil {
		panic(fmt.Sprintf("BUG: a fusion without a space: %v", err))
	}
	var p *lowering.Plan
	switch {
	case tr.Update != nil:
		p, err = lowerUpdate(u, tr, types, t)
	case u.Contraction() != nil:
		p, err = lowerContraction(u, tr, types, t)
	case u.FirstReduction() != nil:
		p, err = lowerFolded(u, tr, t)
	default:
		p, err = lowerMap(u, tr, t)
	}
	if err != nil {
		return nil, fmt.Errorf("lower a fusion of %d instructions: %w", len(u.Body), err)
	}
	return p, nil
}
