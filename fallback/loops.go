package fallback

// The typed loops. x and y are as long as dst.

func addLoop[T stored](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = quiet(x[i] + y[i])
	}
}

func subLoop[T stored](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = quiet(x[i] - y[i])
	}
}

func mulLoop[T stored](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = quiet(x[i] * y[i])
	}
}

func divLoop[T float32 | float64](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = quiet(x[i] / y[i])
	}
}

// quotLoop divides small numbers as such: that takes a processor a fraction of the
// time.
func quotLoop[T int32 | int64 | uint8](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		a, b := int64(x[i]), int64(y[i])
		if b > 0 && uint64(a|b)>>32 == 0 {
			dst[i] = T(uint32(a) / uint32(b))
		} else {
			dst[i] = T(quotient(a, b))
		}
	}
}

func minLoop[T stored](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = quiet(smaller(x[i], y[i]))
	}
}

func maxLoop[T stored](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = quiet(larger(x[i], y[i]))
	}
}

func eqLoop[T stored](dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = truth[uint8](x[i] == y[i])
	}
}

func neLoop[T stored](dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = truth[uint8](x[i] != y[i])
	}
}

func gtLoop[T stored](dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = truth[uint8](x[i] > y[i])
	}
}

func ltLoop[T stored](dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = truth[uint8](x[i] < y[i])
	}
}

func geLoop[T stored](dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = truth[uint8](x[i] >= y[i])
	}
}

func leLoop[T stored](dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = truth[uint8](x[i] <= y[i])
	}
}
