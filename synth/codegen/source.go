package codegen

import (
	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// IndexSource is a source that gives an index for each point: the sum of coordinates times strides.
func IndexSource(strides []int) Source {
	return Source{Kind: FromIndex, View: strided.View{Strides: strides}}
}

// Coordinates returns the indices that determine an element of iota or eye, as strides over
// its shape: for iota the coordinate along an axis or the flat index, for eye the row and the
// column.
func Coordinates(in *ops.Instr) [][]int {
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

// IndexOperand is the source of an operand of indices, read through view v.
func IndexOperand(in *ops.Instr, types []ops.Type, i int, v strided.View) Source {
	d := types[i].DType
	if in.Ins[i].Lit != nil && len(types[i].Shape) == 0 {
		return Source{Kind: FromLiteral, Lit: Literal{i, d.Wide()}}
	}
	return Source{View: v, Buffer: Buffer{Ref: lowering.Ref{Kind: lowering.Operand, Index: i}, Elem: lowering.ElemOf[d]}}
}

// OperandSource is the source of operand i, broadcast to an iteration space. A scalar literal
// is a parameter, converted to type as.
func OperandSource(in *ops.Instr, types []ops.Type, i int, space ops.Shape, as ops.DType) Source {
	if in.Ins[i].Lit != nil && len(types[i].Shape) == 0 {
		return Source{Kind: FromLiteral, Lit: Literal{i, as}}
	}
	return Source{View: strided.Broadcast(types[i].Shape, space),
		Buffer: BufferOf(lowering.Ref{Kind: lowering.Operand, Index: i}, types[i].DType)}
}

// ResultBuffer is the buffer of the first result.
func ResultBuffer(d ops.DType) Buffer {
	return BufferOf(lowering.Ref{Kind: lowering.Result, Index: 0}, d)
}

// Source is one input of an elementwise.Job: a buffer, a literal, or an index that a view gives for each point.
type Source struct {
	strided.View
	Kind   sourceKind
	Buffer Buffer
	Lit    Literal
	Shifts []Shift
	Check  int // the number of the check, of FromCheck
}

// Shift displaces a view by an index that another source has, times Stride elements. The index is
// clamped to [0, Limit], so that no value of it leaves the buffer.
type Shift struct {
	From          int // the number of an earlier source
	Limit, Stride int
	Per           int // the divisor of the index, if above 1
}

type sourceKind uint8

const (
	FromBuffer sourceKind = iota
	FromLiteral
	FromIndex       // the index itself, of the index type of the program
	FromContraction // the result of a contraction that the kernel has just computed
	FromInside      // whether no shift clamps its index or divides with a remainder
	FromCheck       // nothing: a check of the plan fails where a shift clamps its index
)

// CheckSource is the source that checks whether an index, which an earlier source has, is in [0, limit].
func CheckSource(check, from, limit int) Source {
	return Source{Kind: FromCheck, Check: check, Shifts: []Shift{{From: from, Limit: limit}}}
}

// HasView reports whether the source reads through a view.
func (s *Source) HasView() bool { return s.Kind == FromBuffer || s.Kind == FromIndex }

// Parts is the number of values that the source has for a point.
func (s *Source) Parts() int {
	switch s.Kind {
	case FromBuffer:
		return s.Buffer.Parts()
	case FromLiteral:
		return PartsOf(s.Lit.As)
	}
	return 1
}

// Split divides the values that the source has for several points by point.
func (s *Source) Split(vs []kernel.Value) [][]kernel.Value {
	var points [][]kernel.Value
	for n := s.Parts(); len(vs) > 0; vs = vs[n:] {
		points = append(points, vs[:n:n])
	}
	return points
}

// Farthest is the largest displacement by shifts.
func Farthest(shifts []Shift) int {
	n := 0
	for _, h := range shifts {
		n += h.Limit * max(h.Stride, 0)
	}
	return n
}
