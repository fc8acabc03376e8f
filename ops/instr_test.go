package ops

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func of(d DType, dims ...int) Type { return Type{d, dims} }

// instr builds an instruction with one result and operands of the given types.
func instr(op Op, attrs [][]int, out Type, types []Type) *Instr {
	in := &Instr{Op: op, Attrs: attrs, Outs: []Result{{ID: 1, Type: out}}}
	for i, t := range types {
		if op == Constant || op == Tensor {
			in.Ins = append(in.Ins, Operand{Lit: &Literal{Type: t}})
		} else {
			in.Ins = append(in.Ins, Operand{ID: ID(i + 2)})
		}
	}
	return in
}

// TestCheck has good instructions (no message) and, for each rule, one that
// breaks it.
func TestCheck(t *testing.T) {
	v, m, s := of(F32, 3), of(F32, 2, 3), of(F32)
	i := of(S32)
	for _, c := range []struct {
		op    Op
		attrs [][]int
		out   Type
		types []Type
		want  string // a part of the message
	}{
		{Add, nil, m, []Type{m, v}, ""},
		{Add, nil, of(F32, 2, 2, 3), []Type{of(F32, 2, 1, 3), of(S32, 2, 1)}, ""},
		{Add, nil, m, []Type{m}, "takes 2 operands, has 1"},
		{Add, nil, v, []Type{m, v}, "of result 0 must be {2, 3}, is stated as {3}"},
		{Add, nil, m, []Type{m, of(F32, 2)}, "cannot broadcast {2, 3} to {2}"},
		{Add, [][]int{{1}}, m, []Type{m, m}, "takes 0 attributes, has 1"},
		{Add, nil, of(F32, 1<<40, 1<<40), []Type{m, m}, "more than 2^48 elements"},
		{Add, nil, of(F32, 0), []Type{of(F32, 0), s}, "must be at least 1"},
		{Add, nil, of(Invalid), []Type{s, s}, "element type is invalid"},
		{Equal, nil, of(U8, 3), []Type{v, v}, ""},
		{Equal, nil, v, []Type{v, v}, "must be u8"},
		{Divide, nil, of(S32), []Type{i, i}, "must be a float or complex type"},
		{Quotient, nil, of(F32), []Type{i, i}, "must be an integer type"},
		{Quotient, nil, i, []Type{i, s}, "operand 1 must be of an integer type, is of f32"},
		{Abs, nil, of(C64), []Type{of(C64)}, "must be a real type"},
		{Conjugate, nil, of(F32), []Type{of(C64)}, "must be a complex type"},
		{Clip, nil, v, []Type{v, s, s}, ""},
		{Clip, nil, v, []Type{v, v, s}, "must be a scalar"},
		{Sum, [][]int{{1}, {0}}, of(F32, 2), []Type{m}, ""},
		{Sum, [][]int{{1}, {1}}, of(F32, 2, 1), []Type{m}, ""},
		{Sum, [][]int{{2}, {0}}, of(F32, 2), []Type{m}, "axis 2 is outside"},
		{Sum, [][]int{{0, 0}, {0}}, v, []Type{m}, "given twice"},
		{Sum, [][]int{{1}, {0, 1}}, of(F32, 2), []Type{m}, `"keep_axes" must be a boolean`},
		{ArgMax, [][]int{{-1}, {0}, {0}}, i, []Type{m}, ""},
		{ArgMax, [][]int{{0}, {0}, {2}}, of(S32, 3), []Type{m}, `"tie_break" must be one of [low high]`},
		{Reshape, nil, of(F32, 6), []Type{m}, ""},
		{Reshape, nil, of(F32, 5), []Type{m}, "has 6 elements, {5} has 5"},
		{Reshape, nil, of(F64, 6), []Type{m}, "the result type must be f32, is f64"},
		{Bitcast, nil, of(S32, 3), []Type{v}, ""},
		{Bitcast, nil, of(S64, 3), []Type{v}, "32 bits cannot be read as 64 bits"},
		{Squeeze, [][]int{{0}}, v, []Type{m}, "must be 1"},
		{BroadcastTo, [][]int{{1}}, m, []Type{v}, ""},
		{BroadcastTo, [][]int{{0}}, m, []Type{v}, "cannot become"},
		{BroadcastTo, [][]int{{}}, m, []Type{v}, "0 axes are given"},
		{Transpose, [][]int{{1, 0}}, of(F32, 3, 2), []Type{m}, ""},
		{Transpose, [][]int{{1, 1}}, of(F32, 3, 2), []Type{m}, "given twice"},
		{Pad, [][]int{{1, 1, 0}}, of(F32, 5), []Type{v, s}, ""},
		{Pad, [][]int{{-3, 0, 0}}, of(F32, 1), []Type{v, s}, "must be {0}"},
		{Pad, [][]int{{1, 1, -1}}, v, []Type{v, s}, "out of range"},
		{Pad, [][]int{{1, 1}}, v, []Type{v, s}, `"config" must be a list of {low, high, interior}`},
		{Slice, [][]int{{0, 1}, {2, 2}, {1, 1}}, of(F32, 2, 2), []Type{m}, ""},
		{Slice, [][]int{{}, {2, 2}, {1, 1}}, of(F32, 2, 2), []Type{m, i, i}, ""},
		{Slice, [][]int{{}, {2, 2}, {1, 1}}, of(F32, 2, 2), []Type{m, i}, "1 starts are given"},
		{Slice, [][]int{{}, {2, 2}, {1, 1}}, of(F32, 2, 2), []Type{m, i, s}, "must be an integer scalar"},
		{Slice, [][]int{{0, 0}, {3, 1}, {1, 1}}, m, []Type{m}, "length 3 and stride 1"},
		{PutSlice, [][]int{{0, 0}}, m, []Type{m, of(F32, 3, 3)}, "does not fit"},
		{Concatenate, [][]int{{0}}, of(F32, 4, 3), []Type{m, m}, ""},
		{Concatenate, [][]int{{0}}, of(F32, 4, 3), []Type{m, of(F32, 2, 2)}, "operand 1 is {2, 2}"},
		{Stack, [][]int{{2}}, of(F32, 2, 3, 2), []Type{m, m}, ""},
		{Stack, [][]int{{0}}, m, nil, "at least one operand"},
		{Dot, [][]int{{1}, {}, {0}, {}}, of(F32, 2, 4), []Type{m, of(F32, 3, 4)}, ""},
		{Dot, [][]int{{1}, {0}, {1}, {0}}, of(F32, 2), []Type{m, m}, ""},
		{Dot, [][]int{{1}, {}, {0}, {}}, m, []Type{m, m}, "contracted with axis 0"},
		{Dot, [][]int{{0}, {1}, {0}, {1}}, of(F32, 3), []Type{m, m}, ""},
		{Dot, [][]int{{3}, {0, 1}, {1}, {0, 2}}, of(F32, 2, 4, 5, 6), []Type{of(F32, 2, 4, 5, 3), of(F32, 2, 3, 4, 6)}, ""},
		{Dot, [][]int{{0}, {1}, {0}, {1}}, m, []Type{m, of(F32, 2, 4)}, "batch axis 1 of"},
		{Iota, [][]int{{-1}}, m, nil, ""},
		{Iota, [][]int{{2}}, m, nil, "outside"},
		{Eye, nil, v, nil, "fewer than two dimensions"},
		{Constant, nil, m, []Type{s}, ""},
		{Constant, nil, m, []Type{v}, "scalar literal"},
		{Gather, [][]int{{0, 1}}, of(F32, 4), []Type{m, of(S32, 4, 2)}, ""},
		{Gather, [][]int{{1}}, of(F32, 4, 2), []Type{m, of(S32, 4, 1)}, ""},
		{Gather, [][]int{{1}}, of(F32, 4, 2), []Type{m, of(S32, 4, 2)}, "must end in the number of axes, 1"},
		{Gather, [][]int{{1}}, of(F32, 4, 2), []Type{m, of(F32, 4, 1)}, "the indices must be of an integer type"},
		{Take, [][]int{{1}}, of(F32, 2, 4, 5), []Type{m, of(U8, 4, 5)}, ""},
		{Take, [][]int{{2}}, m, []Type{m, i}, "axis 2 is outside"},
		{TakeAlongAxis, [][]int{{1}}, of(F32, 2, 9), []Type{m, of(S32, 2, 9)}, ""},
		{TakeAlongAxis, [][]int{{1}}, of(F32, 3, 9), []Type{m, of(S32, 3, 9)}, "at dimension 0"},
		{IndexedAdd, [][]int{{0}}, m, []Type{m, of(S32, 4, 1), of(F32, 4, 3)}, ""},
		{IndexedPut, [][]int{{0}}, m, []Type{m, of(S32, 4, 1), of(F32, 4)}, "of the updates must be {4, 3}, is {4}"},
		{Sort, [][]int{{1}, {0}, {0}}, m, []Type{m}, ""},
		{Sort, [][]int{{1}, {2}, {0}}, m, []Type{m}, `"direction" must be one of [asc desc]`},
		{Argsort, [][]int{{1}, {0}, {0}}, m, []Type{m}, "must be an integer type"},
		{CumulativeSum, [][]int{{2}, {0}}, m, []Type{m}, "axis 2 is outside"},
		{WindowSum, [][]int{{2, 2}, {0, 0, 1, 0}, {1, 2}, {1, 1}}, of(F32, 1, 2), []Type{m}, ""},
		{WindowSum, [][]int{{3, 2}, {0, 0, 0, 0}, {1, 1}, {1, 1}}, m, []Type{m}, "window 3 of dimension 0 does not fit"},
		{WindowSum, [][]int{{1, 1}, {0, 0, 0, 0}, {0, 1}, {1, 1}}, m, []Type{m}, "must be at least 1"},
		{WindowSum, [][]int{{1, 1}, {0, 0}, {1, 1}, {1, 1}}, m, []Type{m}, "do not fit"},
		{WindowScatterMax, [][]int{{2, 3}, {0, 0, 0, 0}, {2, 3}}, m, []Type{m, of(F32, 1, 1), s}, ""},
		{WindowScatterMax, [][]int{{2, 3}, {0, 0, 0, 0}, {2, 3}}, m, []Type{m, m, s}, "of the source must be {1, 1}"},
		{FFT, [][]int{{4}, {1}, {0}}, of(C64, 2, 4), []Type{m}, ""},
		{FFT, [][]int{{0}, {1}, {0}}, of(C64, 2, 4), []Type{m}, "must be at least 1"},
		{FFT, [][]int{{4}, {1}, {0}}, of(F32, 2, 4), []Type{m}, "must be a complex type"},
		{RFFT, [][]int{{5}, {0}, {0}}, of(C64, 3), []Type{v}, ""},
		{RFFT, [][]int{{0}, {0}, {0}}, of(C64, 1), []Type{v}, "must be at least 1"},
		{FFT2, [][]int{{4, 4}, {0, 0}, {0}}, of(C64, 4, 4), []Type{m}, "given twice"},
		{TriangularSolve, [][]int{{1}, {1}, {0}}, of(F32, 3), []Type{of(F32, 3, 3), v}, ""},
		{TriangularSolve, [][]int{{1}, {1}, {0}}, of(F32, 3, 2), []Type{of(F32, 3, 3), of(F32, 3, 2)}, ""},
		{TriangularSolve, [][]int{{1}, {0}, {0}}, of(F32, 3, 2), []Type{of(F32, 3, 3), of(F32, 3, 2)}, "does not fit the matrices"},
		{TriangularSolve, [][]int{{1}, {1}, {0}}, v, []Type{m, v}, "square"},
		{WindowReduce, nil, m, []Type{m, s}, "takes 5 attributes, has 0"},
	} {
		err := instr(c.op, c.attrs, c.out, c.types).Check(c.types)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v of %v: %v", c.op, c.types, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v of %v: got %v, want %q in it", c.op, c.types, err, c.want)
		}
	}
}

