package partition

import (
	"slices"

	"nxvk/ops"
)

// maxParts bounds the parts of a concatenation that readers compute, since they load an element of
// each.
const maxParts = 4

// partsPattern classifies a concatenation or a stack. If the kernel that makes all parts may write
// them into it, it stays apart (see concatenated).
func (f *partitioner) partsPattern(in *ops.Instr) (opPattern, Reason) {
	views := slices.ContainsFunc(in.Ins, func(o ops.Operand) bool {
		j, ok := f.producer(o)
		return !ok || f.nodes[j].pattern != patternElementwise
	})
	if len(in.Ins) > maxParts || !views && f.adjoins(in) {
		return patternOpaque, ownKernels
	}
	for _, o := range in.Ins {
		if o.Lit != nil || f.typeOf(o).DType != in.Outs[0].Type.DType {
			return patternOpaque, ownKernels
		}
	}
	return patternElementwise, ""
}
