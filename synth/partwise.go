package synth

import (
	"slices"

	"nxvk/ops"
)

// partwise lowers an operation that does the same to both parts of a complex
// element as that on real tensors, whose last axis is the parts. Its attributes may
// name axes from the front only.
func partwise(lower lowering) lowering {
	return func(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
		out := in.Outs[0].Type
		if !out.DType.IsComplex() {
			return lower(in, types, t)
		}
		flat := *in
		flat.Outs = []ops.Result{{ID: in.Outs[0].ID, Type: realType(out)}}
		reals := slices.Clone(types)
		for i, typ := range types {
			switch {
			case in.Ins[i].Lit != nil:
				return nil, unsupported("a literal operand")
			case i == indicesAt:
			case typ.DType != out.DType:
				return nil, unsupported("%v among %v", typ.DType, out.DType)
			default:
				reals[i] = realType(typ)
			}
		}
		return lower(&flat, reals, t)
	}
}

// indicesAt is which operand of an indexed update has the indices.
const indicesAt = 1

// realType is the type of a complex tensor as a real one.
func realType(t ops.Type) ops.Type {
	return ops.Type{DType: t.DType.Real(), Shape: append(slices.Clone(t.Shape), 2)}
}
