package fallback

import (
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/fallback/dense"
	"nxvk/ops"
)

var NaN, inf = math.NaN(), math.Inf(1)

func TestBinary(t *testing.T) {
	for _, c := range []struct {
		op      ops.Op
		out     ops.DType
		x, y, z Value
	}{
		{ops.Add, ops.F32, vec(ops.F32, 1, inf, NaN), vec(ops.F32, 2, -inf, 1), vec(ops.F32, 3, NaN, NaN)},
		{ops.Add, ops.U8, vec(ops.U8, 250, 3), vec(ops.U8, 10, 4), vec(ops.U8, 4, 7)},
		{ops.Add, ops.S4, vec(ops.S4, 7, -8), vec(ops.S4, 1, -1), vec(ops.S4, -8, 7)},
		{ops.Add, ops.S32, vec(ops.U8, 250, 3), vec(ops.S32, -260, 4), vec(ops.S32, -10, 7)},
		{ops.Add, ops.F32, vec(ops.S32, 1, 2), vec(ops.F32, 0.5, 0.25), vec(ops.F32, 1.5, 2.25)},
		{ops.Subtract, ops.U2, vec(ops.U2, 0, 3), vec(ops.U2, 1, 1), vec(ops.U2, 3, 2)},
		{ops.Multiply, ops.BF16, vec(ops.BF16, 1.5, 3), vec(ops.BF16, 1.5, 3), vec(ops.BF16, 2.25, 9)},
		{ops.Divide, ops.F32, vec(ops.S32, 1, 3), vec(ops.S32, 2, 4), vec(ops.F32, 0.5, 0.75)},
		{ops.Divide, ops.F64, vec(ops.F64, 1, -1, 0), vec(ops.F64, 0, 0, 0), vec(ops.F64, inf, -inf, NaN)},
		{ops.Pow, ops.S32, vec(ops.S32, 3, 2, -1, 2, 1), vec(ops.S32, 4, 33, -3, -1, -9), vec(ops.S32, 81, 0, -1, 0, 1)},
		{ops.Pow, ops.F32, vec(ops.F32, 2, 9), vec(ops.F32, 3, 0.5), vec(ops.F32, 8, 3)},
		{ops.Remainder, ops.S32, vec(ops.S32, -7, 7, 5), vec(ops.S32, 3, -3, 0), vec(ops.S32, -1, 1, 5)},
		{ops.Remainder, ops.F32, vec(ops.F32, -7.5, 7.5), vec(ops.F32, 2, -2), vec(ops.F32, -1.5, 1.5)},
		{ops.Quotient, ops.S32, vec(ops.S32, -7, 7, 5), vec(ops.S32, 2, -2, 0), vec(ops.S32, -3, -3, -1)},
		{ops.Quotient, ops.U8, vec(ops.U8, 7, 5), vec(ops.U8, 2, 0), vec(ops.U8, 3, 255)},
		{ops.Min, ops.F32, vec(ops.F32, 1, NaN, 2), vec(ops.F32, 2, 1, NaN), vec(ops.F32, 1, NaN, NaN)},
		{ops.Max, ops.F64, vec(ops.F64, 1, NaN, -inf), vec(ops.F64, 2, 1, -3), vec(ops.F64, 2, NaN, -3)},
		{ops.Atan2, ops.F64, vec(ops.F64, 0, 1), vec(ops.F64, -1, 0), vec(ops.F64, math.Pi, math.Pi/2)},
		{ops.LeftShift, ops.S8, vec(ops.S8, 1, 1, 3), vec(ops.S8, 7, 8, 1), vec(ops.S8, -128, 0, 6)},
		{ops.RightShift, ops.S32, vec(ops.S32, -8, -8, 8), vec(ops.S32, 1, 99, 2), vec(ops.S32, -4, -1, 2)},
		{ops.RightShift, ops.U8, vec(ops.U8, 255), vec(ops.U8, 4), vec(ops.U8, 15)},
		{ops.BitwiseAnd, ops.S32, vec(ops.S32, -1, 6), vec(ops.S32, 5, 3), vec(ops.S32, 5, 2)},
		{ops.BitwiseXor, ops.U8, vec(ops.U8, 255), vec(ops.U8, 1), vec(ops.U8, 254)},
		{ops.Equal, ops.U8, vec(ops.F32, 1, NaN, 2), vec(ops.F32, 1, NaN, 3), vec(ops.U8, 1, 0, 0)},
		{ops.NotEqual, ops.U8, vec(ops.F64, 1, NaN, 2), vec(ops.F64, 1, NaN, 3), vec(ops.U8, 0, 1, 1)},
		{ops.Less, ops.U8, vec(ops.S32, -1, 2), vec(ops.U8, 0, 2), vec(ops.U8, 1, 0)},
		{ops.GreaterEqual, ops.U8, vec(ops.F32, 1, NaN), vec(ops.S32, 1, 1), vec(ops.U8, 1, 0)},
		{ops.LogicalXor, ops.U8, vec(ops.F32, 0.5, 0, NaN), vec(ops.S8, 0, 0, 1), vec(ops.U8, 1, 0, 0)},
	} {
		t.Run(c.op.String(), func(t *testing.T) {
			got := run(t, c.op, nil, ops.Type{DType: c.out, Shape: c.z.Type.Shape}, c.x, c.y)
			want(t, got, numbers(c.z)...)
		})
	}
}

