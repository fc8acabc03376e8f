// Package example has a small instruction of each operation of the table, on operands of any type. The
// list of supported operations, the tests of every op, and the digest of programs begin with these.
//
// Of makes it from the shapes below and the row of the operation. It allocates, and is not for the path of
// an instruction. The package does not know how an operation is executed.
package example

import (
	"math"

	"nxvk/ops"
)

// example is a small instruction without its types.
type example struct {
	ins    []ops.Shape
	attrs  [][]int
	out    ops.Shape // where the client states it
	second ops.DType // the type of the second result, where the rule does not say it
}

var (
	row    = ops.Shape{8}
	square = ops.Shape{8, 8}
	pool   = [][]int{{2, 2}, {0, 0, 0, 0}, {1, 1}, {1, 1}}
	eps    = []int{int(math.Float64bits(1e-10))}
)

// examples are the examples of single operations.
var examples = map[ops.Op]example{
	ops.Constant:  {ins: []ops.Shape{{}}, out: row},
	ops.Iota:      {attrs: [][]int{{-1}}, out: row},
	ops.Eye:       {out: square},
	ops.Select:    {ins: []ops.Shape{row, row, row}},
	ops.Clip:      {ins: []ops.Shape{row, {}, {}}},
	ops.Bitcast:   {ins: []ops.Shape{row}},
	ops.Reshape:   {ins: []ops.Shape{square}, out: ops.Shape{64}},
	ops.Squeeze:   {ins: []ops.Shape{{1, 8}}, attrs: [][]int{{0}}},
	ops.Transpose: {ins: []ops.Shape{square}, attrs: [][]int{{1, 0}}},
	ops.Reverse:   {ins: []ops.Shape{square}, attrs: [][]int{{0}}},
	ops.Pad:       {ins: []ops.Shape{square, {}}, attrs: [][]int{{1, 1, 0, 0, 0, 0}}},
	ops.Slice:     {ins: []ops.Shape{square}, attrs: [][]int{{0, 0}, {4, 4}, {1, 1}}},
	ops.PutSlice:  {ins: []ops.Shape{square, {2, 2}}, attrs: [][]int{{1, 1}}},
	ops.Stack:     {ins: []ops.Shape{square, square}, attrs: [][]int{{0}}},

	ops.BroadcastTo:   {ins: []ops.Shape{row}, attrs: [][]int{{1}}, out: square},
	ops.Concatenate:   {ins: []ops.Shape{square, square}, attrs: [][]int{{0}}},
	ops.Dot:           {ins: []ops.Shape{square, square}, attrs: [][]int{{1}, {}, {0}, {}}},
	ops.Gather:        {ins: []ops.Shape{square, {2, 1}}, attrs: [][]int{{0}}},
	ops.Take:          {ins: []ops.Shape{square, {2}}, attrs: [][]int{{0}}},
	ops.TakeAlongAxis: {ins: []ops.Shape{square, {2, 8}}, attrs: [][]int{{0}}},
	ops.IndexedAdd:    {ins: []ops.Shape{square, {2, 1}, {2, 8}}, attrs: [][]int{{0}}},
	ops.IndexedPut:    {ins: []ops.Shape{square, {2, 1}, {2, 8}}, attrs: [][]int{{0}}},
	ops.WindowSum:     {ins: []ops.Shape{square}, attrs: pool},
	ops.WindowProduct: {ins: []ops.Shape{square}, attrs: pool},
	ops.WindowMax:     {ins: []ops.Shape{square}, attrs: pool},
	ops.WindowMin:     {ins: []ops.Shape{square}, attrs: pool},
	ops.Conv: {ins: []ops.Shape{{1, 2, 4, 4}, {2, 2, 2, 2}}, attrs: [][]int{{1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1},
		{1}, {1}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}}},
	ops.WindowScatterMax: {ins: []ops.Shape{square, {4, 4}, {}}, attrs: [][]int{{2, 2}, {0, 0, 0, 0}, {2, 2}}},
	ops.WindowScatterMin: {ins: []ops.Shape{square, {4, 4}, {}}, attrs: [][]int{{2, 2}, {0, 0, 0, 0}, {2, 2}}},

	ops.Sort:    {ins: []ops.Shape{square}, attrs: [][]int{{0}, {0}, {1}}},
	ops.Argsort: {ins: []ops.Shape{square}, attrs: [][]int{{0}, {0}, {1}}},
	ops.TopK:    {ins: []ops.Shape{square}, attrs: [][]int{{2}}, second: ops.S32},
	ops.FFT2:    {ins: []ops.Shape{square}, attrs: [][]int{{8, 8}, {0, 1}, eps}},
	ops.IFFT2:   {ins: []ops.Shape{square}, attrs: [][]int{{8, 8}, {0, 1}, eps}},

	ops.TriangularSolve: {ins: []ops.Shape{square, square}, attrs: [][]int{{1}, {1}, {0}}},
	ops.QR:              {ins: []ops.Shape{square}, attrs: [][]int{{0}}},
	ops.SVD:             {ins: []ops.Shape{square}, attrs: [][]int{{1}}},
	ops.ReduceFun:       {ins: []ops.Shape{square, {}}, attrs: [][]int{{0}, {0}, nil}},
	ops.WindowReduce:    {ins: []ops.Shape{square, {}}, attrs: append(pool[:4:4], nil)},
}

