package codegen_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/synthtest"
)

// An f32 rounds to a value of f16 as if it were stored and loaded: any bits, the numbers half way
// between two of f16 and their neighbours, and those around the ends of the range.
func TestRoundHalf(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 16))
	var bits []uint32
	for _, x := range []uint32{0, 1, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000, 0x477fe000, 0x477ff000, 0x47800000,
		math.Float32bits(0x1p-24), math.Float32bits(0x1p-25), math.Float32bits(0x3p-25), math.Float32bits(0x1p-14)} {
		bits = append(bits, x, x+1, max(x, 1)-1)
	}
	for range 4000 {
		bits = append(bits, r.Uint32())
		exponent := uint32(95 + r.IntN(50)) // of numbers about the range of f16
		half := (exponent<<23 | r.Uint32()&(1<<23-1)) &^ (1<<12 - 1)
		bits = append(bits, half, half+1, half-1)
		step := float32(r.IntN(2050)) * 0x1p-25 // halves of subnormal numbers
		bits = append(bits, math.Float32bits(step), math.Float32bits(step)+1)
	}
	var data []byte
	for i, b := range bits {
		data = binary.LittleEndian.AppendUint32(data, b|uint32(i%2)<<31)
	}
	n := len(bits)
	for _, target := range synthtest.Targets {
		buffer := func(kind lowering.RefKind, i int, access lowering.Access) codegen.Buffer {
			return codegen.Buffer{Ref: lowering.Ref{Kind: kind, Index: i}, Elem: kernel.U32, Access: access, Bytes: int64(4 * n)}
		}
		p, err := codegen.NewPlan(target, nil, &codegen.Program{Key: "round", Local: 64, Index: scalar.U32, Groups: (n + 63) / 64, Numbers: []int{n},
			Buffers: []codegen.Buffer{buffer(lowering.Operand, 0, lowering.Read), buffer(lowering.Result, 0, lowering.Write), buffer(lowering.Result, 1, lowering.Write)},
			Body: func(e *codegen.Emitter) error {
				count := e.NextNumber()
				u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
				e.IfThen(e.IsLess(u, count), func() {
					x := e.Bitcast(e.Load(0, u, 1)[0], scalar.F32)
					e.Store(1, u, e.Bitcast(e.Decode(ops.F16, e.Encode(ops.F16, x)), scalar.U32))
					e.Store(2, u, e.Bitcast(e.RoundHalf(x), scalar.U32))
				})
				return nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		out := synthtest.Execute(t, p, []int{4 * n, 4 * n}, [][]byte{data}, nil)
		for i := range n {
			want, got := binary.LittleEndian.Uint32(out[0][4*i:]), binary.LittleEndian.Uint32(out[1][4*i:])
			if got != want {
				t.Fatalf("%#x rounds to %#x, and its stored form is %#x", binary.LittleEndian.Uint32(data[4*i:]), got, want)
			}
		}
	}
}

// An f32 is stored as bf16 by dropping its lower half, and every NaN as the same one. A value that is rounded without being
// stored is the same number, or a NaN: all upper halves, with lower ones at their ends, as memory and as arithmetic give them.
func TestSettleBF16(t *testing.T) {
	var data []byte
	for upper := range uint32(1 << 16) {
		for _, lower := range []uint32{0, 1, 0x8000, 0xffff} {
			data = binary.LittleEndian.AppendUint32(data, upper<<16|lower)
		}
	}
	n := len(data) / 4
	zero := binary.LittleEndian.AppendUint32(nil, 1<<31)
	for _, target := range synthtest.Targets {
		var buffers []codegen.Buffer
		add := func(kind lowering.RefKind, i, n int, access lowering.Access) {
			buffers = append(buffers, codegen.Buffer{Ref: lowering.Ref{Kind: kind, Index: i}, Elem: kernel.U32, Access: access, Bytes: int64(4 * n)})
		}
		add(lowering.Operand, 0, n, lowering.Read)
		add(lowering.Operand, 1, 1, lowering.Read)
		for i := range 4 {
			add(lowering.Result, i, n, lowering.Write)
		}
		p, err := codegen.NewPlan(target, nil, &codegen.Program{Key: "settle", Local: 64, Index: scalar.U32, Groups: n / 64, Buffers: buffers,
			Body: func(e *codegen.Emitter) error {
				u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
				x := e.Bitcast(e.Load(0, u, 1)[0], scalar.F32)
				sum := e.Add(x, e.Bitcast(e.Load(1, e.Index(0), 1)[0], scalar.F32))
				for i, v := range []kernel.Value{x, sum} {
					values, _ := e.Settle(ops.BF16, []kernel.Value{v})
					e.Store(2+2*i, u, e.Bitcast(values[0], scalar.U32))
					e.Store(3+2*i, u, e.Encode(ops.BF16, v))
				}
				return nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		out := synthtest.Execute(t, p, []int{4 * n, 4 * n, 4 * n, 4 * n}, [][]byte{data, zero}, nil)
		for i := range n {
			x := binary.LittleEndian.Uint32(data[4*i:])
			isNaN := x&math.MaxInt32 > 0x7f800000
			for k, name := range []string{"a value of memory", "a stored value of memory", "a sum", "a stored sum"} {
				got := binary.LittleEndian.Uint32(out[k][4*i:])
				switch {
				case k%2 == 0 && isNaN:
					if got&math.MaxInt32 <= 0x7f800000 {
						t.Fatalf("%s, %#x, is %#x, which is no NaN", name, x, got)
					}
				case k%2 == 0 && got != x&^0xffff:
					t.Fatalf("%s, %#x, is %#x", name, x, got)
				case k%2 == 1 && isNaN && got != 0x7fc0, k%2 == 1 && !isNaN && got != x>>16:
					t.Fatalf("%s, %#x, is %#x", name, x, got)
				}
			}
		}
	}
}

// Where a device's conversion flushes subnormals, f64 is shortened to f32 as elsewhere: numbers of all magnitudes, halves of
// subnormals and their neighbours, and what is none.
func TestShorten(t *testing.T) {
	r := rand.New(rand.NewPCG(64, 32))
	list := []float64{0, math.Inf(1), math.NaN(), 0x1p-126, math.Nextafter(0x1p-126, 0), 0x1p-149, 0x1p-150, math.Nextafter(0x1p-150, 1), 5e-324, 1, 1e300}
	for range 2000 {
		half := float64(r.IntN(1<<24)) * 0x1p-150
		list = append(list, half, math.Nextafter(half, 0), math.Nextafter(half, 1), math.Ldexp(1+r.Float64(), r.IntN(300)-200))
	}
	shape := ops.Shape{2 * len(list)}
	var data []byte
	var want []uint32
	for _, x := range list {
		for _, x := range []float64{x, -x} {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
			want = append(want, math.Float32bits(float32(x)))
		}
	}
	for name, target := range synthtest.Targets {
		target := *target
		target.Flushes64 = true
		in := &ops.Instr{Op: ops.AsType, Outs: []ops.Result{{Type: ops.Type{DType: ops.F32, Shape: shape}}}}
		p, err := synthtest.Lower(t, &target, in, ops.Type{DType: ops.F64, Shape: shape})
		if err != nil {
			t.Fatal(err)
		}
		out := synthtest.Execute(t, p, []int{4 * len(want)}, [][]byte{data}, nil)[0]
		for i, w := range want {
			got, x := binary.LittleEndian.Uint32(out[4*i:]), list[i/2]
			if got != w && x == x {
				t.Fatalf("%s: %g gives %#x, want %#x", name, x, got, w)
			}
		}
	}
}
