package synth

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// lowerConstant plans a tensor of one value.
func lowerConstant(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	out := in.Outs[0].Type
	j := &mapJob{key: fmt.Sprintf("constant %v", out.DType), dims: out.Shape,
		ins: []source{operand(in, types, 0, out.Shape, out.DType.Wide())},
		out: dense(out.Shape), to: result(out.DType)}
	j.bodies = func(e *emitter, xs []kernel.Value) ([]kernel.Value, error) {
		return e.encoded(out.DType, xs), nil
	}
	return t.plan(nil, j.programs(t)...)
}

// indexOf is a source that gives a number for each point.
func indexOf(strides []int) source { return source{kind: fromIndex, view: view{strides: strides}} }

// coordinates gives the indices that an element of iota or eye is made of, as
// strides over its shape: the one along an axis or the flat one, or the row and
// the column.
func coordinates(in *ops.Instr) [][]int {
	s := in.Outs[0].Type.Shape
	along := func(axis int) []int {
		strides := make([]int, len(s))
		strides[axis] = 1
		return strides
	}
	switch {
	case in.Op == ops.Eye:
		return [][]int{along(len(s) - 2), along(len(s) - 1)}
	case in.Attrs[0][0] >= 0:
		return [][]int{along(in.Attrs[0][0])}
	}
	return [][]int{s.Strides()}
}

// lowerIota plans the index along an axis, or the flat one.
func lowerIota(in *ops.Instr, _ []ops.Type, t *Target) (*Plan, error) {
	out := in.Outs[0].Type
	j := &mapJob{key: fmt.Sprintf("iota %v", out.DType), dims: out.Shape,
		ins: []source{indexOf(coordinates(in)[0])}, out: dense(out.Shape), to: result(out.DType)}
	j.bodies = func(e *emitter, xs []kernel.Value) ([]kernel.Value, error) {
		return e.whole(out.DType, xs[0]), nil
	}
	return t.plan(nil, j.programs(t)...)
}

// lowerEye plans identity matrices in the last two dimensions.
func lowerEye(in *ops.Instr, _ []ops.Type, t *Target) (*Plan, error) {
	out := in.Outs[0].Type
	at := coordinates(in)
	j := &mapJob{key: fmt.Sprintf("eye %v", out.DType), dims: out.Shape,
		ins: []source{indexOf(at[0]), indexOf(at[1])}, out: dense(out.Shape), to: result(out.DType)}
	j.bodies = func(e *emitter, xs []kernel.Value) ([]kernel.Value, error) {
		return e.whole(out.DType, e.Compare(scalar.Eq, xs[0], xs[1])), nil
	}
	return t.plan(nil, j.programs(t)...)
}

// whole gives the stored form of a whole number or a truth value in a type.
func (e *emitter) whole(d ops.DType, x kernel.Value) []kernel.Value {
	return e.encoded(d, e.completed([]kernel.Value{e.Convert(x, wide(d))}, d))
}
