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
