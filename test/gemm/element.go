package gemm

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"nxvk/ops"
)

// element is what a test must know of a type: random values, and the chain of
// products that the kernels compute, fused or not.
type element struct {
	size   int
	random func(b []byte, r *rand.Rand)
	// add returns a·b + c as bits.
	add     func(a, b, c uint64) uint64
	unfused func(a, b, c uint64) uint64
	close   func(got, want uint64, scale float64) bool // for other orders
}

func bits32(f float32) uint64 { return uint64(math.Float32bits(f)) }
func float(b uint64) float32  { return math.Float32frombits(uint32(b)) }

var elements = map[ops.DType]element{
	ops.F32: {
		size: 4,
		random: func(b []byte, r *rand.Rand) {
			binary.LittleEndian.PutUint32(b, math.Float32bits(r.Float32()*2-1))
		},
		// the product of two float32 is exact in float64; so is not the sum,
		// whose second rounding the tests allow for by comparing with either
		add:     func(a, b, c uint64) uint64 { return bits32(fma32(float(a), float(b), float(c))) },
		unfused: func(a, b, c uint64) uint64 { p := float(a) * float(b); return bits32(p + float(c)) },
		close: func(got, want uint64, scale float64) bool {
			return math.Abs(float64(float(got))-float64(float(want))) <= scale*0x1p-23
		},
	},
	ops.F64: {
		size: 8,
		random: func(b []byte, r *rand.Rand) {
			binary.LittleEndian.PutUint64(b, math.Float64bits(r.Float64()*2-1))
		},
		add: func(a, b, c uint64) uint64 {
			return math.Float64bits(math.FMA(math.Float64frombits(a), math.Float64frombits(b), math.Float64frombits(c)))
		},
		unfused: func(a, b, c uint64) uint64 {
			p := math.Float64frombits(a) * math.Float64frombits(b)
			return math.Float64bits(p + math.Float64frombits(c))
		},
		close: func(got, want uint64, scale float64) bool {
			return math.Abs(math.Float64frombits(got)-math.Float64frombits(want)) <= scale*0x1p-52
		},
	},
	ops.U32: integer(4, func(x uint64) uint64 { return x & math.MaxUint32 }),
	ops.S64: integer(8, func(x uint64) uint64 { return x }),
}

func integer(size int, wrap func(uint64) uint64) element {
	add := func(a, b, c uint64) uint64 { return wrap(a*b + c) }
	return element{
		size: size,
		random: func(b []byte, r *rand.Rand) {
			for i := range size {
				b[i] = byte(r.Uint32())
			}
		},
		add: add, unfused: add,
		close: func(got, want uint64, _ float64) bool { return got == want },
	}
}

// fma32 is a·b + c rounded once: the sum in float64 is rounded to odd, so that
// the rounding to float32 that follows sees what was cut off.
func fma32(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c)
	s := p + q
	t := s - p
	err := (p - (s - t)) + (q - t)
	if err != 0 && math.Float64bits(s)&1 == 0 {
		if (err > 0) == (s > 0) {
			s = math.Float64frombits(math.Float64bits(s) | 1)
		} else {
			s = math.Float64frombits(math.Float64bits(s) - 1)
		}
	}
	return float32(s)
}

func (e *element) get(b []byte, i int) uint64 {
	if e.size == 4 {
		return uint64(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return binary.LittleEndian.Uint64(b[8*i:])
}
