package indexing

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/movement"
	"nxvk/synth/strided"
)

// Indices are looked at by whoever runs a plan, since an index outside of its
// dimension is an error. Kernels bring such an index into the dimension, so that
// they stay within their buffers whatever they read.

// LowerTake plans slices along an axis at indices.
func LowerTake(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	s, idx, axis := types[0].Shape, types[1].Shape, in.Attrs[0][0]
	own, out := s.Strides(), in.Outs[0].Type.Shape
	between := make([]int, len(idx))
	at := slices.Concat(make([]int, axis), idx.Strides(), make([]int, len(s)-axis-1))
	return movement.Lower(in, types, t, movement.Move{Dims: out, Operand: 0, Out: strided.Dense(out),
		In:      strided.View{Strides: slices.Concat(own[:axis], between, own[axis+1:])},
		Indices: []codegen.Source{codegen.IndexOperand(in, types, 1, strided.View{Strides: at})},
		Shifts:  []codegen.Shift{{Limit: s[axis] - 1, Stride: own[axis]}}})
}

// LowerTakeAlong plans an element along an axis for each index.
func LowerTakeAlong(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	s, axis, out := types[0].Shape, in.Attrs[0][0], in.Outs[0].Type.Shape
	v := strided.Dense(s)
	step := v.Strides[axis]
	v.Strides[axis] = 0
	return movement.Lower(in, types, t, movement.Move{Dims: out, Operand: 0, In: v, Out: strided.Dense(out),
		Indices: []codegen.Source{codegen.IndexOperand(in, types, 1, strided.Dense(out))},
		Shifts:  []codegen.Shift{{Limit: s[axis] - 1, Stride: step}}})
}

// LowerGather plans slices at positions along several axes.
func LowerGather(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	s, axes, out := types[0].Shape, in.Attrs[0], in.Outs[0].Type.Shape
	own := s.Strides()
	_, slice := apart(own, axes)
	outer := types[1].Shape.Strides()
	outer = outer[:len(outer)-1]
	m := movement.Move{Dims: out, Operand: 0, Out: strided.Dense(out),
		In: strided.View{Strides: slices.Concat(make([]int, len(outer)), slice)}}
	for k, a := range axes {
		at := strided.View{Offset: k, Strides: slices.Concat(outer, make([]int, len(slice)))}
		m.Indices = append(m.Indices, codegen.IndexOperand(in, types, 1, at))
		m.Shifts = append(m.Shifts, codegen.Shift{From: k, Limit: s[a] - 1, Stride: own[a]})
	}
	return movement.Lower(in, types, t, m)
}

// apart splits what belongs to the dimensions of a tensor into that of axes, in
// their order, and the rest.
func apart(of, axes []int) (chosen, rest []int) {
	for _, a := range axes {
		chosen = append(chosen, of[a])
	}
	for i, x := range of {
		if !slices.Contains(axes, i) {
			rest = append(rest, x)
		}
	}
	return chosen, rest
}
