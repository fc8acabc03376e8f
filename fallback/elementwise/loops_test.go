package elementwise

import (
	"bytes"
	"math"
	"nxvk/fallback/dense"
	"nxvk/fallback/densetest"
	"nxvk/ops"
	"slices"
	"testing"
)

// byElement computes by the functions of one element.
func byElement(t testing.TB, in *ops.Instr, args []dense.Value, out *dense.Value) {
	t.Helper()
	var err error
	switch ClassOf(&dense.Call{Instr: in}, args) {
	case ops.Float:
		err = elements(&dense.Call{Instr: in}, &FloatScalars, args, out)
	case ops.Signed:
		err = elements(&dense.Call{Instr: in}, &IntScalars, args, out)
	default:
		err = elements(&dense.Call{Instr: in}, &UintScalars, args, out)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The loops of two operands give what the functions of one element give, of dense
// operands and of a number for all.
func TestBinaryLoops(t *testing.T) {
	values := append(densetest.Peculiar(400, 9), 0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), 0, 1, -1, 3, 31, 32, 63, 64, -5)
	others := slices.Clone(values)
	slices.Reverse(others)
	for op := ops.Op(0); op < ops.Count; op++ {
		for _, d := range []ops.DType{ops.F32, ops.F64, ops.S32, ops.S64, ops.U8} {
			if op.Info().Arity != 2 {
				continue
			}
			result := ops.Type{DType: d, Shape: ops.Shape{len(values)}}
			if op.Info().Result == ops.BoolType {
				result.DType = ops.U8
			}
			x, in := densetest.Vector(d, values...), &ops.Instr{Op: op, Outs: []ops.Result{{Type: result}}}
			for _, y := range []dense.Value{densetest.Vector(d, others...), densetest.Tensor(d, nil, 3), densetest.Tensor(d, nil, -1)} {
				got, slow, args := dense.New(result), dense.New(result), []dense.Value{x, y}
				if !runBinary(&dense.Call{Instr: in}, args, &got) {
					continue
				}
				byElement(t, in, args, &slow)
				if !bytes.Equal(got.Data, slow.Data) {
					t.Errorf("%v of %v: got %v, want %v", op, d, densetest.Numbers(got), densetest.Numbers(slow))
				}
			}
		}
	}
}

// The typed loops give what the functions of the class give and storing rounds.
func TestUnaryLoops(t *testing.T) {
	values := append(densetest.Peculiar(400, 9), 88.8, -104, 709.5, 0.3, 0x1p-11, -0x1p-9, 20, -20, 0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1))
	for op := ops.Op(0); op < ops.Count; op++ {
		for _, d := range []ops.DType{ops.F32, ops.F64, ops.S32, ops.S64} {
			x := densetest.Vector(d, values...)
			result := x.Type
			if op.Info().Result == ops.BoolType {
				result.DType = ops.U8
			}
			out := dense.New(result)
			in := &ops.Instr{Op: op, Outs: []ops.Result{{Type: result}}}
			if op.Info().Arity != 1 || !runUnary(&dense.Call{Instr: in}, []dense.Value{x}, &out) {
				continue
			}
			slow := dense.New(result)
			byElement(t, in, []dense.Value{x}, &slow)
			for i, want := range densetest.Numbers(slow) {
				if got := densetest.Numbers(out)[i]; math.Float64bits(got) != math.Float64bits(want) {
					t.Errorf("%v of %v %v: got %v, want %v", op, d, densetest.Numbers(x)[i], got, want)
				}
			}
		}
	}
}

// A loop over many elements does to each what the function of one does.
func TestEach(t *testing.T) {
	values := append(densetest.Peculiar(400, 9), 88.8, -104, 709.5, 0.3, 0x1p-11, -0x1p-9, 20, -20, 0x1p52+1, 0x1p51+0.5, -0x1.fffffffffffffp-2,
		0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 0x1p-1074, -math.MaxFloat64, 1e5, 1e9, 1e300)
	for op, f := range FloatScalars {
		if f.one == nil || f.each == nil {
			continue
		}
		got := slices.Clone(values)
		f.each(got)
		for i, x := range values {
			if want := f.one(x); math.Float64bits(got[i]) != math.Float64bits(want) && (got[i] == got[i] || want == want) {
				t.Errorf("%v of %v is %v in a loop, %v alone", ops.Op(op), x, got[i], want)
			}
		}
	}
}

// Small divisions, which go another way, and all others are those of Go.
func TestIntegerDivision(t *testing.T) {
	numbers := []int64{0, 1, 2, 3, 7, 1000, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<62 + 1, math.MaxInt64, math.MinInt64}
	for _, x := range numbers {
		numbers = append(numbers, -x)
	}
	for _, x := range numbers {
		for _, y := range numbers {
			var q, r [1]int64
			quotLoop(q[:], []int64{x}, []int64{y})
			remLoop(r[:], []int64{x}, []int64{y})
			if q[0] != quotient(x, y) || r[0] != remainder(x, y) {
				t.Errorf("%d / %d is %d, %d left", x, y, q[0], r[0])
			}
		}
	}
}
