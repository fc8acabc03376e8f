package synth

import (
	"slices"

	"nxvk/ops"
)

// partwise lowers an operation that does the same to both parts of a complex
// element as that on real tensors, whose last axis is the parts. Its attributes may
// name axes from the front only. Operands of other types are converted before.
func partwise(lower lowering) lowering {
	return func(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
		out := in.Outs[0].Type
		if !out.DType.IsComplex() {
			return lower(in, types, t)
		}
		flat := *in
		flat.Outs = []ops.Result{{ID: in.Outs[0].ID, Type: realType(out)}}
		steps := dot{plan: &Plan{Alias: -1}, t: t}
		reals, from := slices.Clone(types), make([]Ref, len(types))
		for i, typ := range types {
			from[i] = Ref{Operand, i}
			if in.Ins[i].Lit != nil {
				return nil, unsupported("a literal operand")
			}
			if i == indicesAt {
				continue
			}
			if typ.DType != out.DType {
				from[i] = steps.temp(typ.Size() * out.DType.Size())
				if err := steps.convert(typ, out.DType, Ref{Operand, i}, nil, from[i]); err != nil {
					return nil, err
				}
				typ.DType = out.DType
			}
			reals[i] = realType(typ)
		}
		p, err := lower(&flat, reals, t)
		if err != nil || len(steps.plan.Steps) == 0 {
			return p, err
		}
		steps.include(p, from, Ref{Result, 0})
		return steps.plan, nil
	}
}

// indicesAt is which operand of an indexed update has the indices.
const indicesAt = 1

// realType is the type of a complex tensor as a real one.
func realType(t ops.Type) ops.Type {
	return ops.Type{DType: t.DType.Real(), Shape: append(slices.Clone(t.Shape), 2)}
}