// kindExamples are the examples of all other operations of a kind.
var kindExamples = map[ops.Kind]example{
	ops.Reduce:    {ins: []ops.Shape{square}, attrs: [][]int{{0}, {0}}},
	ops.ArgReduce: {ins: []ops.Shape{square}, attrs: [][]int{{0}, {0}, {0}}},
	ops.Scan:      {ins: []ops.Shape{square}, attrs: [][]int{{0}, {0}}},
	ops.Transform: {ins: []ops.Shape{square}, attrs: [][]int{{8}, {1}, eps}},
}

// Of returns a small instruction of an operation on operands of a type, and the types of
// its operands. The instruction is not checked. Operations that compute nothing, and those that
// are others' regions, have none.
func Of(op ops.Op, d ops.DType) (in *ops.Instr, types []ops.Type, ok bool) {
	f := op.Info()
	if f.Kind == ops.Control || op == ops.Tensor || f.Kind == ops.Composite {
		return nil, nil, false
	}
	e, special := examples[op]
	if !special {
		e, special = kindExamples[f.Kind]
	}
	if !special { // all operands alike
		shape := row
		if f.Kind == ops.LinAlg {
			shape = square
		}
		for range f.Arity {
			e.ins = append(e.ins, shape)
		}
	}
	return e.instr(op, d)
}

func (e *example) instr(op ops.Op, d ops.DType) (in *ops.Instr, types []ops.Type, ok bool) {
	f := op.Info()
	in = &ops.Instr{Op: op, Attrs: e.attrs}
	for i, s := range e.ins {
		t := ops.Type{DType: d, Shape: s}
		switch {
		case f.Kind == ops.Index && i == 1:
			t.DType = ops.S32
		case f.Flags&ops.Predicate != 0 && i == 0:
			t.DType = ops.U8
		}
		o := ops.Operand{ID: ops.ID(i + 1)}
		if op == ops.Constant {
			o = ops.Operand{Lit: &ops.Literal{Type: t, Data: make([]byte, d.Size())}}
		}
		in.Ins, types = append(in.Ins, o), append(types, t)
	}
	result := exampleResult(op, d)
	for range max(1, f.Results) {
		in.Outs = append(in.Outs, ops.Result{Type: ops.Type{DType: result, Shape: e.out}})
	}
	if op == ops.LU {
		in.Outs[0].Type.DType = d
	}
	if e.second != ops.Invalid {
		in.Outs[1].Type.DType = e.second
	}
	if f.Kind == ops.Fold {
		in.Regions = []*ops.Region{exampleFunction(d)}
	}
	if f.Infer != nil && e.out == nil {
		if shapes, err := f.Infer(in, types); err == nil && len(shapes) == len(in.Outs) {
			for i, s := range shapes {
				in.Outs[i].Type.Shape = s
			}
		}
	}
	return in, types, true
}

// exampleResult is the type of the result that Nx would state.
func exampleResult(op ops.Op, d ops.DType) ops.DType {
	f := op.Info()
	switch f.Result {
	case ops.BoolType:
		return ops.U8
	case ops.IndexType:
		if f.Kind != ops.Pointwise {
			return ops.S32
		}
	case ops.FloatType:
		if d.IsInteger() {
			return ops.F32
		}
	case ops.RealType:
		if d.IsInteger() && op != ops.Abs {
			return ops.F32
		}
		return d.Real()
	case ops.ComplexType:
		if d == ops.F64 || d == ops.C128 {
			return ops.C128
		}
		return ops.C64
	}
	if f.Kind == ops.LinAlg && d.IsInteger() {
		return ops.F32
	}
	return d
}

// exampleFunction adds its parameters.
func exampleFunction(d ops.DType) *ops.Region {
	t := ops.Type{DType: d, Shape: ops.Shape{}}
	return &ops.Region{
		Params: []ops.Result{{ID: 1, Type: t}, {ID: 2, Type: t}},
		Body:   []ops.Instr{{Op: ops.Add, Ins: []ops.Operand{{ID: 1}, {ID: 2}}, Outs: []ops.Result{{ID: 3, Type: t}}}},
		Values: []ops.Operand{{ID: 3}},
	}
}
