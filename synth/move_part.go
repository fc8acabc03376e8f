package synth

import (
	"slices"

	"nxvk/ops"
)

// starts gives where a slice of the given lengths begins, moved so that it
// fits. Starts that are operands, which begin with operand first, shift a view
// from 0: they are the sources at, and the shifts by them.
func starts(in *ops.Instr, types []ops.Type, first int, lengths []int) (at []int, indices []source, shifts []shift) {
	s := types[0].Shape
	if len(in.Attrs[0]) == len(s) {
		return fitted(in.Attrs[0], s, lengths), nil, nil
	}
	at = make([]int, len(s))
	for i, stride := range s.Strides() {
		if s[i] == lengths[i] {
			continue // begins at 0
		}
		shifts = append(shifts, shift{from: len(indices), limit: s[i] - lengths[i], stride: stride})
		indices = append(indices, indexOperand(in, types, first+i, view{strides: make([]int, len(s))}))
	}
	return at, indices, shifts
}

// lowerSlice plans every stride-th element from a start on.
func lowerSlice(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	s, out := types[0].Shape, in.Outs[0].Type.Shape
	at, indices, shifts := starts(in, types, 1, in.Attrs[1])
	if out.Equal(s) && in.Ins[0].Lit == nil {
		return alias(0), nil
	}
	return moving(in, types, t, move{dims: out, operand: 0, in: part(s, at, in.Attrs[2]), out: dense(out),
		indices: indices, shifts: shifts})
}

// lowerPutSlice plans a copy of the first operand and one of the second over it.
func lowerPutSlice(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	s, u := types[0].Shape, types[1].Shape
	at, indices, shifts := starts(in, types, 2, u)
	return moving(in, types, t,
		move{dims: s, operand: 0, in: dense(s), out: dense(s)},
		move{dims: u, operand: 1, in: dense(u), out: part(s, at, nil), indices: indices, outShifts: shifts})
}

// lowerConcatenate plans one copy an operand.
func lowerConcatenate(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	out, axis := in.Outs[0].Type.Shape, in.Attrs[0][0]
	at := make([]int, len(out))
	var moves []move
	for i, o := range types {
		moves = append(moves, move{dims: o.Shape, operand: i, in: dense(o.Shape), out: part(out, at, nil)})
		at[axis] += o.Shape[axis]
	}
	return moving(in, types, t, moves...)
}

// lowerStack plans one copy an operand, each to its place along the new axis.
func lowerStack(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	out, axis := in.Outs[0].Type.Shape, in.Attrs[0][0]
	at := make([]int, len(out))
	var moves []move
	for i, o := range types {
		at[axis] = i
		v := part(out, at, nil)
		v.strides = slices.Delete(v.strides, axis, axis+1)
		moves = append(moves, move{dims: o.Shape, operand: i, in: dense(o.Shape), out: v})
	}
	return moving(in, types, t, moves...)
}

// lowerPad plans the padding everywhere, and over it the elements that are not
// cropped.
func lowerPad(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	s, out, cfg := types[0].Shape, in.Outs[0].Type.Shape, in.Attrs[0]
	from, to := dense(s), dense(out)
	dims := make([]int, len(s))
	for i, n := range s {
		first, count := padded(n, out[i], cfg[3*i], cfg[3*i+2]+1)
		if count <= 0 {
			return moving(in, types, t, fill(in, 1))
		}
		dims[i] = count
		from.offset += first * from.strides[i]
		to.offset += (cfg[3*i] + first*(cfg[3*i+2]+1)) * to.strides[i]
		to.strides[i] *= cfg[3*i+2] + 1
	}
	body := move{dims: dims, operand: 0, in: from, out: to}
	if product(dims) == out.Size() {
		return moving(in, types, t, body)
	}
	return moving(in, types, t, fill(in, 1), body)
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
