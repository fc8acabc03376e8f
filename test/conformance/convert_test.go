package conformance

import (
	"encoding/binary"
	"math"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/synth/graph/notation"
	"nxvk/test/draw"
)

// edges are numbers at which conversions differ: zeros, infinities, NaN,
// halves, and both sides of the range of every integer type.
func edges() []float64 {
	v := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 0.49999997, 0.5, -0.5, 1.5, -1.5, 2.5,
		0.999, -0.999, 1e-10, -1e-10, 1e10, -1e10, 1e20, -1e20, 1e38, -1e38, 65504, 65519, 65520, 57344, 61440, 448, 464, 465,
		3.3895314e38, 0x1p-24, 0x1p-25, 0x1.8p-25, 0x1p-14, 0x1p-16, 0x1p-17, 0x1p-9, 0x1p-10}
	for _, bits := range []int{1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 52, 53, 63, 64} {
		p := math.Exp2(float64(bits))
		v = append(v, p, p-1, p+1, p-0.5, -p, -p-1, -p+1, -p-0.5)
	}
	return v
}

// realTypes are the types between which conversions are on the device.
func realTypes() (all []ops.DType) {
	for _, d := range ops.DTypes() {
		if !d.IsComplex() {
			all = append(all, d)
		}
	}
	return all
}

// Conversions between all pairs of real types, of every value that a source of
// 8 bits has, and of edges and random bits of wider ones.
func TestConvert(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, from := range realTypes() {
			for _, to := range realTypes() {
				c := convertible(t, from, to)
				of := 6
				if gpu {
					of = 24
				}
				if from != to && rarely(of, &c) {
					n.near(t, d, host, &c, flushed(from))
				}
			}
		}
		n.report(t)
	})
}

// flushed lets the subnormals of a type that converts through f32 become 0 on
// a device that flushes them.
func flushed(from ops.DType) tolerance {
	if target.Subnormals || from.Wide() != ops.F32 {
		return tolerance{}
	}
	return tolerance{flush: true, absolute: 0x1p-126}
}

// convertible is a conversion of values that matter.
func convertible(t *testing.T, from, to ops.DType) instr {
	t.Helper()
	edges := edges()
	typ := ops.Type{DType: from, Shape: ops.Shape{len(edges) + 256}}
	data := newSampler(uint64(from)).bits(typ)
	if from.Bits() == 8 {
		for i := range 256 {
			data[len(edges)+i] = byte(i)
		}
	}
	if from.IsFloat() {
		head := ops.Type{DType: from, Shape: ops.Shape{len(edges)}}
		copy(data, draw.Encode(edges, head))
	}
	c := instr{op: ops.AsType, types: []ops.Type{typ}, data: [][]byte{data}}
	c.infer(t, to)
	return c
}

// All numbers of bf16 become the same ones of f32. All upper halves of f32, with lower ones at their ends, are stored without
// these, and every NaN is stored as one: those of memory and those of sums, also where a sum is rounded in the middle of a kernel.
func TestBF16(t *testing.T) {
	p, err := notation.Parse(`(%1:f32[262144], %2:bf16[65536], %3:f32) {
  %4:f32[65536] = as_type %2
  %5:bf16[262144] = as_type %1
  %6:f32[262144] = add %1, %3
  %7:bf16[262144] = as_type %6
  %8:f32[262144] = as_type %7
  give %4, %5, %7, %8
}
`)
	if err != nil {
		t.Fatal(err)
	}
	outs, err := p.CheckProgram()
	if err != nil {
		t.Fatal(err)
	}
	var wide, narrow, wideOut, narrowOut, back []byte
	le := binary.LittleEndian
	number := func(bits uint32) uint32 {
		if bits&math.MaxInt32 > 0x7f800000 {
			return 0x7fc00000
		}
		return bits
	}
	for upper := range uint32(1 << 16) {
		narrow, wideOut = le.AppendUint16(narrow, uint16(upper)), le.AppendUint32(wideOut, number(upper<<16))
		for _, lower := range []uint32{0, 1, 0x8000, 0xffff} {
			bits := upper<<16 | lower
			wide, narrowOut = le.AppendUint32(wide, bits), le.AppendUint16(narrowOut, uint16(number(bits)>>16))
			back = le.AppendUint32(back, number(bits)&^0xffff)
		}
	}
	modes(t, func(t *testing.T, d, _ *exectest.Driver, gpu bool) {
		for i := range d.Exec.Services().Enough() + 1 {
			got, _, err := results(d, p, outs, [][]byte{wide, narrow, le.AppendUint32(nil, 1<<31)}) // with -0, a sum is the number
			if err != nil {
				t.Fatal(err)
			}
			for k, want := range [][]byte{wideOut, narrowOut, narrowOut, back} {
				for at := 0; at < len(want); at += 2 {
					if x, y := le.Uint16(got[k][at:]), le.Uint16(want[at:]); x != y && (target.Subnormals || y&0x7f80 != 0) {
						t.Fatalf("run %d, result %d: half word %d is %#x, want %#x", i, k, at/2, x, y)
					}
				}
			}
			if err := d.Built(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
