package fallback

import (
	"testing"

	"nxvk/ops"
)

// minus is the function acc - x / 2, whose order matters.
func minus(d ops.DType) *ops.Region {
	s := ops.Type{DType: d}
	half := Value{Type: s, Data: make([]byte, d.Size())}
	if err := Convert(half, tensor(ops.F64, nil, 0.5)); err != nil {
		panic(err)
	}
	lit := ops.Operand{Lit: &ops.Literal{Type: s, Data: half.Data}}
	return &ops.Region{
		Params: []ops.Result{{ID: 1, Type: s}, {ID: 2, Type: s}},
		Body: []ops.Instr{
			{Op: ops.Multiply, Ins: []ops.Operand{{ID: 1}, lit}, Outs: []ops.Result{{ID: 3, Type: s}}},
			{Op: ops.Subtract, Ins: []ops.Operand{{ID: 2}, {ID: 3}}, Outs: []ops.Result{{ID: 4, Type: s}}},
		},
		Values: []ops.Operand{{ID: 4}},
	}
}

// latest is the function that keeps the later of two elements by a branch, so
// that it cannot work on vectors: x where it is not zero, else acc.
func latest(d ops.DType) *ops.Region {
	s := ops.Type{DType: d}
	return &ops.Region{
		Params: []ops.Result{{ID: 1, Type: s}, {ID: 2, Type: s}},
		Body: []ops.Instr{{Op: ops.Branch, Ins: []ops.Operand{{ID: 1}}, Outs: []ops.Result{{ID: 3, Type: s}},
			Attrs:   [][]int{nil, nil},
			Regions: []*ops.Region{{Values: []ops.Operand{{ID: 1}}}, {Values: []ops.Operand{{ID: 2}}}}}},
		Values: []ops.Operand{{ID: 3}},
	}
}

func foldOf(t *testing.T, op ops.Op, fun *ops.Region, attrs [][]int, out ops.Type, x, init Value) Value {
	t.Helper()
	in := &ops.Instr{Op: op, Attrs: append(attrs, nil), Regions: []*ops.Region{fun},
		Ins: []ops.Operand{{ID: 1}, {ID: 2}}, Outs: []ops.Result{{ID: 3, Type: out}}}
	if err := in.Check([]ops.Type{x.Type, init.Type}); err != nil {
		t.Fatal(err)
	}
	got := Value{Type: out, Data: make([]byte, out.Bytes())}
	if err := Run(in, []Value{x, init}, []Value{got}); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestReduceFun(t *testing.T) {
	m := tensor(ops.F32, ops.Shape{2, 3}, 2, 4, 6, 8, 10, 12)
	ten := tensor(ops.F32, nil, 10)
	want(t, foldOf(t, ops.ReduceFun, minus(ops.F32), [][]int{{1}, {0}}, typ(ops.F32, 2), m, ten), 4, -5)
	want(t, foldOf(t, ops.ReduceFun, minus(ops.F32), [][]int{{0}, {1}}, typ(ops.F32, 1, 3), m, ten), 5, 3, 1)
	want(t, foldOf(t, ops.ReduceFun, minus(ops.F32), [][]int{{0, 1}, {0}}, typ(ops.F32), m, ten), -11)
	z := tensor(ops.S32, ops.Shape{2, 3}, 1, 0, 0, 2, 3, 0)
	want(t, foldOf(t, ops.ReduceFun, latest(ops.S32), [][]int{{1}, {0}}, typ(ops.S32, 2), z, tensor(ops.S32, nil, 9)), 1, 3)
	want(t, foldOf(t, ops.ReduceFun, latest(ops.S32), [][]int{{0}, {0}}, typ(ops.S32, 3), z, tensor(ops.S32, nil, 9)), 2, 3, 9)
}

func TestWindowReduceFun(t *testing.T) {
	x, ten := vec(ops.F32, 2, 4, 6), tensor(ops.F32, nil, 10)
	attrs := [][]int{{2}, {1, 0}, {1}, {1}}
	// The window over the padding folds the initial value as an element.
	want(t, foldOf(t, ops.WindowReduce, minus(ops.F32), attrs, typ(ops.F32, 3), x, ten), 4, 7, 5)
}
