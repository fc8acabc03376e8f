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
