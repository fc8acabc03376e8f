package kernels

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

func open(t testing.TB) *Runner {
	t.Helper()
	d, err := vulkan.Open(os.Getenv("NXVK_DEVICE"), vulkan.Options{
		Validation: os.Getenv("NXVK_VALIDATION") != "0",
		OnMessage:  func(severity, text string) { t.Errorf("%s: %s", severity, text) },
	})
	if errors.Is(err, vulkan.ErrNoVulkan) || errors.Is(err, vulkan.ErrNoDevice) {
		t.Skipf("SKIP no device: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return New(d)
}

// draw is a value of the type out of the domain, by way of float64.
func draw(t ops.Type, domain ops.Domain, last bool, seed uint64) fallback.Value {
	r := rand.New(rand.NewPCG(seed, uint64(t.DType)))
	wide := fallback.Value{Type: ops.Type{DType: ops.F64, Shape: t.Shape}}
	for range t.Size() {
		x := number(r, t.DType, domain, last)
		wide.Data = binary.LittleEndian.AppendUint64(wide.Data, math.Float64bits(x))
	}
	v := fallback.Value{Type: t, Data: make([]byte, t.Bytes())}
	if err := fallback.Convert(v, wide); err != nil {
		panic("BUG: " + err.Error())
	}
	return v
}

func number(r *rand.Rand, d ops.DType, domain ops.Domain, last bool) float64 {
	x := r.NormFloat64() * 3
	if d.IsInteger() && d.Bits() >= 8 {
		x *= 10
	}
	switch {
	case domain == ops.Positive:
		x = math.Abs(x) + 0.01
	case domain == ops.Unit, domain == ops.OpenUnit:
		x = 0.999*r.Float64() - 0.4995
		x = 2 * x
	case domain == ops.AboveOne:
		x = 1 + math.Abs(x)
	case domain == ops.NonZero && last && math.Abs(x) < 1:
		x = 2
	case domain == ops.Small:
		x = math.Abs(x/4) + 0.1
		if d.IsInteger() {
			x = r.Float64() * 4
		}
	case domain == ops.ShiftBy && last:
		x = float64(r.IntN(d.Bits()))
	}
	if d.Class() == ops.Unsigned {
		x = math.Abs(x)
	}
	return x
}

// rank orders the values of a type as integers, so that a difference counts
// units in the last place.
func rank(b []byte, d ops.DType, i int) (n int64, nan bool) {
	size := d.Size()
	var u uint64
	for k := range size {
		u |= uint64(b[i*size+k]) << (8 * k)
	}
	s := 64 - 8*size
	if !d.IsFloat() {
		if d.Class() == ops.Signed {
			return int64(u<<s) >> s, false
		}
		return int64(u), false
	}
	mag := int64(u << (s + 1) >> (s + 1))
	nan = mag > map[ops.DType]int64{ops.F32: 0x7f800000, ops.F64: 0x7ff << 52, ops.F16: 0x7c00, ops.BF16: 0x7f80,
		ops.F8: 0x7c, ops.F8E4M3: 0x7e}[d]
	if u>>(8*size-1) != 0 {
		return -mag, nan
	}
	return mag, nan
}

// compare reports elements that differ by more units than are allowed: one of
// narrow floats, which compute in f32, and of inexact functions of f64 twice as
// many, since the host has no more digits than the device.
func compare(t *testing.T, in *ops.Instr, types []ops.Type, got, want []byte, ulp int) {
	t.Helper()
	d := in.Outs[0].Type.DType
	switch {
	case d.IsFloat() && d.Size() < 4:
		ulp = 1
	case d == ops.F64:
		ulp *= 2
	}
	for i := range in.Outs[0].Type.Size() {
		g, gNaN := rank(got, d, i)
		w, wNaN := rank(want, d, i)
		if gNaN && wNaN {
			continue
		}
		if diff := g - w; gNaN != wNaN || diff > int64(ulp) || -diff > int64(ulp) {
			t.Errorf("%v%v to %v: element %d: got %x, want %x, %d units apart", in.Op, types, in.Outs[0].Type,
				i, got[i*d.Size():(i+1)*d.Size()], want[i*d.Size():(i+1)*d.Size()], diff)
			return
		}
	}
}

// check runs an instruction on the device and on the host.
func (r *Runner) check(t *testing.T, in *ops.Instr, args []fallback.Value, ulp int) {
	t.Helper()
	var types []ops.Type
	for i, a := range args {
		types = append(types, a.Type)
		if len(in.Ins) <= i {
			in.Ins = append(in.Ins, ops.Operand{ID: ops.ID(i + 1)})
		}
	}
	if err := in.Check(types); err != nil {
		t.Errorf("%v%v: %v", in.Op, types, err)
		return
	}
	got, err := r.Run(in, args)
	if errors.Is(err, synth.ErrUnsupported) {
		if in.Op.Info().Code.For(in.ComputeType(types).Class()) != "" {
			t.Errorf("%v%v: %v", in.Op, types, err)
		}
		return
	}
	if err != nil {
		t.Errorf("%v%v: %v", in.Op, types, err)
		return
	}
	want := fallback.Value{Type: in.Outs[0].Type, Data: make([]byte, in.Outs[0].Type.Bytes())}
	if err := fallback.Run(in, args, []fallback.Value{want}); err != nil {
		t.Errorf("%v%v on the host: %v", in.Op, types, err)
		return
	}
	compare(t, in, types, got, want.Data, ulp)
}

// every type that devices compute.
func computed() []ops.DType {
	var ds []ops.DType
	for _, d := range ops.DTypes() {
		if !d.IsComplex() {
			ds = append(ds, d)
		}
	}
	return ds
}

func one(op ops.Op, out ops.Type, attrs ...[]int) *ops.Instr {
	return &ops.Instr{Op: op, Outs: []ops.Result{{ID: 99, Type: out}}, Attrs: attrs}
}

// Every pointwise row, every type, on neighbours and on a broadcast.
func TestPointwise(t *testing.T) {
	r := open(t)
	for op := ops.Op(0); op < ops.Count; op++ {
		info := op.Info()
		if info.Kind != ops.Pointwise || info.Missing != "" || op == ops.AsType {
			continue
		}
		types := computed()
		if info.ULP > 0 { // the others differ in loads and stores alone
			types = []ops.DType{ops.F32, ops.F64, ops.BF16, ops.U8}
		}
		for _, d := range types {
			out := ops.Type{DType: d, Shape: ops.Shape{6, 43}}
			switch info.Result {
			case ops.BoolType:
				out.DType = ops.U8
			case ops.FloatType:
				if d.IsInteger() {
					out.DType = ops.F32
				}
			case ops.IndexType:
				if !d.IsInteger() {
					continue
				}
			case ops.ComplexType:
				continue
			}
			var args []fallback.Value
			for i := range info.Arity {
				s := out.Shape
				if i > 0 && op != ops.Select {
					s = ops.Shape{6, 1}
				}
				if op == ops.Clip && i > 0 {
					s = ops.Shape{}
				}
				args = append(args, draw(ops.Type{DType: d, Shape: s}, info.Domain, i == info.Arity-1, uint64(op)*7+uint64(i)))
			}
			r.check(t, one(op, out), args, info.ULP)
		}
	}
}

// Every conversion of every type.
func TestConversions(t *testing.T) {
	r := open(t)
	for _, from := range computed() {
		x := draw(ops.Type{DType: from, Shape: ops.Shape{257}}, ops.Real, false, 3)
		for _, to := range computed() {
			r.check(t, one(ops.AsType, ops.Type{DType: to, Shape: ops.Shape{257}}), []fallback.Value{x}, 0)
		}
	}
}

// Reductions of whole numbers, whose sums are exact in any order.
func TestReductions(t *testing.T) {
	r := open(t)
	shapes := []struct {
		in, out ops.Shape
		axes    []int
	}{{ops.Shape{50021}, ops.Shape{}, []int{0}}, {ops.Shape{6, 2000}, ops.Shape{6}, []int{1}},
		{ops.Shape{2000, 8}, ops.Shape{8}, []int{0}}, {ops.Shape{4, 7, 6, 5}, ops.Shape{4, 6}, []int{1, 3}},
		{ops.Shape{301, 3, 4}, ops.Shape{3, 4}, []int{0}}, {ops.Shape{70, 5}, ops.Shape{70}, []int{1}}}
	for _, op := range []ops.Op{ops.Sum, ops.ReduceMax, ops.ReduceMin, ops.All, ops.Any, ops.Product} {
		for _, d := range []ops.DType{ops.F32, ops.F64, ops.S32, ops.U8, ops.S64, ops.BF16} {
			for i, s := range shapes {
				whole := draw(ops.Type{DType: ops.S8, Shape: s.in}, ops.Real, false, uint64(i))
				x := fallback.Value{Type: ops.Type{DType: d, Shape: s.in}, Data: make([]byte, s.in.Size()*d.Size())}
				if err := fallback.Convert(x, whole); err != nil {
					t.Fatal(err)
				}
				out := ops.Type{DType: d, Shape: s.out}
				switch {
				case op == ops.All || op == ops.Any:
					out.DType = ops.U8
				case op == ops.Product && d.IsFloat():
					continue
				}
				r.check(t, one(op, out, s.axes, []int{0}), []fallback.Value{x}, 0)
			}
		}
	}
	for _, op := range []ops.Op{ops.ArgMax, ops.ArgMin} {
		for tie := range 2 {
			for _, d := range []ops.DType{ops.F32, ops.S64, ops.U8} {
				x := draw(ops.Type{DType: d, Shape: ops.Shape{3, 4000, 2}}, ops.Real, false, 5)
				r.check(t, one(op, ops.Type{DType: ops.S64, Shape: ops.Shape{3, 2}}, []int{1}, []int{0}, []int{tie}), []fallback.Value{x}, 0)
				r.check(t, one(op, ops.Type{DType: ops.S32, Shape: ops.Shape{}}, []int{-1}, []int{0}, []int{tie}), []fallback.Value{x}, 0)
			}
		}
	}
}

// Movements of elements of every size.
func TestMovement(t *testing.T) {
	r := open(t)
	for _, d := range []ops.DType{ops.U8, ops.F16, ops.F32, ops.F64, ops.C64, ops.C128} {
		typ := func(dims ...int) ops.Type { return ops.Type{DType: d, Shape: dims} }
		x := raw(typ(6, 150, 8))
		for _, in := range []*ops.Instr{
			one(ops.Transpose, typ(8, 150, 6), []int{2, 1, 0}),
			one(ops.Transpose, typ(150, 6, 8), []int{1, 0, 2}),
			one(ops.Reverse, x.Type, []int{0, 2}),
			one(ops.Slice, typ(2, 50, 4), []int{1, 3, 4}, []int{4, 148, 4}, []int{2, 3, 1}),
			one(ops.BroadcastTo, typ(2, 6, 150, 8), []int{1, 2, 3}),
		} {
			r.check(t, in, []fallback.Value{x}, 0)
		}
		y := raw(typ(300, 413))
		r.check(t, one(ops.Transpose, typ(413, 300), []int{1, 0}), []fallback.Value{y}, 0)
		u := raw(typ(2, 3, 8))
		r.check(t, one(ops.PutSlice, x.Type, []int{1, 149, 0}), []fallback.Value{x, u}, 0)
		r.check(t, one(ops.Concatenate, typ(8, 150, 8), []int{0}), []fallback.Value{x, raw(typ(2, 150, 8))}, 0)
		r.check(t, one(ops.Stack, typ(6, 150, 2, 8), []int{2}), []fallback.Value{x, x}, 0)
		if !d.IsComplex() {
			value := draw(ops.Type{DType: d, Shape: ops.Shape{}}, ops.Real, false, 1)
			r.check(t, one(ops.Pad, typ(8, 149, 22), []int{1, 1, 0, -2, 1, 0, 0, 0, 2}), []fallback.Value{x, value}, 0)
		}
	}
	for _, d := range computed() {
		out := ops.Type{DType: d, Shape: ops.Shape{5, 6, 7}}
		r.check(t, one(ops.Iota, out, []int{1}), nil, 0)
		r.check(t, one(ops.Iota, out, []int{-1}), nil, 0)
		r.check(t, one(ops.Eye, out), nil, 0)
		v := draw(ops.Type{DType: d, Shape: ops.Shape{}}, ops.Real, false, 2)
		in := one(ops.Constant, out)
		in.Ins = []ops.Operand{{Lit: &ops.Literal{Type: v.Type, Data: v.Data}}}
		r.check(t, in, []fallback.Value{v}, 0)
	}
}

// raw is a value whose bytes count up.
func raw(t ops.Type) fallback.Value {
	v := fallback.Value{Type: t, Data: make([]byte, t.Bytes())}
	for i := range v.Data {
		v.Data[i] = byte(i*7 + i/256)
		if t.DType.Size() > 1 && i%2 == 1 {
			v.Data[i] &= 0x3f // no NaN
		}
	}
	return v
}