// TestConvShape has the shapes that convolutions give, or why they give none.
func TestConvShape(t *testing.T) {
	plain := []int{0, 1, 2}
	conv := func(strides, pads, in, kernel, features, batches int, perm []int) [][]int {
		return [][]int{{strides}, {pads, pads}, {in}, {kernel}, {features}, {batches}, perm, perm, perm}
	}
	x, k := of(F32, 4, 6, 10), of(F32, 8, 6, 3)
	for _, c := range []struct {
		attrs       [][]int
		x, k        Type
		shape, want string
	}{
		{conv(1, 0, 1, 1, 1, 1, plain), x, k, "{4, 8, 8}", ""},
		{conv(2, 1, 1, 2, 1, 1, plain), x, k, "{4, 8, 4}", ""},
		{conv(1, 0, 3, 1, 1, 1, plain), x, k, "{4, 8, 26}", ""},
		{conv(1, 0, 1, 1, 2, 1, plain), x, of(F32, 8, 3, 3), "{4, 8, 8}", ""},
		{conv(1, 0, 1, 1, 1, 2, plain), x, k, "{2, 8, 8}", ""},
		{conv(1, 0, 1, 1, 1, 1, []int{2, 0, 1}), of(F32, 6, 10, 4), of(F32, 6, 3, 8), "{8, 8, 4}", ""},
		{conv(1, 0, 1, 1, 3, 1, plain), x, of(F32, 8, 2, 3), "", "3 feature groups"},
		{conv(1, 0, 1, 1, 2, 2, plain), x, of(F32, 8, 3, 3), "", "2 batch groups"},
		{conv(1, 0, 1, 1, 1, 1, plain), x, of(F32, 8, 6), "", "does not fit"},
		{conv(1, 0, 0, 1, 1, 1, plain), x, k, "", "input dilation 0"},
		{conv(1, -4, 1, 1, 1, 1, plain), x, k, "", "window 3 of dimension 0"},
		{conv(1, 0, 1, 1, 1, 1, []int{0, 1, 1}), x, k, "", "given twice"},
	} {
		types := []Type{c.x, c.k}
		shapes, err := Conv.Info().Infer(instr(Conv, c.attrs, c.x, types), types)
		switch {
		case c.want == "" && (err != nil || shapes[0].String() != c.shape):
			t.Errorf("%v: got %v, %v, want %v", c.attrs, shapes, err, c.shape)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v: got %v, want %q in it", c.attrs, err, c.want)
		}
	}
}

