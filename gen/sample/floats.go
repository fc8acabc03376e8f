package sample

import (
	"encoding/binary"
	"math"
	"slices"

	"nxvk/ops"
)

// AppendFloats appends numbers as elements of a type, f32 or f64.
func AppendFloats(b []byte, t ops.DType, xs []float64) []byte {
	at, size := len(b), t.Size()
	b = slices.Grow(b, size*len(xs))[:at+size*len(xs)]
	putFloats(b[at:], t, xs)
	return b
}

func putFloats(to []byte, t ops.DType, xs []float64) {
	for i, x := range xs {
		if t == ops.F32 {
			binary.LittleEndian.PutUint32(to[4*i:], math.Float32bits(float32(x)))
		} else {
			binary.LittleEndian.PutUint64(to[8*i:], math.Float64bits(x))
		}
	}
}

func floatsOf(b []byte, t ops.DType) []float64 {
	out := make([]float64, len(b)/t.Size())
	for i := range out {
		out[i] = floatAt(b, t, i)
	}
	return out
}

func floatAt(b []byte, t ops.DType, i int) float64 {
	if t == ops.F32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
}
