package synth

import (
	"slices"

	"nxvk/ops"
)

// Indices are looked at by whoever runs a plan, since an index outside of its
// dimension is an error. Kernels bring such an index into the dimension, so that
// they stay within their buffers whatever they read.

// indexOperand is the source of an operand of indices, seen through v.
func indexOperand(in *ops.Instr, types []ops.Type, i int, v view) source {
	d := types[i].DType
	if in.Ins[i].Lit != nil && len(types[i].Shape) == 0 {
		return source{kind: fromLiteral, lit: literal{i, d.Wide()}}
	}
	return source{view: v, buffer: buffer{ref: Ref{Operand, i}, elem: storage[d]}}
}

// lowerTake plans slices along an axis at indices.
func lowerTake(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	s, idx, axis := types[0].Shape, types[1].Shape, in.Attrs[0][0]
	own, out := s.Strides(), in.Outs[0].Type.Shape
	between := make([]int, len(idx))
	at := slices.Concat(make([]int, axis), idx.Strides(), make([]int, len(s)-axis-1))
	return moving(in, types, t, move{dims: out, operand: 0, out: dense(out),
		in:      view{strides: slices.Concat(own[:axis], between, own[axis+1:])},
		indices: []source{indexOperand(in, types, 1, view{strides: at})},
		shifts:  []shift{{limit: s[axis] - 1, stride: own[axis]}}})
}

// lowerTakeAlong plans an element along an axis for each index.
func lowerTakeAlong(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	s, axis, out := types[0].Shape, in.Attrs[0][0], in.Outs[0].Type.Shape
	v := dense(s)
	step := v.strides[axis]
	v.strides[axis] = 0
	return moving(in, types, t, move{dims: out, operand: 0, in: v, out: dense(out),
		indices: []source{indexOperand(in, types, 1, dense(out))},
		shifts:  []shift{{limit: s[axis] - 1, stride: step}}})
}

// lowerGather plans slices at positions along several axes.
func lowerGather(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	s, axes, out := types[0].Shape, in.Attrs[0], in.Outs[0].Type.Shape
	own := s.Strides()
	_, slice := apart(own, axes)
	outer := types[1].Shape.Strides()
	outer = outer[:len(outer)-1]
	m := move{dims: out, operand: 0, out: dense(out),
		in: view{strides: slices.Concat(make([]int, len(outer)), slice)}}
	for k, a := range axes {
		at := view{offset: k, strides: slices.Concat(outer, make([]int, len(slice)))}
		m.indices = append(m.indices, indexOperand(in, types, 1, at))
		m.shifts = append(m.shifts, shift{from: k, limit: s[a] - 1, stride: own[a]})
	}
	return moving(in, types, t, m)
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
