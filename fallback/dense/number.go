package dense

import (
	"math"
)

// Truth returns 1 for true and 0 for false.
func Truth[T Stored | Class](b bool) T {
	if b {
		return 1
	}
	return 0
}

// nan32 and nan64 are the NaN that Nx writes. Arithmetic may give another one: x86
// processors set the sign where an operation is invalid.
var (
	nan32 = math.Float32frombits(0x7FC00000)
	nan64 = math.Float64frombits(0x7FF8000000000000)
)

// Quiet returns x, or the NaN that Nx writes where x is any NaN.
func Quiet[T Stored](x T) T {
	if x == x {
		return x
	}
	switch p := any(&x).(type) {
	case *float32:
		*p = nan32
	case *float64:
		*p = nan64
	}
	return x
}
