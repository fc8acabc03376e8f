package movement

import (
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/elementwise"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// Move is one copy of elements between views over the same space: operand i,
// seen through in, into the result, seen through out. Elements of indices say how
// far the views are shifted.
type Move struct {
	Dims    []int
	Operand int
	In, Out strided.View

	Indices   []codegen.Source
	Shifts    []codegen.Shift // of in
	outShifts []codegen.Shift
}

// Lower plans copies of operands into parts of the result. Elements of another
// type are converted on the way.
func Lower(in *ops.Instr, types []ops.Type, t *lowering.Target, moves ...Move) (*lowering.Plan, error) {
	var programs []*codegen.Program
	for _, m := range moves {
		ps, err := m.Programs(in, types, t)
		if err != nil {
			return nil, err
		}
		programs = append(programs, ps...)
	}
	return codegen.NewPlan(t, nil, programs...)
}

// Programs are the dispatches of the copy.
func (m Move) Programs(in *ops.Instr, types []ops.Type, t *lowering.Target) ([]*codegen.Program, error) {
	from, to := types[m.Operand].DType, in.Outs[0].Type.DType
	lit := in.Ins[m.Operand].Lit != nil && len(types[m.Operand].Shape) == 0
	if from == to && !lit {
		return m.raw(from, t), nil
	}
	s := codegen.Source{View: m.In, Buffer: codegen.BufferOf(lowering.Ref{Kind: lowering.Operand, Index: m.Operand}, from)}
	if lit {
		s = codegen.Source{Kind: codegen.FromLiteral, Lit: codegen.Literal{Operand: m.Operand, As: to.Wide()}}
	}
	s.Shifts = m.Shifts
	j := &elementwise.Job{Key: fmt.Sprintf("move %v to %v", from, to), Dims: m.Dims,
		Sources: append(slices.Clone(m.Indices), s), Out: m.Out, Result: codegen.ResultBuffer(to), OutShifts: m.outShifts}
	j.Bodies = func(e *codegen.Emitter, xs []kernel.Value) ([]kernel.Value, error) {
		return e.EncodeParts(to, e.ReadParts(&s, from, to, xs[len(m.Indices):])), nil
	}
	return j.Programs(t), nil
}

// raw copies the bytes of elements.
func (m Move) raw(d ops.DType, t *lowering.Target) []*codegen.Program {
	size := d.Size()
	if !t.CPU {
		m, size = m.widened(size, t)
	}
	word, n := codegen.WordsOf(t, size)
	s := codegen.Source{View: m.In, Shifts: m.Shifts, Buffer: codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Operand, Index: m.Operand}, Elem: word}}
	j := &elementwise.Job{Key: "copy", Dims: m.Dims, Out: m.Out, Result: codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Result, Index: 0}, Elem: word},
		Sources: append(slices.Clone(m.Indices), s), OutShifts: m.outShifts,
		Body: func(_ *codegen.Emitter, xs []kernel.Value) (kernel.Value, error) {
			return xs[len(xs)-1], nil
		}}
	if n > 1 {
		j.AsWords(n)
	}
	return j.Programs(t)
}

// widened is the copy in the largest elements, of 8 bytes at most, that the views are
// multiples of, and their size: fewer of them are at the ends of rows.
func (m Move) widened(size int, t *lowering.Target) (Move, int) {
	if len(m.Indices) > 0 {
		return m, size
	}
	in, out := m.In, m.Out
	dims := strided.Collapse(m.Dims, []*strided.View{&in, &out})
	r, most := len(dims)-1, 4
	if t.Int64 {
		most = 8
	}
	k := 1
	for 2*k*size <= most && dims[r]%(2*k) == 0 && strided.Vectorized(&in, r, 2*k) && strided.Vectorized(&out, r, 2*k) {
		k *= 2
	}
	if k == 1 {
		return m, size
	}
	dims = slices.Clone(dims)
	dims[r] /= k
	return Move{Dims: dims, Operand: m.Operand, In: inUnits(in, k), Out: inUnits(out, k)}, size * k
}

// inUnits is a view that counts units of k elements, along its innermost dimension too.
func inUnits(v strided.View, k int) strided.View {
	u := strided.View{Offset: v.Offset / k, Strides: slices.Clone(v.Strides)}
	for i := range u.Strides[:len(u.Strides)-1] {
		u.Strides[i] /= k
	}
	return u
}

// fill plans the tensor whose elements are all the scalar operand i.
func fill(in *ops.Instr, i int) Move {
	s := in.Outs[0].Type.Shape
	return Move{Dims: s, Operand: i, In: strided.View{Strides: make([]int, len(s))}, Out: strided.Dense(s)}
}

// LowerAlias plans an operation that gives its operand in another shape.
func LowerAlias(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	if in.Ins[0].Lit != nil {
		return Lower(in, types, t, fill(in, 0))
	}
	return lowering.AliasOf(0), nil
}

// LowerBitcast plans a change of type that keeps the bits. Elements below a
// byte lie in one with their sign, so for them it is a conversion.
func LowerBitcast(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	from, to := types[0].DType, in.Outs[0].Type.DType
	switch {
	case from.Bits() < 8:
		return elementwise.LowerAsType(in, types, t)
	case in.Ins[0].Lit == nil:
		return lowering.AliasOf(0), nil
	}
	if err := codegen.CheckReal(from, to); err != nil {
		return nil, err
	}
	// The literal is written as what it is; its bytes are the result.
	j := &elementwise.Job{Key: fmt.Sprintf("constant %v", from), Dims: in.Outs[0].Type.Shape,
		Sources: []codegen.Source{{Kind: codegen.FromLiteral, Lit: codegen.Literal{Operand: 0, As: from.Wide()}}},
		Out:     strided.Dense(in.Outs[0].Type.Shape), Result: codegen.ResultBuffer(from)}
	j.Body = func(e *codegen.Emitter, xs []kernel.Value) (kernel.Value, error) {
		return e.Encode(from, xs[0]), nil
	}
	return codegen.NewPlan(t, nil, j.Programs(t)...)
}

// LowerBroadcast plans a stretched operand: its dimension i is dimension
// axes[i] of the result.
func LowerBroadcast(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	out := in.Outs[0].Type.Shape
	return Lower(in, types, t, Move{Dims: out, Operand: 0, In: strided.BroadcastTo(in, types[0].Shape), Out: strided.Dense(out)})
}

// LowerTranspose plans a permutation of dimensions.
func LowerTranspose(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	out := in.Outs[0].Type.Shape
	m := Move{Dims: out, Operand: 0, In: strided.TransposeView(in, types[0].Shape), Out: strided.Dense(out)}
	if in.Ins[0].Lit == nil {
		if j := m.tiled(types[0].DType.Size(), t); j != nil {
			return codegen.NewPlan(t, nil, j.program(m.Operand))
		}
	}
	return Lower(in, types, t, m)
}

// LowerReverse plans axes walked backward.
func LowerReverse(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	s := types[0].Shape
	return Lower(in, types, t, Move{Dims: s, Operand: 0, In: strided.ReverseView(in, s), Out: strided.Dense(s)})
}