// TestWrap: an error names the operation and its operands, and keeps its cause.
func TestWrap(t *testing.T) {
	in := instr(Add, nil, of(F32), nil)
	err := in.Wrap([]Type{of(F32, 2), of(S8)}, ErrShape)
	if got, want := err.Error(), "add(f32{2}, s8): shape"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(err, ErrShape) {
		t.Error("the cause is lost")
	}
}

// TestBroadcast holds the rule and its converse together.
func TestBroadcast(t *testing.T) {
	for _, c := range []struct{ a, b, want Shape }{
		{Shape{}, Shape{2}, Shape{2}}, {Shape{2, 1}, Shape{3}, Shape{2, 3}}, {Shape{1}, Shape{1, 1}, Shape{1, 1}},
		{Shape{4, 1, 2}, Shape{3, 1}, Shape{4, 3, 2}}, {Shape{2}, Shape{3}, nil},
	} {
		for _, pair := range [][2]Shape{{c.a, c.b}, {c.b, c.a}} {
			got, err := Broadcast(pair[0], pair[1])
			if (err == nil) != (c.want != nil) || !got.Equal(c.want) {
				t.Errorf("Broadcast(%v, %v) = %v, %v", pair[0], pair[1], got, err)
			}
			if err == nil && !(pair[0].BroadcastsTo(got) && pair[1].BroadcastsTo(got)) {
				t.Errorf("%v and %v do not stretch to %v", pair[0], pair[1], got)
			}
		}
	}
}