func TestUnary(t *testing.T) {
	for _, c := range []struct {
		op   ops.Op
		out  ops.DType
		x, z Value
	}{
		{ops.Round, ops.F32, vec(ops.F32, 0.5, 1.5, -2.5, 2.4), vec(ops.F32, 1, 2, -3, 2)},
		{ops.Sign, ops.F32, vec(ops.F32, -2, 0, 3, NaN), vec(ops.F32, -1, 0, 1, NaN)},
		{ops.Sign, ops.S8, vec(ops.S8, -2, 0, 3), vec(ops.S8, -1, 0, 1)},
		{ops.Abs, ops.S8, vec(ops.S8, -2, -128), vec(ops.S8, 2, -128)},
		{ops.Negate, ops.U8, vec(ops.U8, 1, 0), vec(ops.U8, 255, 0)},
		{ops.BitwiseNot, ops.S4, vec(ops.S4, 3, -1), vec(ops.S4, -4, 0)},
		{ops.CountLeadingZeros, ops.S8, vec(ops.S8, -1, 1, 0), vec(ops.S8, 0, 7, 8)},
		{ops.CountLeadingZeros, ops.U4, vec(ops.U4, 1, 15), vec(ops.U4, 3, 0)},
		{ops.PopulationCount, ops.S4, vec(ops.S4, -1, 5), vec(ops.S4, 4, 2)},
		{ops.PopulationCount, ops.S64, vec(ops.S64, -1, 5), vec(ops.S64, 64, 2)},
		{ops.IsNaN, ops.U8, vec(ops.BF16, NaN, inf, 1), vec(ops.U8, 1, 0, 0)},
		{ops.IsInfinity, ops.U8, vec(ops.F16, NaN, -inf, 1), vec(ops.U8, 0, 1, 0)},
		{ops.LogicalNot, ops.U8, vec(ops.F16, NaN, 0, 1), vec(ops.U8, 0, 1, 0)},
		{ops.Sqrt, ops.F32, vec(ops.S32, 4, 9), vec(ops.F32, 2, 3)},
		{ops.Sigmoid, ops.F64, vec(ops.F64, 0, 1000, -1000), vec(ops.F64, 0.5, 1, 0)},
		{ops.ErfInv, ops.F32, vec(ops.F32, 0, 1, -1, 2), vec(ops.F32, 0, inf, -inf, NaN)},
		{ops.AsType, ops.S32, vec(ops.F32, 1.9, -1.9, NaN, inf, -inf), vec(ops.S32, 1, -1, 0, math.MaxInt32, math.MinInt32)},
		{ops.AsType, ops.U8, vec(ops.F64, 300, -1, 1e20), vec(ops.U8, 44, 255, 0)},
		{ops.AsType, ops.S2, vec(ops.S32, 1, 2, 5), vec(ops.S2, 1, -2, 1)},
		{ops.AsType, ops.F16, vec(ops.F64, 65504, 65520, 1e-8, 2049), vec(ops.F64, 65504, inf, 0, 2048)},
		{ops.AsType, ops.F8E4M3, vec(ops.F64, 448, 1e9, inf, NaN, 1.0625), vec(ops.F64, 448, 448, 448, NaN, 1.125)},
		{ops.AsType, ops.F8, vec(ops.F64, 57344, 1e9, 1.125), vec(ops.F64, 57344, inf, 1)},
	} {
		t.Run(c.op.String(), func(t *testing.T) {
			want(t, run(t, c.op, nil, ops.Type{DType: c.out, Shape: c.z.Type.Shape}, c.x), numbers(c.z)...)
		})
	}
}

