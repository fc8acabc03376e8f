package elementwise

import (
	"math"

	"nxvk/fallback/dense"
)

// The typed loops. x and y are as long as dst.

func addLoop[T dense.Stored](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = dense.Quiet(x[i] + y[i])
	}
}

func subLoop[T dense.Stored](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = dense.Quiet(x[i] - y[i])
	}
}

func mulLoop[T dense.Stored](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = dense.Quiet(x[i] * y[i])
	}
}

func divLoop[T float32 | float64](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = dense.Quiet(x[i] / y[i])
	}
}

// quotLoop divides in 32 bits where both numbers fit: that takes a fraction of the time.
func quotLoop[T int32 | int64 | uint8](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		a, b := int64(x[i]), int64(y[i])
		if p, q := absolute(a), absolute(b); q != 0 && (p|q)>>32 == 0 {
			dst[i] = T(withSign(int64(uint32(p)/uint32(q)), a^b))
		} else {
			dst[i] = T(quotient(a, b))
		}
	}
}

// remLoop does the same for remainders, which have the sign of the dividend.
func remLoop[T int32 | int64 | uint8](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		a, b := int64(x[i]), int64(y[i])
		if p, q := absolute(a), absolute(b); q != 0 && (p|q)>>32 == 0 {
			dst[i] = T(withSign(int64(uint32(p)%uint32(q)), a))
		} else {
			dst[i] = T(remainder(a, b))
		}
	}
}

// absolute is |x|, also of the smallest number.
func absolute(x int64) uint64 { return uint64(withSign(x, x)) }

// withSign is x, negated where sign is negative.
func withSign(x, sign int64) int64 { return (x ^ sign>>63) - sign>>63 }

func minLoop[T int32 | int64 | uint8](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = Smaller(x[i], y[i])
	}
}

func maxLoop[T int32 | int64 | uint8](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = Larger(x[i], y[i])
	}
}

// minFloatLoop and maxFloatLoop are Smaller and Larger without branches, which processors
// would predict wrongly.
func minFloatLoop[T float32 | float64](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i, a := range x {
		b := y[i]
		dst[i] = dense.Quiet(T(oneOf(float64(a), float64(b), dense.Truth[uint8](b < a)|dense.Truth[uint8](b != b))))
	}
}

func maxFloatLoop[T float32 | float64](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i, a := range x {
		b := y[i]
		dst[i] = dense.Quiet(T(oneOf(float64(a), float64(b), dense.Truth[uint8](a < b)|dense.Truth[uint8](b != b))))
	}
}

// oneOf gives x where second is 0, and y where it is 1.
func oneOf(x, y float64, second uint8) float64 {
	a, b := math.Float64bits(x), math.Float64bits(y)
	return math.Float64frombits(a ^ (a^b)&-uint64(second))
}

func eqLoop[T dense.Stored](dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = dense.Truth[uint8](x[i] == y[i])
	}
}

func neLoop[T dense.Stored](dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = dense.Truth[uint8](x[i] != y[i])
	}
}

func gtLoop[T dense.Stored](dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = dense.Truth[uint8](x[i] > y[i])
	}
}

func ltLoop[T dense.Stored](dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = dense.Truth[uint8](x[i] < y[i])
	}
}

func geLoop[T dense.Stored](dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = dense.Truth[uint8](x[i] >= y[i])
	}
}

func leLoop[T dense.Stored](dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = dense.Truth[uint8](x[i] <= y[i])
	}
}
