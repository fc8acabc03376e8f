package elementwise

import (
	"nxvk/fallback/dense"
)

// The typed loops of bits and of truth. x and y are as long as dst.

func andLoop[T int32 | int64 | uint8](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = x[i] & y[i]
	}
}

func orLoop[T int32 | int64 | uint8](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = x[i] | y[i]
	}
}

func xorLoop[T int32 | int64 | uint8](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = x[i] ^ y[i]
	}
}

// leftLoop and rightLoop read counts without sign, as integers do.
func leftLoop[T int32 | int64 | uint8](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = x[i] << uint64(y[i])
	}
}

func rightLoop[T int32 | int64 | uint8](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = x[i] >> uint64(y[i])
	}
}

func andTruthLoop[T dense.Stored](dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = dense.Truth[uint8](x[i] != 0) & dense.Truth[uint8](y[i] != 0)
	}
}

func orTruthLoop[T dense.Stored](dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = dense.Truth[uint8](x[i] != 0) | dense.Truth[uint8](y[i] != 0)
	}
}

func xorTruthLoop[T dense.Stored](dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = dense.Truth[uint8](x[i] != 0) ^ dense.Truth[uint8](y[i] != 0)
	}
}

func zeroLoop[T dense.Stored](dst []uint8, x []T) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = dense.Truth[uint8](x[i] == 0)
	}
}

func nanLoop[T float32 | float64](dst []uint8, x []T) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = dense.Truth[uint8](x[i] != x[i])
	}
}

// infinityLoop: a number less itself is 0, and NaN of an infinity.
func infinityLoop[T float32 | float64](dst []uint8, x []T) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = dense.Truth[uint8](x[i] == x[i]) & dense.Truth[uint8](x[i]-x[i] != 0)
	}
}
