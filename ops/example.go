package ops

import "math"

// example is a small instruction without its types.
type example struct {
	ins    []Shape
	attrs  [][]int
	out    Shape // where the client states it
	second DType // the type of the second result, where the rule does not say it
}

var (
	row    = Shape{8}
	square = Shape{8, 8}
	pool   = [][]int{{2, 2}, {0, 0, 0, 0}, {1, 1}, {1, 1}}
	eps    = []int{int(math.Float64bits(1e-10))}
)

// examples are the examples of single operations.
var examples = map[Op]example{
	Constant:  {ins: []Shape{{}}, out: row},
	Iota:      {attrs: [][]int{{-1}}, out: row},
	Eye:       {out: square},
	Select:    {ins: []Shape{row, row, row}},
	Clip:      {ins: []Shape{row, {}, {}}},
	Bitcast:   {ins: []Shape{row}},
	Reshape:   {ins: []Shape{square}, out: Shape{64}},
	Squeeze:   {ins: []Shape{{1, 8}}, attrs: [][]int{{0}}},
	Transpose: {ins: []Shape{square}, attrs: [][]int{{1, 0}}},
	Reverse:   {ins: []Shape{square}, attrs: [][]int{{0}}},
	Pad:       {ins: []Shape{square, {}}, attrs: [][]int{{1, 1, 0, 0, 0, 0}}},
	Slice:     {ins: []Shape{square}, attrs: [][]int{{0, 0}, {4, 4}, {1, 1}}},
	PutSlice:  {ins: []Shape{square, {2, 2}}, attrs: [][]int{{1, 1}}},
	Stack:     {ins: []Shape{square, square}, attrs: [][]int{{0}}},

	BroadcastTo:   {ins: []Shape{row}, attrs: [][]int{{1}}, out: square},
	Concatenate:   {ins: []Shape{square, square}, attrs: [][]int{{0}}},
	Dot:           {ins: []Shape{square, square}, attrs: [][]int{{1}, {}, {0}, {}}},
	Gather:        {ins: []Shape{square, {2, 1}}, attrs: [][]int{{0}}},
	Take:          {ins: []Shape{square, {2}}, attrs: [][]int{{0}}},
	TakeAlongAxis: {ins: []Shape{square, {2, 8}}, attrs: [][]int{{0}}},
	IndexedAdd:    {ins: []Shape{square, {2, 1}, {2, 8}}, attrs: [][]int{{0}}},
	IndexedPut:    {ins: []Shape{square, {2, 1}, {2, 8}}, attrs: [][]int{{0}}},
	WindowSum:     {ins: []Shape{square}, attrs: pool},
	WindowProduct: {ins: []Shape{square}, attrs: pool},
	WindowMax:     {ins: []Shape{square}, attrs: pool},
	WindowMin:     {ins: []Shape{square}, attrs: pool},
	Conv: {ins: []Shape{{1, 2, 4, 4}, {2, 2, 2, 2}}, attrs: [][]int{{1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1},
		{1}, {1}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}}},
	WindowScatterMax: {ins: []Shape{square, {4, 4}, {}}, attrs: [][]int{{2, 2}, {0, 0, 0, 0}, {2, 2}}},
	WindowScatterMin: {ins: []Shape{square, {4, 4}, {}}, attrs: [][]int{{2, 2}, {0, 0, 0, 0}, {2, 2}}},

	Sort:    {ins: []Shape{square}, attrs: [][]int{{0}, {0}, {1}}},
	Argsort: {ins: []Shape{square}, attrs: [][]int{{0}, {0}, {1}}},
	TopK:    {ins: []Shape{square}, attrs: [][]int{{2}}, second: S32},
	FFT2:    {ins: []Shape{square}, attrs: [][]int{{8, 8}, {0, 1}, eps}},
	IFFT2:   {ins: []Shape{square}, attrs: [][]int{{8, 8}, {0, 1}, eps}},

	TriangularSolve: {ins: []Shape{square, square}, attrs: [][]int{{1}, {1}, {0}}},
	QR:              {ins: []Shape{square}, attrs: [][]int{{0}}},
	SVD:             {ins: []Shape{square}, attrs: [][]int{{1}}},
	ReduceFun:       {ins: []Shape{square, {}}, attrs: [][]int{{0}, {0}, nil}},
	WindowReduce:    {ins: []Shape{square, {}}, attrs: append(pool[:4:4], nil)},
}

// kindExamples are the examples of all other operations of a kind.
var kindExamples = map[Kind]example{
	Reduce:    {ins: []Shape{square}, attrs: [][]int{{0}, {0}}},
	ArgReduce: {ins: []Shape{square}, attrs: [][]int{{0}, {0}, {0}}},
	Scan:      {ins: []Shape{square}, attrs: [][]int{{0}, {0}}},
	Transform: {ins: []Shape{square}, attrs: [][]int{{8}, {1}, eps}},
}

// Example returns a small instruction of an operation on operands of a type, and the types of
// its operands. The instruction is not checked. Operations that compute nothing, and those that
// clients cannot send, have none.
func Example(op Op, d DType) (in *Instr, types []Type, ok bool) {
	f := op.Info()
	if f.Kind == Control || op == Tensor || f.Internal {
		return nil, nil, false
	}
	e, special := examples[op]
	if !special {
		e, special = kindExamples[f.Kind]
	}
	if !special { // all operands alike
		shape := row
		if f.Kind == LinAlg {
			shape = square
		}
		for range f.Arity {
			e.ins = append(e.ins, shape)
		}
	}
	return e.instr(op, d)
}

func (e *example) instr(op Op, d DType) (in *Instr, types []Type, ok bool) {
	f := op.Info()
	in = &Instr{Op: op, Attrs: e.attrs}
	for i, s := range e.ins {
		t := Type{DType: d, Shape: s}
		switch {
		case f.Kind == Index && i == 1:
			t.DType = S32
		case f.Flags&Predicate != 0 && i == 0:
			t.DType = U8
		}
		o := Operand{ID: ID(i + 1)}
		if op == Constant {
			o = Operand{Lit: &Literal{Type: t, Data: make([]byte, d.Size())}}
		}
		in.Ins, types = append(in.Ins, o), append(types, t)
	}
	result := exampleResult(op, d)
	for range max(1, f.Results) {
		in.Outs = append(in.Outs, Result{Type: Type{DType: result, Shape: e.out}})
	}
	if op == LU {
		in.Outs[0].Type.DType = d
	}
	if e.second != Invalid {
		in.Outs[1].Type.DType = e.second
	}
	if f.Kind == Fold {
		in.Regions = []*Region{exampleFunction(d)}
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
func exampleResult(op Op, d DType) DType {
	f := op.Info()
	switch f.Result {
	case BoolType:
		return U8
	case IndexType:
		if f.Kind != Pointwise {
			return S32
		}
	case FloatType:
		if d.IsInteger() {
			return F32
		}
	case RealType:
		if d.IsInteger() && op != Abs {
			return F32
		}
		return d.Real()
	case ComplexType:
		if d == F64 || d == C128 {
			return C128
		}
		return C64
	}
	if f.Kind == LinAlg && d.IsInteger() {
		return F32
	}
	return d
}

// exampleFunction adds its parameters.
func exampleFunction(d DType) *Region {
	t := Type{DType: d, Shape: Shape{}}
	return &Region{
		Params: []Result{{ID: 1, Type: t}, {ID: 2, Type: t}},
		Body:   []Instr{{Op: Add, Ins: []Operand{{ID: 1}, {ID: 2}}, Outs: []Result{{ID: 3, Type: t}}}},
		Values: []Operand{{ID: 3}},
	}
}