func TestSelectAndClip(t *testing.T) {
	pred := tensor(ops.F32, ops.Shape{2, 1}, 0, NaN)
	got := run(t, ops.Select, nil, typ(ops.F32, 2, 2), pred, vec(ops.S32, 1, 2), vec(ops.F32, 0.5, 0.25))
	want(t, got, 0.5, 0.25, 1, 2)
	got = run(t, ops.Clip, nil, typ(ops.F32, 4), vec(ops.F32, -3, 0.5, 9, NaN), tensor(ops.S32, nil, -1), tensor(ops.F32, nil, 2))
	want(t, got, -1, 0.5, 2, -1)
}

func TestComplex(t *testing.T) {
	z := dense.New(typ(ops.C64, 2))
	dense.StoreCplx[ops.C64](z.Data, 0, []complex128{3 + 4i, -1 - 1i})
	want(t, run(t, ops.Abs, nil, typ(ops.F32, 2), z), 5, float64(float32(math.Sqrt2)))
	want(t, run(t, ops.Imag, nil, typ(ops.F32, 2), z), 4, -1)
	sq := run(t, ops.Multiply, nil, typ(ops.C64, 2), z, z)
	want(t, run(t, ops.Imag, nil, typ(ops.F32, 2), sq), 24, 2)
	want(t, run(t, ops.RealPart, nil, typ(ops.F32, 2), sq), -7, 0)
	conj := run(t, ops.Conjugate, nil, typ(ops.C64, 2), z)
	want(t, run(t, ops.Imag, nil, typ(ops.F32, 2), conj), -4, 1)
	if _, err := tryRun(ops.Max, nil, typ(ops.C64, 2), z, z); err == nil {
		t.Error("max of complex numbers is accepted")
	}
}

// TestComplexLimits has what Nx says of roots of infinities and of angles between
// numbers that are not real.
func TestComplexLimits(t *testing.T) {
	inf, NaN := math.Inf(1), math.NaN()
	z := dense.New(typ(ops.C128, 1))
	dense.StoreCplx[ops.C128](z.Data, 0, []complex128{complex(inf, 3)})
	part := func(op ops.Op, v Value) Value { return run(t, op, nil, typ(ops.F64, 1), v) }
	root := run(t, ops.Cbrt, nil, z.Type, z)
	want(t, part(ops.RealPart, root), inf)
	want(t, part(ops.Imag, root), 0)
	want(t, part(ops.RealPart, run(t, ops.Atan2, nil, z.Type, z, vec(ops.F64, 1))), NaN)
}

// TestEveryOpEveryType runs each pointwise operation on each type that the
// table lets through, over shapes of rank 0 to 6 with broadcasting. The first
// element is compared with the same operation on scalars.
func TestEveryOpEveryType(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for op := ops.Op(0); op < ops.Count; op++ {
		f := op.Info()
		if f.Kind != ops.Pointwise {
			continue
		}
		if !Supports(op) {
			t.Errorf("%v has no host path", op)
		}
		for _, d := range ops.DTypes() {
			for _, out := range []ops.DType{d, ops.U8, ops.F32, d.Real(), ops.C64} {
				checkBroadcast(t, r, op, d, out)
			}
		}
	}
}