// All numbers of f16 and bf16 are read from their literals, and written as them.
func TestNumberLiteral(t *testing.T) {
	for _, d := range []DType{F16, BF16} {
		for bits := range 1 << 16 {
			l := &Literal{Type: Type{DType: d}, Data: []byte{byte(bits), byte(bits >> 8)}}
			x, ok := l.Number()
			if !ok {
				t.Fatalf("%v %#x has no number", d, bits)
			}
			if back := NumberLiteral(d, x); x == x && (back == nil || [2]byte(back.Data) != [2]byte(l.Data)) {
				t.Fatalf("%v %#x is %v, which is written as %v", d, bits, x, back)
			}
		}
	}
	for _, c := range []struct {
		bits uint64
		want float64
	}{{0x3c00, 1}, {0xc000, -2}, {1, 0x1p-24}, {0x3ff, 1023 * 0x1p-24}, {0x400, 0x1p-14}, {0x7bff, 65504}, {0x7c00, math.Inf(1)}, {0xfc00, math.Inf(-1)}} {
		if x := halfNumber(c.bits); x != c.want {
			t.Errorf("f16 %#x is %v, want %v", c.bits, x, c.want)
		}
	}
	for _, c := range []struct {
		d DType
		x float64
	}{{F16, 65520}, {F16, 0x1p-25}, {F16, 1.0 / 3}, {BF16, 257}, {F32, 1<<24 + 1}, {S32, 1}, {F16, math.NaN()}} {
		if l := NumberLiteral(c.d, c.x); l != nil {
			t.Errorf("%v has %v as %v", c.d, c.x, l.Data)
		}
	}
	if x, ok := (&Literal{Type: Type{DType: S64}, Data: []byte{255, 255, 255, 255, 255, 255, 255, 255}}).Number(); x != -1 || !ok {
		t.Errorf("-1 of s64 is %v, %v", x, ok)
	}
	if x, ok := (&Literal{Type: Type{DType: S64}, Data: []byte{0, 0, 0, 0, 0, 0, 0, 1}}).Number(); ok {
		t.Errorf("2^56 of s64 is %v, which float64 has, but not its neighbours", x)
	}
}
