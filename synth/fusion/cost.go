package fusion

import (
	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
)

// Cost estimates the primitive operations of an instruction for one element.
func Cost(t *lowering.Target, in *ops.Instr, types []ops.Type) int {
	switch in.Op.Info().Kind {
	case ops.Create, ops.Movement:
		if in.Op == ops.Pad {
			return paddingCost
		}
		if JoinsParts(in.Op) {
			return partCost * len(in.Ins)
		}
		return 1
	case ops.Index:
		if Gathers(in.Op) {
			return gatherCost
		}
	case ops.Pointwise:
		if in.Op == ops.AsType {
			return conversionCost
		}
	}
	info, c := in.Op.Info(), codegen.ComputeType(t, in, types)
	arity, truths := len(in.Ins), codegen.Conditions(info)
	if info.Kind == ops.Reduce {
		arity = 2
		if info.Compare {
			truths = 2
		}
	}
	code := info.Code
	if info.Kind == ops.Pointwise {
		code = CodeOf(in, types)
	}
	fn, err := codegen.Expression(t, code, c, arity, truths)
	if err != nil {
		return expensive
	}
	n := len(fn.Nodes)
	if in.Op == ops.Pow { // all exponents but three take the part that is rare elsewhere
		for i := range fn.Nodes {
			if slow := fn.Nodes[i].Slow; slow != nil {
				n += len(slow.Nodes)
			}
		}
	}
	return n
}

// The cost of a conversion, of a padded element, of an element at an index, of each part of a
// concatenation, and of an instruction without an estimate.
const (
	conversionCost = 4
	paddingCost    = 6
	gatherCost     = 8
	partCost       = 4
	expensive      = 1 << 20
)
