package elementwise

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// LowerConstant plans a tensor of one value.
func LowerConstant(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	out := in.Outs[0].Type
	j := &Job{Key: fmt.Sprintf("constant %v", out.DType), Dims: out.Shape,
		Sources: []codegen.Source{codegen.OperandSource(in, types, 0, out.Shape, out.DType.Wide())},
		Out:     strided.Dense(out.Shape), Result: codegen.ResultBuffer(out.DType)}
	j.Bodies = func(e *codegen.Emitter, xs []kernel.Value) ([]kernel.Value, error) {
		return e.EncodeParts(out.DType, xs), nil
	}
	return codegen.NewPlan(t, nil, j.Programs(t)...)
}

// LowerIota plans the index along an axis, or the flat one.
func LowerIota(in *ops.Instr, _ []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	out := in.Outs[0].Type
	j := &Job{Key: fmt.Sprintf("iota %v", out.DType), Dims: out.Shape,
		Sources: []codegen.Source{codegen.IndexSource(codegen.Coordinates(in)[0])}, Out: strided.Dense(out.Shape), Result: codegen.ResultBuffer(out.DType)}
	j.Bodies = func(e *codegen.Emitter, xs []kernel.Value) ([]kernel.Value, error) {
		return e.EncodeInteger(out.DType, xs[0]), nil
	}
	return codegen.NewPlan(t, nil, j.Programs(t)...)
}

// LowerEye plans identity matrices in the last two dimensions.
func LowerEye(in *ops.Instr, _ []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	out := in.Outs[0].Type
	at := codegen.Coordinates(in)
	j := &Job{Key: fmt.Sprintf("eye %v", out.DType), Dims: out.Shape,
		Sources: []codegen.Source{codegen.IndexSource(at[0]), codegen.IndexSource(at[1])}, Out: strided.Dense(out.Shape), Result: codegen.ResultBuffer(out.DType)}
	j.Bodies = func(e *codegen.Emitter, xs []kernel.Value) ([]kernel.Value, error) {
		return e.EncodeInteger(out.DType, e.Compare(scalar.Eq, xs[0], xs[1])), nil
	}
	return codegen.NewPlan(t, nil, j.Programs(t)...)
}
