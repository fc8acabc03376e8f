package elementwise

import (
	"math"

	"nxvk/fallback/dense"
	"nxvk/fallback/hostmath"
)

// Loops over elements for functions that take no longer than the call would.

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

// roundEach rounds halves away from zero: the number before 1/2 is what does not take
// another number than a half to the next.
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

// signIntEach is -1 where the sign is set, and 1 where it is not and the number is
// not zero, which negated has it set.
func signIntEach(x []int64) {
	for i, v := range x {
		x[i] = v>>63 | int64(uint64(-v)>>63)
	}
}
