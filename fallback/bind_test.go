package fallback

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/fallback/dense"
	"nxvk/fallback/region"
	"nxvk/ops"
)

// boundTypes, boundShapes and special are what TestBound draws from.
var (
	boundTypes  = []ops.DType{ops.F64, ops.F32, ops.BF16, ops.S32, ops.U8}
	boundShapes = []ops.Shape{{}, {5}, {1}, {3, 5}, {3, 1}}
	special     = []float64{0, math.Copysign(0, -1), 1, -1, 2, 0.5, math.Inf(1), math.Inf(-1), math.NaN(), 1e300, 1e-300}
)

// TestBound holds an Evaluator of one instruction to Run, bit for bit: every pointwise
// operation of floats and integers that meet them, of every arity and way to broadcast,
// with operands as data and as parameters, twice in a row.
func TestBound(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	count := 0
	for op := ops.Op(0); op < ops.Count; op++ {
		if op.Info().Kind != ops.Pointwise {
			continue
		}
		for range 60 {
			given, shape := operandTypes(random, op.Info().Arity)
			in := ops.Instr{Op: op, Attrs: make([][]int, len(op.Info().Attrs)), Outs: []ops.Result{{ID: 9, Type: ops.Type{Shape: shape}}}}
			for k := range given {
				in.Ins = append(in.Ins, ops.Operand{ID: ops.ID(k + 1)})
			}
			for _, in.Outs[0].Type.DType = range boundTypes {
				if in.Check(given) == nil {
					compareBound(t, random, &in, given)
					count++
				}
			}
		}
	}
	if count < 1000 {
		t.Errorf("%d instructions were compared", count)
	}
}

// operandTypes draws types that broadcast, and their joint shape.
func operandTypes(random *rand.Rand, arity int) (given []ops.Type, shape ops.Shape) {
	shape = ops.Shape{}
	for k := range arity {
		typ := ops.Type{DType: boundTypes[random.IntN(len(boundTypes))], Shape: boundShapes[random.IntN(len(boundShapes))]}
		if random.IntN(2) == 0 && k > 0 {
			typ.DType = given[0].DType
		}
		if s, ok := joint(shape, typ.Shape); ok {
			shape = s
		} else {
			typ.Shape = ops.Shape{}
		}
		given = append(given, typ)
	}
	return given, shape
}

// compareBound computes an instruction both ways.
func compareBound(t *testing.T, random *rand.Rand, in *ops.Instr, given []ops.Type) {
	t.Helper()
	r := &ops.Region{Body: []ops.Instr{*in}, Values: []ops.Operand{{ID: 9}}}
	args := make([]Value, len(given))
	for k, typ := range given {
		args[k] = peculiar(random, typ)
		r.Params = append(r.Params, ops.Result{ID: ops.ID(k + 1), Type: typ})
	}
	data := random.IntN(len(given) + 1)
	e := region.NewEvaluator(r, args[data:]...)
	for range 2 {
		for k, typ := range given[:data] {
			args[k] = peculiar(random, typ)
		}
		want := dense.New(in.Outs[0].Type)
		wantErr := Run(in, args, []Value{want})
		got, err := e.Eval(args[:data]...)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("%v of %v: got %v, want %v", in.Op, given, err, wantErr)
		}
		if err == nil && !bytes.Equal(got[0].Data, want.Data) {
			t.Fatalf("%v of %v: got %v, want %v", in.Op, args, numbers(got[0]), numbers(want))
		}
	}
}

// peculiar fills a value with numbers of all sizes, and those that are none.
func peculiar(random *rand.Rand, typ ops.Type) Value {
	xs := make([]float64, typ.Size())
	for i := range xs {
		if xs[i] = random.NormFloat64(); random.IntN(2) == 0 {
			xs[i] = special[random.IntN(len(special))]
		}
		if typ.DType.IsInteger() {
			xs[i] = float64(random.IntN(7))
		}
	}
	return tensor(typ.DType, typ.Shape, xs...)
}

