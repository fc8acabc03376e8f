package simt

import (
	"math"
	"math/bits"
	"unsafe"
)

type float interface{ float32 | float64 }

type whole interface {
	int32 | uint32 | int64 | uint64
}

type number interface{ whole | float }

// The loops over columns. A product is converted where something is added to it, so
// that the compiler does not fuse the two.

func add[T number](d, x, y []T) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = x[i] + y[i]
	}
}

func sub[T number](d, x, y []T) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = x[i] - y[i]
	}
}

func mul[T number](d, x, y []T) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = x[i] * y[i]
	}
}

func div[T float](d, x, y []T) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = x[i] / y[i]
	}
}

// quotient and remainder give 0 where the divisor is: the kernel selects another value
// then.
func quotient[T whole](d, x, y []T) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		if d[i] = 0; y[i] != 0 {
			d[i] = x[i] / y[i]
		}
	}
}

func remainder[T whole](d, x, y []T) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		if d[i] = 0; y[i] != 0 {
			d[i] = x[i] % y[i]
		}
	}
}

func and[T whole](d, x, y []T) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = x[i] & y[i]
	}
}

func or[T whole](d, x, y []T) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = x[i] | y[i]
	}
}

func xor[T whole](d, x, y []T) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = x[i] ^ y[i]
	}
}

func not[T whole](d, x []T) {
	x = x[:len(d)]
	for i := range d {
		d[i] = ^x[i]
	}
}

// notBool is not for values of 0 or 1.
func notBool(d, x []uint32) {
	x = x[:len(d)]
	for i := range d {
		d[i] = x[i] ^ 1
	}
}

func neg[T number](d, x []T) {
	x = x[:len(d)]
	for i := range d {
		d[i] = -x[i]
	}
}

func shl[T whole](d, x []T, y []uint32) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = x[i] << y[i]
	}
}

func shr[T whole](d, x []T, y []uint32) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = x[i] >> y[i]
	}
}

func mulHigh(d, x, y []uint32) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = uint32(uint64(x[i]) * uint64(y[i]) >> 32)
	}
}

func highest(d, x []uint32) {
	x = x[:len(d)]
	for i := range d {
		d[i] = uint32(bits.Len32(x[i]) - 1)
	}
}

func ones(d, x []uint32) {
	x = x[:len(d)]
	for i := range d {
		d[i] = uint32(bits.OnesCount32(x[i]))
	}
}

// each makes a loop of a function of float64 that is exact for a float32, too.
func each[T float](f func(float64) float64) func(d, x []T) {
	return func(d, x []T) {
		x = x[:len(d)]
		for i := range d {
			d[i] = T(f(float64(x[i])))
		}
	}
}

func sqrt[T float](d, x []T) {
	x = x[:len(d)]
	for i := range d {
		d[i] = T(math.Sqrt(float64(x[i])))
	}
}

// mulAdd rounds twice.
func mulAdd[T float](d, x, y, z []T) {
	x, y, z = x[:len(d)], y[:len(d)], z[:len(d)]
	for i := range d {
		d[i] = T(x[i]*y[i]) + z[i]
	}
}

func equal[T number](d []uint32, x, y []T) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = truth(x[i] == y[i])
	}
}

func unequal[T number](d []uint32, x, y []T) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = truth(x[i] != y[i])
	}
}

func less[T number](d []uint32, x, y []T) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = truth(x[i] < y[i])
	}
}

func atMost[T number](d []uint32, x, y []T) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = truth(x[i] <= y[i])
	}
}

// truth is 1 for true.
func truth(b bool) uint32 { return uint32(*(*uint8)(unsafe.Pointer(&b))) }

func choose[T word](d []T, where []uint32, x, y []T) {
	x, y, where = x[:len(d)], y[:len(d)], where[:len(d)]
	for i := range d {
		v := y[i]
		if where[i] != 0 {
			v = x[i]
		}
		d[i] = v
	}
}

func pack(d []uint64, low, high []uint32) {
	low, high = low[:len(d)], high[:len(d)]
	for i := range d {
		d[i] = uint64(low[i]) | uint64(high[i])<<32
	}
}

func low(d []uint32, x []uint64) {
	x = x[:len(d)]
	for i := range d {
		d[i] = uint32(x[i])
	}
}

func high(d []uint32, x []uint64) {
	x = x[:len(d)]
	for i := range d {
		d[i] = uint32(x[i] >> 32)
	}
}

func same[T word](d, x []T) { copy(d, x) }

// cast converts as Go does, which is as kernels want it where they say what they want.
func cast[T, F number](d []T, x []F) {
	x = x[:len(d)]
	for i := range d {
		d[i] = T(x[i])
	}
}

func nonzero[F number](d []uint32, x []F) {
	x = x[:len(d)]
	for i := range d {
		d[i] = truth(x[i] != 0)
	}
}