func checkBroadcast(t *testing.T, r *rand.Rand, op ops.Op, d, out ops.DType) {
	t.Helper()
	shape := make(ops.Shape, r.IntN(7))
	for i := range shape {
		shape[i] = 1 + r.IntN(3)
	}
	arity := op.Info().Arity
	args, first := make([]Value, arity), make([]Value, arity)
	for k := range args {
		s := shape[r.IntN(len(shape)+1):]
		if k == 0 {
			s = shape
		} else if op == ops.Clip {
			s = nil
		}
		operand := append(ops.Shape{}, s...)
		for i := range operand {
			if k > 0 && r.IntN(3) == 0 {
				operand[i] = 1
			}
		}
		args[k] = random(r, ops.Type{DType: d, Shape: operand})
		first[k] = Value{Type: ops.Type{DType: d}, Data: args[k].Data[:d.Size()]}
	}
	got, err := tryRun(op, nil, ops.Type{DType: out, Shape: shape}, args...)
	if err != nil {
		return // the table or the class of complex numbers refuses it
	}
	single := run(t, op, nil, ops.Type{DType: out}, first...)
	if string(got.Data[:out.Size()]) != string(single.Data) {
		t.Errorf("%v of %v to %v: the first element is %v, alone it is %v", op, d, out, numbers(got)[0], numbers(single)[0])
	}
}

// TestBroadcastAgainstIndices compares with indexing by hand.
func TestBroadcastAgainstIndices(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		rank := r.IntN(6)
		shape, a, b := make(ops.Shape, rank), make(ops.Shape, rank), make(ops.Shape, rank)
		for i := range shape {
			shape[i] = 1 + r.IntN(4)
			a[i], b[i] = shape[i], shape[i]
			switch r.IntN(4) {
			case 0:
				a[i] = 1
			case 1:
				b[i] = 1
			}
		}
		for _, d := range []ops.DType{ops.F32, ops.S16} {
			x, y := random(r, ops.Type{DType: d, Shape: a}), random(r, ops.Type{DType: d, Shape: b})
			got := numbers(run(t, ops.Subtract, nil, ops.Type{DType: d, Shape: shape}, x, y))
			xs, ys := numbers(x), numbers(y)
			for i := range got {
				if w := xs[project(i, shape, a)] - ys[project(i, shape, b)]; got[i] != w {
					t.Fatalf("%v - %v: element %d is %v, want %v", x.Type, y.Type, i, got[i], w)
				}
			}
		}
	}
}

// project finds the element of a stretched operand at flat index i.
func project(i int, out, operand ops.Shape) int {
	at, st := 0, operand.Strides()
	for k := len(out) - 1; k >= 0; k-- {
		if operand[k] != 1 {
			at += i % out[k] * st[k]
		}
		i /= out[k]
	}
	return at
}

// TestLarge crosses the bounds of chunks and goroutines.
func TestLarge(t *testing.T) {
	const n = 3*(32<<10) + 77
	x, c := dense.New(typ(ops.F32, n)), tensor(ops.F32, nil, 2)
	xs := dense.View[float32](x.Data)
	for i := range xs {
		xs[i] = float32(i)
	}
	for _, d := range []ops.DType{ops.F32, ops.F64} { // a typed loop, and conversion
		got := numbers(run(t, ops.Multiply, nil, typ(d, n), x, c))
		for i, v := range got {
			if v != float64(2*i) {
				t.Fatalf("%v: element %d is %v", d, i, v)
			}
		}
	}
	odd := run(t, ops.Remainder, nil, typ(ops.F32, n), x, c)
	got := run(t, ops.Select, nil, typ(ops.F32, n), odd, x, tensor(ops.F32, nil, -1))
	for i, v := range numbers(got) {
		if w := float64(i); i%2 == 1 && v != w || i%2 == 0 && v != -1 {
			t.Fatalf("element %d is %v", i, v)
		}
	}
}

// TestUnaligned reads literals where a message has them.
func TestUnaligned(t *testing.T) {
	v := vec(ops.F64, 1, 2)
	data := dense.Alloc(17)[1:]
	copy(data, v.Data)
	want(t, run(t, ops.Add, nil, typ(ops.F64, 2), Value{Type: v.Type, Data: data}, v), 2, 4)
}

// TestZeros tells the first of two zeros by its sign.
func TestZeros(t *testing.T) {
	minus := math.Copysign(0, -1)
	for _, op := range []ops.Op{ops.Min, ops.Max} {
		for _, d := range []ops.DType{ops.F32, ops.F64, ops.F16} {
			got := numbers(run(t, op, nil, typ(d, 2), vec(d, 0, minus), vec(d, minus, 0)))
			if math.Signbit(got[0]) || !math.Signbit(got[1]) {
				t.Errorf("%v of %v gives %v", op, d, got)
			}
		}
	}
}