// joint is the shape of two that broadcast.
func joint(a, b ops.Shape) (ops.Shape, bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := append(ops.Shape{}, a...)
	for i := range b {
		k := len(a) - len(b) + i
		if out[k] != b[i] && out[k] != 1 && b[i] != 1 {
			return nil, false
		}
		out[k] = max(out[k], b[i])
	}
	return out, true
}

// TestViews holds slices, reshapes and paddings, some of which only look at their
// operand, to Run.
func TestViews(t *testing.T) {
	x := make([]float64, 24)
	for i := range x {
		x[i] = float64(i)
	}
	v := tensor(ops.F32, ops.Shape{2, 3, 4}, x...)
	for _, c := range []struct {
		op    ops.Op
		attrs [][]int
		out   ops.Shape
	}{
		{ops.Reshape, nil, ops.Shape{6, 4}},
		{ops.Slice, [][]int{{0, 0, 0}, {2, 3, 4}, {1, 1, 1}}, ops.Shape{2, 3, 4}},
		{ops.Slice, [][]int{{1, 0, 0}, {1, 3, 4}, {1, 1, 1}}, ops.Shape{1, 3, 4}},
		{ops.Slice, [][]int{{1, 1, 0}, {1, 2, 4}, {1, 1, 1}}, ops.Shape{1, 2, 4}},
		{ops.Slice, [][]int{{1, 1, 1}, {1, 1, 3}, {2, 2, 1}}, ops.Shape{1, 1, 3}},
		{ops.Slice, [][]int{{0, 1, 0}, {2, 2, 4}, {1, 1, 1}}, ops.Shape{2, 2, 4}},
		{ops.Slice, [][]int{{0, 0, 1}, {1, 2, 2}, {1, 2, 2}}, ops.Shape{1, 2, 2}},
		{ops.Slice, [][]int{{0, 0, 1}, {2, 1, 1}, {1, 1, 1}}, ops.Shape{2, 1, 1}},
		{ops.Slice, [][]int{{9, -4, 0}, {1, 1, 4}, {1, 1, 1}}, ops.Shape{1, 1, 4}},
		{ops.Pad, [][]int{{0, 0, 0, 0, 0, 0, 0, 0, 0}}, ops.Shape{2, 3, 4}},
		{ops.Pad, [][]int{{0, 0, 0, 1, 0, 0, 0, -1, 0}}, ops.Shape{2, 4, 3}},
	} {
		in := ops.Instr{Op: c.op, Attrs: c.attrs, Ins: []ops.Operand{{ID: 1}}, Outs: []ops.Result{{ID: 2, Type: ops.Type{DType: ops.F32, Shape: c.out}}}}
		args := []Value{v}
		if c.op == ops.Pad {
			in.Ins = append(in.Ins, literal(tensor(ops.F32, nil, 7)))
			args = append(args, tensor(ops.F32, nil, 7))
		}
		want := dense.New(in.Outs[0].Type)
		if err := Run(&in, args, []Value{want}); err != nil {
			t.Fatal(err)
		}
		r := &ops.Region{Params: []ops.Result{{ID: 1, Type: v.Type}}, Body: []ops.Instr{in}, Values: []ops.Operand{{ID: 2}}}
		got, err := region.NewEvaluator(r).Eval(v)
		if err != nil || !bytes.Equal(got[0].Data, want.Data) {
			t.Errorf("%v %v: got %v, %v, want %v", c.op, c.attrs, numbers(got[0]), err, numbers(want))
		}
	}
}

func literal(v Value) ops.Operand {
	return ops.Operand{Lit: &ops.Literal{Type: v.Type, Data: v.Data}}
}

