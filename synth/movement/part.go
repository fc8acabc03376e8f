package movement

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// starts gives where a slice of the given lengths begins, moved so that it
// fits. Starts that are operands, which begin with operand first, shift a view
// from 0: they are the sources at, and the shifts by them.
func starts(in *ops.Instr, types []ops.Type, first int, lengths []int) (at []int, indices []codegen.Source, shifts []codegen.Shift) {
	s := types[0].Shape
	if len(in.Attrs[0]) == len(s) {
		return strided.ClampStarts(in.Attrs[0], s, lengths), nil, nil
	}
	at = make([]int, len(s))
	for i, stride := range s.Strides() {
		if s[i] == lengths[i] {
			continue // begins at 0
		}
		shifts = append(shifts, codegen.Shift{From: len(indices), Limit: s[i] - lengths[i], Stride: stride})
		indices = append(indices, codegen.IndexOperand(in, types, first+i, strided.View{Strides: make([]int, len(s))}))
	}
	return at, indices, shifts
}

// LowerSlice plans every stride-th element from a start on.
func LowerSlice(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	s, out := types[0].Shape, in.Outs[0].Type.Shape
	at, indices, shifts := starts(in, types, 1, in.Attrs[1])
	if out.Equal(s) && in.Ins[0].Lit == nil {
		return lowering.AliasOf(0), nil
	}
	return Lower(in, types, t, Move{Dims: out, Operand: 0, In: strided.SliceView(s, at, in.Attrs[2]), Out: strided.Dense(out),
		Indices: indices, Shifts: shifts})
}

// LowerPutSlice plans a copy of the first operand, unless it is updated in place, and one of the
// second over it.
func LowerPutSlice(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	s, u := types[0].Shape, types[1].Shape
	at, indices, shifts := starts(in, types, 2, u)
	copies, err := Move{Dims: s, Operand: 0, In: strided.Dense(s), Out: strided.Dense(s)}.Programs(in, types, t)
	if err != nil {
		return nil, err
	}
	puts, err := Move{Dims: u, Operand: 1, In: strided.Dense(u), Out: strided.SliceView(s, at, nil), Indices: indices, outShifts: shifts}.Programs(in, types, t)
	if err != nil {
		return nil, err
	}
	p, err := codegen.NewPlan(t, nil, append(copies, puts...)...)
	if err != nil {
		return nil, err
	}
	return p.Updates(in, 0, types[0], len(copies)), nil
}

// LowerConcatenate plans one copy an operand.
func LowerConcatenate(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	out, axis := in.Outs[0].Type.Shape, in.Attrs[0][0]
	at := make([]int, len(out))
	var moves []Move
	for i, o := range types {
		moves = append(moves, Move{Dims: o.Shape, Operand: i, In: strided.Dense(o.Shape), Out: strided.SliceView(out, at, nil)})
		at[axis] += o.Shape[axis]
	}
	return Lower(in, types, t, moves...)
}

// LowerStack plans one copy an operand, each to its place along the new axis.
func LowerStack(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	out, axis := in.Outs[0].Type.Shape, in.Attrs[0][0]
	at := make([]int, len(out))
	var moves []Move
	for i, o := range types {
		at[axis] = i
		v := strided.SliceView(out, at, nil)
		v.Strides = slices.Delete(v.Strides, axis, axis+1)
		moves = append(moves, Move{Dims: o.Shape, Operand: i, In: strided.Dense(o.Shape), Out: v})
	}
	return Lower(in, types, t, moves...)
}

// LowerPad plans the padding everywhere, and over it the elements that are not
// cropped.
func LowerPad(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	s, out, cfg := types[0].Shape, in.Outs[0].Type.Shape, in.Attrs[0]
	from, to := strided.Dense(s), strided.Dense(out)
	dims := make([]int, len(s))
	for i, n := range s {
		first, count := padded(n, out[i], cfg[3*i], cfg[3*i+2]+1)
		if count <= 0 {
			return Lower(in, types, t, fill(in, 1))
		}
		dims[i] = count
		from.Offset += first * from.Strides[i]
		to.Offset += (cfg[3*i] + first*(cfg[3*i+2]+1)) * to.Strides[i]
		to.Strides[i] *= cfg[3*i+2] + 1
	}
	body := Move{Dims: dims, Operand: 0, In: from, Out: to}
	if strided.Product(dims) == out.Size() {
		return Lower(in, types, t, body)
	}
	return Lower(in, types, t, around(in, dims, to), body)
}

// around plans the padding where it is one slab, before or after the elements along one dimension; else
// all of the result.
func around(in *ops.Instr, dims []int, body strided.View) Move {
	f := fill(in, 1)
	axis := -1
	for i, n := range in.Outs[0].Type.Shape {
		if in.Attrs[0][3*i+2] != 0 && dims[i] > 1 || n != dims[i] && axis >= 0 {
			return f
		}
		if n != dims[i] {
			axis = i
		}
	}
	n, stride := f.Dims[axis]-dims[axis], f.Out.Strides[axis]
	first := body.Offset / stride
	if first != 0 && first != n {
		return f
	}
	if first == 0 {
		f.Out.Offset = dims[axis] * stride
	}
	f.Dims = slices.Clone(f.Dims)
	f.Dims[axis] = n
	return f
}

// padded gives which of n elements, put at low, low+step, …, are within out.
func padded(n, out, low, step int) (first, count int) {
	if low < 0 {
		first = (-low + step - 1) / step
	}
	last := n - 1
	if room := out - 1 - low; room < last*step {
		if room < 0 {
			return 0, 0
		}
		last = room / step
	}
	return first, last - first + 1
}
