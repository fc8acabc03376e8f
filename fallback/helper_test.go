package fallback

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
)

// tensor makes a value of a type out of numbers.
func tensor(d ops.DType, shape ops.Shape, xs ...float64) Value {
	v := newValue(ops.Type{DType: d, Shape: shape})
	if len(xs) != shape.Size() {
		panic(fmt.Sprintf("%d numbers for %v", len(xs), shape))
	}
	if d.IsInteger() {
		is := make([]int64, len(xs))
		for i, x := range xs {
			is[i] = int64(x)
		}
		storeInt[d](v.Data, 0, is)
		return v
	}
	storeFloat[d](v.Data, 0, xs)
	return v
}

// vec makes a vector.
func vec(d ops.DType, xs ...float64) Value { return tensor(d, ops.Shape{len(xs)}, xs...) }

// numbers reads a value as float64.
func numbers(v Value) []float64 {
	xs := make([]float64, v.Type.Size())
	loadFloat[v.Type.DType](xs, v.Data, 0, 1)
	return xs
}

// random fills a value from a small range that every type has.
func random(r *rand.Rand, t ops.Type) Value {
	xs := make([]float64, t.Size())
	for i := range xs {
		switch {
		case t.DType.IsInteger() && t.DType.Class() == ops.Unsigned:
			xs[i] = float64(r.IntN(4))
		case t.DType.IsInteger():
			xs[i] = float64(r.IntN(4) - 2)
		default:
			xs[i] = math.Round(r.NormFloat64()*64) / 32
		}
	}
	return tensor(t.DType, t.Shape, xs...)
}

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
	v := newValue(out)
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
