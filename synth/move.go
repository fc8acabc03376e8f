package synth

import (
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/kernel"
)

// move is one copy of elements between views over the same space: operand i,
// seen through in, into the result, seen through out. Elements of indices say how
// far the views are shifted.
type move struct {
	dims    []int
	operand int
	in, out view

	indices   []source
	shifts    []shift // of in
	outShifts []shift
}

// moving plans copies of operands into parts of the result. Elements of another
// type are converted on the way.
func moving(in *ops.Instr, types []ops.Type, t *Target, moves ...move) (*Plan, error) {
	var programs []*program
	for _, m := range moves {
		ps, err := m.programs(in, types, t)
		if err != nil {
			return nil, err
		}
		programs = append(programs, ps...)
	}
	return t.plan(nil, programs...)
}

func (m move) programs(in *ops.Instr, types []ops.Type, t *Target) ([]*program, error) {
	from, to := types[m.operand].DType, in.Outs[0].Type.DType
	lit := in.Ins[m.operand].Lit != nil && len(types[m.operand].Shape) == 0
	if from == to && !lit {
		return m.raw(from, t), nil
	}
	s := source{view: m.in, buffer: bufferOf(Ref{Operand, m.operand}, from)}
	if lit {
		s = source{kind: fromLiteral, lit: literal{m.operand, to.Wide()}}
	}
	s.shifts = m.shifts
	j := &mapJob{key: fmt.Sprintf("move %v to %v", from, to), dims: m.dims,
		ins: append(slices.Clone(m.indices), s), out: m.out, to: result(to), outShifts: m.outShifts}
	j.bodies = func(e *emitter, xs []kernel.Value) ([]kernel.Value, error) {
		return e.encoded(to, e.number(&s, from, to, xs[len(m.indices):])), nil
	}
	return j.programs(t), nil
}

// words is how a device moves elements of a size: as words, several an element
// where it has none that large.
func (t *Target) words(size int) (word kernel.Elem, n int) {
	switch {
	case size == 1:
		return kernel.U8, 1
	case size == 2:
		return kernel.U16, 1
	case size == 4:
		return kernel.U32, 1
	case t.Int64:
		return kernel.U64, size / 8
	}
	return kernel.U32, size / 4
}

// raw copies the bytes of elements.
func (m move) raw(d ops.DType, t *Target) []*program {
	word, n := t.words(d.Size())
	s := source{view: m.in, shifts: m.shifts, buffer: buffer{ref: Ref{Operand, m.operand}, elem: word}}
	j := &mapJob{key: "copy", dims: m.dims, out: m.out, to: buffer{ref: Ref{Result, 0}, elem: word},
		ins: append(slices.Clone(m.indices), s), outShifts: m.outShifts,
		body: func(_ *emitter, xs []kernel.Value) (kernel.Value, error) {
			return xs[len(xs)-1], nil
		}}
	if n > 1 {
		j.wordwise(n)
	}
	return j.programs(t)
}

// wordwise makes a copy of elements one of words, n an element.
func (j *mapJob) wordwise(n int) {
	j.dims = append(slices.Clone(j.dims), n)
	last := len(j.ins) - 1
	for i := range j.ins[:last] {
		v := &j.ins[i].view
		v.strides = append(slices.Clone(v.strides), 0)
	}
	s := &j.ins[last]
	s.view, s.shifts = inWords(s.view, n), shiftedWords(s.shifts, n)
	j.out, j.outShifts = inWords(j.out, n), shiftedWords(j.outShifts, n)
}

func shiftedWords(shifts []shift, n int) []shift {
	shifts = slices.Clone(shifts)
	for i := range shifts {
		shifts[i].stride *= n
	}
	return shifts
}

// inWords is a view that counts words, n an element, along a dimension more.
func inWords(v view, n int) view {
	w := view{offset: v.offset * n}
	for _, s := range v.strides {
		w.strides = append(w.strides, s*n)
	}
	w.strides = append(w.strides, 1)
	return w
}

// fill plans the tensor whose elements are all the scalar operand i.
func fill(in *ops.Instr, i int) move {
	s := in.Outs[0].Type.Shape
	return move{dims: s, operand: i, in: view{strides: make([]int, len(s))}, out: dense(s)}
}

// lowerAlias plans an operation that gives its operand in another shape.
func lowerAlias(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	if in.Ins[0].Lit != nil {
		return moving(in, types, t, fill(in, 0))
	}
	return alias(0), nil
}

// lowerBitcast plans a change of type that keeps the bits. Elements below a
// byte lie in one with their sign, so for them it is a conversion.
func lowerBitcast(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	from, to := types[0].DType, in.Outs[0].Type.DType
	switch {
	case from.Bits() < 8:
		return lowerAsType(in, types, t)
	case in.Ins[0].Lit == nil:
		return alias(0), nil
	}
	if err := real(from, to); err != nil {
		return nil, err
	}
	// The literal is written as what it is; its bytes are the result.
	j := &mapJob{key: fmt.Sprintf("constant %v", from), dims: in.Outs[0].Type.Shape,
		ins: []source{{kind: fromLiteral, lit: literal{0, from.Wide()}}},
		out: dense(in.Outs[0].Type.Shape), to: result(from)}
	j.body = func(e *emitter, xs []kernel.Value) (kernel.Value, error) {
		return e.encode(from, xs[0]), nil
	}
	return t.plan(nil, j.programs(t)...)
}

// lowerBroadcast plans a stretched operand: its dimension i is dimension
// axes[i] of the result.
func lowerBroadcast(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	out := in.Outs[0].Type.Shape
	return moving(in, types, t, move{dims: out, operand: 0, in: broadcastView(in, types[0].Shape), out: dense(out)})
}

// lowerTranspose plans a permutation of dimensions.
func lowerTranspose(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	out := in.Outs[0].Type.Shape
	m := move{dims: out, operand: 0, in: transposeView(in, types[0].Shape), out: dense(out)}
	if in.Ins[0].Lit == nil {
		if p := m.tiled(types[0].DType.Size(), t); p != nil {
			return t.plan(nil, p)
		}
	}
	return moving(in, types, t, m)
}

// lowerReverse plans axes walked backward.
func lowerReverse(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	s := types[0].Shape
	return moving(in, types, t, move{dims: s, operand: 0, in: reverseView(in, s), out: dense(s)})
}
