package fallback

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

func bothLoop[T stored](dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = truth[uint8](x[i] != 0) & truth[uint8](y[i] != 0)
	}
}

func eitherLoop[T stored](dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = truth[uint8](x[i] != 0) | truth[uint8](y[i] != 0)
	}
}

func oneLoop[T stored](dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = truth[uint8](x[i] != 0) ^ truth[uint8](y[i] != 0)
	}
}

func zeroLoop[T stored](dst []uint8, x []T) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = truth[uint8](x[i] == 0)
	}
}

func nanLoop[T float32 | float64](dst []uint8, x []T) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = truth[uint8](x[i] != x[i])
	}
}

// infinityLoop: a number less itself is 0, and NaN of an infinity.
func infinityLoop[T float32 | float64](dst []uint8, x []T) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = truth[uint8](x[i] == x[i]) & truth[uint8](x[i]-x[i] != 0)
	}
}
