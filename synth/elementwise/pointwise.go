package elementwise

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// Lower plans an operation whose every output element depends on the
// elements at its place.
func Lower(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	ds := codegen.DTypes(in, types)
	info, out := in.Op.Info(), in.Outs[0].Type
	truths, c := codegen.Conditions(info), codegen.ComputeType(t, in, types)
	code := codegen.CodeFor(in, types)
	if code.For(c.Class()) == "" {
		return nil, lowering.Unsupported("no code for %v", c)
	}
	j := &Job{Key: fmt.Sprintf("%v in %v of %v", in.Op, c, ds), Dims: out.Shape,
		Out: strided.Dense(out.Shape), Result: codegen.ResultBuffer(out.DType), Flops: 1}
	f, err := codegen.Expression(t, code, c, len(types), truths)
	if err != nil {
		return nil, err
	}
	j.Cost = len(f.Nodes)
	as := codegen.ComputeClass(in, types[truths:]).Wide() // of literals
	for i := range types {
		if i < truths {
			j.Sources = append(j.Sources, codegen.OperandSource(in, types, i, out.Shape, ds[i].Wide()))
		} else {
			j.Sources = append(j.Sources, codegen.OperandSource(in, types, i, out.Shape, as))
		}
	}
	j.Groups = func(e *codegen.Emitter, points [][]kernel.Value) ([][]kernel.Value, error) {
		args := make([][]kernel.Value, len(points))
		for p, xs := range points {
			for i := range j.Sources {
				s, n := &j.Sources[i], j.Sources[i].Parts()
				switch {
				case i < truths:
					args[p] = append(args[p], e.IsNonzero(e.ReadParts(s, ds[i], ds[i], xs[:n])))
				case s.Kind == codegen.FromLiteral:
					args[p] = append(args[p], e.ConvertParts(xs[:n], as, c)...)
				default:
					args[p] = append(args[p], e.ReadParts(s, ds[i], c, xs[:n])...)
				}
				xs = xs[n:]
			}
		}
		results := e.InlineEach(f, args)
		for p := range results {
			results[p] = e.EncodeResult(results[p], c, out.DType)
		}
		return results, nil
	}
	return codegen.NewPlan(t, nil, j.Programs(t)...)
}

// LowerAsType plans a conversion.
func LowerAsType(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	from, out := types[0].DType, in.Outs[0].Type
	if from == out.DType && in.Ins[0].Lit == nil {
		return lowering.AliasOf(0), nil
	}
	j := &Job{Key: fmt.Sprintf("as_type %v to %v", from, out.DType), Dims: out.Shape,
		Sources: []codegen.Source{codegen.OperandSource(in, types, 0, out.Shape, out.DType.Wide())},
		Out:     strided.Dense(out.Shape), Result: codegen.ResultBuffer(out.DType), Flops: 1}
	j.Bodies = func(e *codegen.Emitter, xs []kernel.Value) ([]kernel.Value, error) {
		return e.EncodeParts(out.DType, e.ReadParts(&j.Sources[0], from, out.DType, xs)), nil
	}
	return codegen.NewPlan(t, nil, j.Programs(t)...)
}
