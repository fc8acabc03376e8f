package fused

import (
	"nxvk/synth/codegen"
	"nxvk/synth/fusion"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
)

// Evaluate computes expression out of a DAG without reductions at n points, in the type that
// computes it. load gives what source s has at point k: an element as memory has it, the value of
// a literal, or an index.
func Evaluate(dag *fusion.DAG, e *codegen.Emitter, out, n int, load func(s, k int) []kernel.Value) ([][]kernel.Value, error) {
	values, err := EvaluateAll(dag, e, []int{out}, n, load)
	if err != nil {
		return nil, err
	}
	return values[0], nil
}

// EvaluateAll is Evaluate of several expressions.
func EvaluateAll(dag *fusion.DAG, e *codegen.Emitter, outs []int, n int, load func(s, k int) []kernel.Value) ([][][]kernel.Value, error) {
	ps := newPoints(dag, n)
	for i := range dag.Exprs {
		var loaded [][]kernel.Value
		if x := &dag.Exprs[i]; x.Kind == fusion.ExprSource {
			for k := range n {
				loaded = append(loaded, load(x.Source, k))
			}
		}
		if err := compute(dag, e, ps, i, loaded); err != nil {
			return nil, err
		}
	}
	values := make([][][]kernel.Value, len(outs))
	for o, i := range outs {
		for _, p := range ps {
			values[o] = append(values[o], p.values[i])
		}
	}
	return values, nil
}

// Describe is the text of the expressions of a DAG: all that their code depends on, but for
// the sources.
func Describe(dag *fusion.DAG) string { return describe(dag) }

// Cost counts the primitive operations of a DAG at a point.
func Cost(dag *fusion.DAG, t *lowering.Target) int { return cost(dag, t) }
