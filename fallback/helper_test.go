package fallback

import (
	"nxvk/fallback/densetest"

	"testing"

	"nxvk/fallback/dense"
	"nxvk/ops"
)

// The values of tests.
var (
	tensor, vec     = densetest.Tensor, densetest.Vector
	numbers, random = densetest.Numbers, densetest.Random
)

// run checks an instruction by the table and computes it.
func run(t testing.TB, op ops.Op, attrs [][]int, out ops.Type, args ...Value) Value {
	t.Helper()
	v, err := tryRun(op, attrs, out, args...)
	if err != nil {
		t.Fatalf("%v: %v", op, err)
	}
	return v
}

func tryRun(op ops.Op, attrs [][]int, out ops.Type, args ...Value) (Value, error) {
	in := ops.Instr{Op: op, Attrs: attrs, Outs: []ops.Result{{Type: out}}}
	types := make([]ops.Type, len(args))
	for i, a := range args {
		types[i] = a.Type
		in.Ins = append(in.Ins, ops.Operand{Lit: &ops.Literal{Type: a.Type, Data: a.Data}})
	}
	if err := in.Check(types); err != nil {
		return Value{}, err
	}
	v := dense.New(out)
	return v, Run(&in, args, []Value{v})
}

// typ is a type.
func typ(d ops.DType, shape ...int) ops.Type { return ops.Type{DType: d, Shape: shape} }

// want fails unless v has exactly the given numbers; NaN equals NaN.
func want(t testing.TB, v Value, xs ...float64) {
	t.Helper()
	got := numbers(v)
	if len(got) != len(xs) {
		t.Fatalf("got %v, want %v", got, xs)
	}
	for i := range xs {
		if got[i] != xs[i] && !(got[i] != got[i] && xs[i] != xs[i]) {
			t.Fatalf("got %v, want %v", got, xs)
		}
	}
}
