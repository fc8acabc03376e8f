package reduction

import (
	"fmt"
	"math"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// argOperator folds elements with their indices into the extreme and its index. An element
// beats another when it is more extreme, or as extreme and earlier (or later, by the tie
// break); NaN beats every number, and the last NaN all others. That is a total order, so
// elements may be compared in any order.
type argOperator struct {
	max   bool
	high  bool // the last of equals wins
	index ops.DType
}

// LowerArg plans the index of an extreme along an axis, or of all.
func LowerArg(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	ds := codegen.DTypes(in, types)
	if err := codegen.CheckReal(ds...); err != nil {
		return nil, err
	}
	if in.Ins[0].Lit != nil {
		return nil, lowering.Unsupported("reduction of a literal")
	}
	s, from, to := types[0].Shape, ds[0], ds[1]
	axes := in.Attrs[0][:1]
	if axes[0] < 0 {
		axes = nil
		for i := range s {
			axes = append(axes, i)
		}
	}
	a := &argOperator{max: in.Op == ops.ArgMax, high: in.Attrs[2][0] == 1, index: ops.U32}
	j := &Job{Key: fmt.Sprintf("%v high=%v of %v to %v", in.Op, a.high, from, to), Layout: strided.NewReduction(s, axes)}
	j.Kept, j.Reduced = j.Layout.Kept, j.Layout.Reduced
	if codegen.IndexType(strided.Product(j.Reduced)) == scalar.U64 {
		a.index = ops.U64
	}
	j.Folds = []Operator{{Op: in.Op, Compute: from, arg: a}}
	index := Source{Source: codegen.IndexSource(nil), ReducedAt: strided.Dense(j.Reduced)}
	index.KeptAt.Strides = make([]int, len(j.Kept))
	j.Ins = []Source{source(&j.Layout, codegen.BufferOf(lowering.Ref{Kind: lowering.Operand, Index: 0}, from)), index}
	j.Point = func(e *codegen.Emitter, _ []kernel.Value) ElementFunc {
		return byElement(func(full []kernel.Value) []kernel.Value {
			return []kernel.Value{e.Decode(from, full[0]), e.Convert(full[1], codegen.WideType(a.index))}
		})
	}
	j.Finish = Finish{Outs: []codegen.Buffer{codegen.ResultBuffer(to)}, Make: func(e *codegen.Emitter, totals, _ []kernel.Value) ([]kernel.Value, error) {
		return []kernel.Value{e.Encode(to, e.Convert(totals[1], codegen.WideType(to)))}, nil
	}}
	return j.Plan(t)
}

// identity is an element that every other one beats or equals.
func (a *argOperator) identity(e *codegen.Emitter, of ops.DType) []kernel.Value {
	index := codegen.WideType(a.index)
	first := e.Const(index, 0)
	if !a.high {
		first = e.Const(index, math.MaxUint64>>(64-a.index.Bits()))
	}
	wide := codegen.WideType(of)
	if of.IsFloat() {
		sign := 1
		if a.max {
			sign = -1
		}
		return []kernel.Value{e.Float(wide, math.Inf(sign)), first}
	}
	bits := of.Wide().Bits()
	least, most := uint64(0), uint64(math.MaxUint64)>>(64-bits)
	if kernel.IsSigned(wide) {
		least, most = 1<<(bits-1), most>>1
	}
	if a.max {
		most = least
	}
	return []kernel.Value{e.Const(wide, most), first}
}

// better gives the one of two elements, each with its index, that wins.
func (a *argOperator) better(e *codegen.Emitter, of ops.DType, x, y []kernel.Value) []kernel.Value {
	return e.SelectAll(a.beats(e, of, x[0], x[1], y[0], y[1]), x, y)
}

// beats reports whether element i, x wins over element j, y.
func (a *argOperator) beats(e *codegen.Emitter, of ops.DType, x, i, y, j kernel.Value) kernel.Value {
	both := func(a, b kernel.Value) kernel.Value { return e.Prim(scalar.AndB, scalar.Bool, a, b) }
	either := func(a, b kernel.Value) kernel.Value { return e.Prim(scalar.OrB, scalar.Bool, a, b) }
	not := func(a kernel.Value) kernel.Value { return e.Prim(scalar.NotB, scalar.Bool, a) }
	more, later := e.Compare(scalar.Lt, y, x), e.Compare(scalar.Lt, j, i)
	if !a.max {
		more = e.Compare(scalar.Lt, x, y)
	}
	tie := e.Compare(scalar.Lt, i, j)
	if a.high {
		tie = later
	}
	wins := either(more, both(e.Compare(scalar.Eq, x, y), tie))
	if !of.IsFloat() {
		return wins
	}
	xNaN, yNaN := e.Compare(scalar.Ne, x, x), e.Compare(scalar.Ne, y, y)
	return either(wins, both(xNaN, either(not(yNaN), later)))
}
