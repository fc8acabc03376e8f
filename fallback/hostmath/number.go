package hostmath

import (
	"math"
)

// nan is the NaN that Nx writes.
var nan = math.Float64frombits(0x7FF8000000000000)

// quietNaN returns x, or the NaN that Nx writes where x is any NaN.
func quietNaN(x float64) float64 {
	if x == x {
		return x
	}
	return nan
}

// applyOne applies a function over slices to one number.
func applyOne(each func(x []float64), x float64) float64 {
	one := [1]float64{x}
	each(one[:])
	return one[0]
}

// Sign keeps NaN and the sign of zero.
func Sign(x float64) float64 {
	if x == 0 || x != x {
		return x
	}
	return math.Copysign(1, x)
}
