package synth

import (
	"nxvk/ops"
	"nxvk/synth/attention"
	"nxvk/synth/codegen"
	"nxvk/synth/dot"
	"nxvk/synth/fused"
	"nxvk/synth/fusion"
	"nxvk/synth/graph"
	"nxvk/synth/lowering"
	"nxvk/synth/partition"
)

// Graphs and their parts; see packages fusion and partition.
type (
	Graph  = fusion.Graph
	Fusion = fusion.Fusion
	Why    = fusion.Why
	End    = fusion.End
	Needs  = fusion.Needs
)

func init() { fused.PlanAttention = attention.Stage }

// Fuse partitions a graph into fusions, in an order that respects their dependencies.
// The same graph gives the same fusions.
func Fuse(g *Graph, t *Target) []Fusion {
	return partition.Partition(g, t, fused.Capabilities{})
}

// Verify reports the first fault of fusions that are to carry out a graph, such as a value that is read and not made;
// see fusion.Verify.
func Verify(g *Graph, list []Fusion) error { return fusion.Verify(g, list) }

// Rewrite is a region whose loops compute before them what is the same in all rounds. On a processor products read
// transposed operands as they lie. For a GPU it has instructions that this fuses better: loops leave products to one before them, elements at indices
// of rows are computed alone or found by comparisons, products of few vectors compute their matrix, those of 8 bits read them
// as they are, those that are transposed exchange their operands, those of padded values leave the zeros out, and those of f32
// and bf16 are two of bf16; see package graph. t may be nil.
func Rewrite(r *ops.Region, t *Target) *ops.Region {
	if t == nil || t.Allows(lowering.RuleInvariant) {
		r = graph.Invariant(r)
	}
	if t == nil || t.CPU {
		if t == nil || t.Allows(lowering.RuleSwap) {
			r = graph.FoldTransposes(r)
		}
		return r
	}
	if t.Allows(lowering.RuleHoist) {
		r = graph.Hoist(r)
	}
	if t.Allows(lowering.RuleIndices) {
		r = graph.Compare(r)
	}
	if t.Allows(lowering.RuleWeights) {
		r = graph.Dequantize(graph.Integers(r))
	}
	if t.Allows(lowering.RuleSwap) {
		r = graph.Swap(r)
	}
	if t.Allows(lowering.RulePads) {
		r = graph.Unpad(r)
	}
	if t.Allows(lowering.RuleSplit) {
		r = graph.Split(r, func(in *ops.Instr, types []ops.Type) bool { return dot.SplitPays(in, types, t) })
	}
	return r
}

// AlikePlan is a kernel that tries how operands of matrix hardware lie: see attention.AlikePlan.
func AlikePlan(m Matrix, t *Target) (p *Plan, ok bool, err error) { return attention.AlikePlan(m, t) }

// FindAttention is a region in which attention is one instruction, where that pays on a device and no
// other instruction reads the values between; see package attention. eval computes numbers, such as a scale,
// of literals. It may be nil, and so may t.
func FindAttention(r *ops.Region, eval graph.Eval, t *Target) *ops.Region {
	return findFolded(r, eval, t, attention.Find)
}

// FindGradients is a region in which the gradient of an attention is one instruction, where that pays on a device and the
// scores are nowhere else in memory; see package attention/gradient. It comes before Rewrite, which divides products.
func FindGradients(r *ops.Region, eval graph.Eval, t *Target) *ops.Region {
	return findFolded(r, eval, t, attention.FindGradients)
}

// findFolded is what a pass finds in a region with its numbers computed, or the region where it finds nothing.
func findFolded(r *ops.Region, eval graph.Eval, t *Target, find func(*ops.Region, *Target) *ops.Region) *ops.Region {
	if t == nil || t.CPU {
		return r
	}
	folded := graph.Fold(r, eval)
	if found := find(folded, t); found != folded {
		return found
	}
	return r
}

// Divisible is a region that says the same by instructions of which the rules of package spmd divide more: attention that it
// states is its instructions, and what is in rows at indices is found by comparisons, whatever the device. What several
// instructions would do is done once, so that ranks meet once for it.
func Divisible(r *ops.Region) *ops.Region {
	r, _ = attention.Inline(r)
	return graph.Common(graph.Compare(r))
}

// StateAttention is a region in which attention that it states is one instruction where a kernel of the device
// computes it, and its instructions elsewhere. eval and t are those of FindAttention.
func StateAttention(r *ops.Region, eval graph.Eval, t *Target) *ops.Region {
	inlined, stated := attention.Inline(r)
	if len(stated) == 0 || t == nil || t.CPU {
		return inlined
	}
	folded := graph.Fold(inlined, eval)
	if found := attention.FindStated(folded, stated, t); found != folded {
		return found
	}
	return inlined
}

// Explain is Fuse, and fills in Why.
func Explain(g *Graph, t *Target) []Fusion {
	return partition.Explain(g, t, fused.Capabilities{})
}

// ConstantOperand returns the number that operand i is, where the plan of a fusion depends on it.
func ConstantOperand(in *ops.Instr, i int) (n int64, ok bool) { return fusion.ConstantOperand(in, i) }

// LowerFusion plans a fusion. types gives the types of the values that it reads. The
// error wraps ErrUnsupported where the device cannot carry it out.
func LowerFusion(f *Fusion, types func(ops.ID) ops.Type, t *Target) (*Plan, error) {
	lower := lowerSingle
	switch {
	case len(f.Whole) > 0:
		lower = fused.LowerConcatenated
	case len(f.Body) > 1:
		lower = fused.Lower
	}
	p, err := t.WithBindings(func(t *Target) (*Plan, error) { return lower(f, types, t) }, f.Buffers(types)...)
	if err == nil {
		together(p, t)
		codegen.DumpPlan(f, p)
	}
	return p, err
}

// lowerSingle plans a fusion of one instruction.
func lowerSingle(f *Fusion, types func(ops.ID) ops.Type, t *Target) (*Plan, error) {
	in := &f.Body[0]
	ts, places := f.Operands(in, types)
	p, err := Lower(in, ts, t)
	if err != nil {
		return nil, err
	}
	return p.Renumber(places), nil
}

// Simplify is a graph that gives the same values of Keep, bit for bit, with fewer
// instructions; see package graph. eval computes scalars of literals as whoever
// runs the graph would; without it none are computed ahead.
func Simplify(g *Graph, t *Target, eval graph.Eval) *Graph { return fusion.Simplify(g, t, eval) }
