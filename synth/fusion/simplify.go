package fusion

import (
	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/graph"
	"nxvk/synth/lowering"
)

// Simplify returns a graph that computes the same values of Keep, bit for bit, with fewer
// instructions; see package graph. eval folds constants with the arithmetic of whoever runs
// the graph; nil folds none. The graph itself is not changed.
func Simplify(g *Graph, t *lowering.Target, eval graph.Eval) *Graph {
	r := g.region()
	codegen.DumpGraph("straight-line code", r)
	s := graph.Simplify(r, graph.Options{Eval: eval, Off: func(pass string) bool { return !t.Allows(lowering.RulesByName[pass]) }})
	codegen.DumpGraph("simplified", s)
	return &Graph{Params: g.Params, Body: s.Body, Keep: g.Keep}
}

// region is the graph as a region that returns the kept values.
func (g *Graph) region() *ops.Region {
	has := make(map[ops.ID]bool, len(g.Params)+len(g.Body))
	for _, p := range g.Params {
		has[p.ID] = true
	}
	for i := range g.Body {
		for _, o := range g.Body[i].Outs {
			has[o.ID] = true
		}
	}
	r := &ops.Region{Params: g.Params, Body: g.Body}
	for _, id := range g.Keep {
		if has[id] {
			r.Values = append(r.Values, ops.Operand{ID: id})
			delete(has, id)
		}
	}
	return r
}
