package elementwise

import (
	"math"

	"nxvk/fallback/dense"
	"nxvk/fallback/hostmath"
)

// Functions over slices, for operations that take no longer than a call.

func rsqrt(x float64) float64 { return 1 / math.Sqrt(x) }

func rsqrtEach(x []float64) {
	for i, v := range x {
		x[i] = 1 / math.Sqrt(v)
	}
}

func ceilEach(x []float64) {
	for i, v := range x {
		x[i] = math.Ceil(v)
	}
}

func floorEach(x []float64) {
	for i, v := range x {
		x[i] = math.Floor(v)
	}
}

// roundEach rounds halves away from zero. It adds the number before 1/2 and truncates:
// 1/2 itself would carry the number before it to 1.
func roundEach(x []float64) {
	for i, v := range x {
		x[i] = math.Trunc(v + math.Copysign(0x1.fffffffffffffp-2, v))
	}
}

func signEach(x []float64) {
	for i, v := range x {
		x[i] = hostmath.Sign(v)
	}
}

func isNaNEach(x []float64) {
	for i, v := range x {
		x[i] = dense.Truth[float64](v != v)
	}
}

func isInfinityEach(x []float64) {
	for i, v := range x {
		x[i] = dense.Truth[float64](math.Abs(v) > math.MaxFloat64)
	}
}

func notEach[C integerClass](x []C) {
	for i, v := range x {
		x[i] = ^v
	}
}

// signIntEach joins two sign bits: the sign bit of the number gives -1, the sign bit of
// the negated number 1.
func signIntEach(x []int64) {
	for i, v := range x {
		x[i] = v>>63 | int64(uint64(-v)>>63)
	}
}
