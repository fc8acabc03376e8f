package dense

import (
	"math"
)

// Truth is 1 or 0.
func Truth[T Stored | Class](b bool) T {
	if b {
		return 1
	}
	return 0
}

// nan32 and nan64 are the NaN that Nx writes. Arithmetic gives others: an x86
// processor sets the sign of that of an invalid operation.
var (
	nan32 = math.Float32frombits(0x7FC00000)
	nan64 = math.Float64frombits(0x7FF8000000000000)
)

// Quiet gives x, and for every NaN the one that Nx writes.
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