// fibonacci is a loop whose state moves along: (a, b, n) becomes (b, a + b, n - 1)
// while n is not zero.
func fibonacci() *ops.Region {
	s := ops.Type{DType: ops.S32}
	state := func(from ops.ID) []ops.Result {
		return []ops.Result{{ID: from, Type: s}, {ID: from + 1, Type: s}, {ID: from + 2, Type: s}}
	}
	one := literal(tensor(ops.S32, nil, 1))
	loop := ops.Instr{Op: ops.While, Ins: []ops.Operand{{ID: 1}, {ID: 2}, {ID: 3}}, Outs: state(20), Attrs: [][]int{nil, nil}, Regions: []*ops.Region{
		{Params: state(4), Values: []ops.Operand{{ID: 6}}},
		{Params: state(7), Body: []ops.Instr{
			{Op: ops.Add, Ins: []ops.Operand{{ID: 7}, {ID: 8}}, Outs: []ops.Result{{ID: 10, Type: s}}},
			{Op: ops.Subtract, Ins: []ops.Operand{{ID: 9}, one}, Outs: []ops.Result{{ID: 11, Type: s}}},
		}, Values: []ops.Operand{{ID: 8}, {ID: 10}, {ID: 11}}},
	}}
	return &ops.Region{Params: state(1), Body: []ops.Instr{loop}, Values: []ops.Operand{{ID: 20}, {ID: 21}}}
}

// TestLoop: a round sees the whole state of the one before, an Evaluator can be used
// again, and one without an end stops when it is told.
func TestLoop(t *testing.T) {
	r := fibonacci()
	if _, err := r.CheckProgram(); err != nil {
		t.Fatal(err)
	}
	e := region.NewEvaluator(r)
	number := func(x float64) Value { return tensor(ops.S32, nil, x) }
	for _, c := range [][2]float64{{10, 55}, {0, 0}, {30, 832040}, {1, 1}} {
		out, err := e.Eval(number(0), number(1), number(c[0]))
		if err != nil {
			t.Fatal(err)
		}
		want(t, out[0], c[1])
	}
	stop, rounds := errors.New("stop"), 0
	e.Check = func() error {
		if rounds++; rounds > 100 {
			return stop
		}
		return nil
	}
	if _, err := e.Eval(number(0), number(1), number(-1)); !errors.Is(err, stop) {
		t.Errorf("a loop without an end gives %v", err)
	}
}

// TestEvaluatorAllocates: an evaluation takes no memory.
func TestEvaluatorAllocates(t *testing.T) {
	e := region.NewEvaluator(fibonacci())
	params := []Value{tensor(ops.S32, nil, 0), tensor(ops.S32, nil, 1), tensor(ops.S32, nil, 20)}
	if n := testing.AllocsPerRun(100, func() { _, _ = e.Eval(params...) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestEvaluatorBarrier: an evaluator passes what a barrier passes, also where that is data or a literal.
func TestEvaluatorBarrier(t *testing.T) {
	x, data, lit := tensor(ops.F32, ops.Shape{2}, 1, 2), tensor(ops.F32, ops.Shape{2}, 10, 20), tensor(ops.F32, ops.Shape{2}, 5, 7)
	out := func(id ops.ID) ops.Result { return ops.Result{ID: id, Type: x.Type} }
	r := &ops.Region{Params: []ops.Result{out(1), out(2)}, Values: []ops.Operand{{ID: 7}}, Body: []ops.Instr{
		{Op: ops.OptimizationBarrier, Ins: []ops.Operand{{ID: 1}, {ID: 2}, literal(lit)}, Outs: []ops.Result{out(3), out(4), out(5)}},
		{Op: ops.Add, Ins: []ops.Operand{{ID: 3}, {ID: 4}}, Outs: []ops.Result{out(6)}},
		{Op: ops.Multiply, Ins: []ops.Operand{{ID: 6}, {ID: 5}}, Outs: []ops.Result{out(7)}},
	}}
	e := region.NewEvaluator(r, data)
	for range 2 {
		got, err := e.Eval(x)
		if want := tensor(ops.F32, ops.Shape{2}, 55, 154); err != nil || !bytes.Equal(got[0].Data, want.Data) {
			t.Errorf("got %v, %v", got, err)
		}
	}
}
