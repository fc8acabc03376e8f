package codegen

import (
	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// IndexSource is a source that gives a number for each point.
func IndexSource(strides []int) Source {
	return Source{Kind: FromIndex, View: strided.View{Strides: strides}}
}

// Coordinates gives the indices that an element of iota or eye is made of, as
// strides over its shape: the one along an axis or the flat one, or the row and
// the column.
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

// IndexOperand is the source of an operand of indices, seen through v.
func IndexOperand(in *ops.Instr, types []ops.Type, i int, v strided.View) Source {
	d := types[i].DType
	if in.Ins[i].Lit != nil && len(types[i].Shape) == 0 {
		return Source{Kind: FromLiteral, Lit: Literal{i, d.Wide()}}
	}
	return Source{View: v, Buffer: Buffer{Ref: lowering.Ref{Kind: lowering.Operand, Index: i}, Elem: lowering.ElemOf[d]}}
}

// OperandSource is the source of operand i in an iteration space. A scalar literal is
// a parameter, converted to the type as.
func OperandSource(in *ops.Instr, types []ops.Type, i int, space ops.Shape, as ops.DType) Source {
	if in.Ins[i].Lit != nil && len(types[i].Shape) == 0 {
		return Source{Kind: FromLiteral, Lit: Literal{i, as}}
	}
	return Source{View: strided.Broadcast(types[i].Shape, space),
		Buffer: BufferOf(lowering.Ref{Kind: lowering.Operand, Index: i}, types[i].DType)}
}

// ResultBuffer is the buffer of the result.
func ResultBuffer(d ops.DType) Buffer {
	return BufferOf(lowering.Ref{Kind: lowering.Result, Index: 0}, d)
}

// Source is one input of an elementwise.Job: a buffer, a literal, or the number that its
// view gives for each point.
type Source struct {
	strided.View
	Kind   sourceKind
	Buffer Buffer
	Lit    Literal
	Shifts []Shift
}

// Shift moves a view by an index that another source has: stride elements for
// each one of it. The index is brought into [0, limit] first, so that no value of
// it leaves the buffer.
type Shift struct {
	From          int // the source, which comes earlier
	Limit, Stride int
	Per           int // what the index is divided by, if it is above 1
}

type sourceKind uint8

const (
	FromBuffer sourceKind = iota
	FromLiteral
	FromIndex       // the index itself, of the index type of the program
	FromContraction // the result of a product, which the kernel has just computed
	FromInside      // whether none of the shifts brings an index into bounds, or divides with a rest
)

// HasView reports whether the source has a place for each point.
func (s *Source) HasView() bool { return s.Kind == FromBuffer || s.Kind == FromIndex }

// Parts is how many values the source gives for a point.
func (s *Source) Parts() int {
	switch s.Kind {
	case FromBuffer:
		return s.Buffer.Parts()
	case FromLiteral:
		return PartsOf(s.Lit.As)
	}
	return 1
}

// Split divides what the source gives for some points, one behind the other.
func (s *Source) Split(vs []kernel.Value) [][]kernel.Value {
	var points [][]kernel.Value
	for n := s.Parts(); len(vs) > 0; vs = vs[n:] {
		points = append(points, vs[:n:n])
	}
	return points
}

// Farthest is how far shifts move a view at most.
func Farthest(shifts []Shift) int {
	n := 0
	for _, h := range shifts {
		n += h.Limit * max(h.Stride, 0)
	}
	return n
}
