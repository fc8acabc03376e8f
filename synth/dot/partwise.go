package dot

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/lowering"
)

// ByParts lowers an operation that does the same to both parts of a complex
// element as that on real tensors, whose last axis is the parts. Its attributes may
// name axes from the front only. Operands of other types are converted before.
func ByParts(lower lowering.Func) lowering.Func {
	return func(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
		out := in.Outs[0].Type
		if !out.DType.IsComplex() {
			return lower(in, types, t)
		}
		flat := *in
		flat.Outs = []ops.Result{{ID: in.Outs[0].ID, Type: RealType(out)}}
		steps := Builder{Plan: &lowering.Plan{Alias: -1}, Target: t}
		reals, from := slices.Clone(types), make([]lowering.Ref, len(types))
		for i, typ := range types {
			from[i] = lowering.Ref{Kind: lowering.Operand, Index: i}
			if in.Ins[i].Lit != nil {
				return nil, lowering.Unsupported("a literal operand")
			}
			if i == indicesAt {
				continue
			}
			if typ.DType != out.DType {
				from[i] = steps.NewTemp(typ.Size() * out.DType.Size())
				if err := steps.AddConversion(typ, out.DType, lowering.Ref{Kind: lowering.Operand, Index: i}, nil, from[i]); err != nil {
					return nil, err
				}
				typ.DType = out.DType
			}
			reals[i] = RealType(typ)
		}
		p, err := lower(&flat, reals, t)
		if err != nil || len(steps.Plan.Steps) == 0 {
			return p, err
		}
		steps.AddPlan(p, from, lowering.Ref{Kind: lowering.Result, Index: 0})
		steps.Plan.Checks = p.Checks
		return steps.Plan, nil
	}
}

// indicesAt is which operand of an indexed update has the indices.
const indicesAt = 1

// RealType is the type of a complex tensor as a real one.
func RealType(t ops.Type) ops.Type {
	return ops.Type{DType: t.DType.Real(), Shape: append(slices.Clone(t.Shape), 2)}
}
