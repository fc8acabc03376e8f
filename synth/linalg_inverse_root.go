package synth

import (
	"math"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// inverseRoot is 1 / sqrt(x), NaN below zero. That of f32 is the guess of Lomont
// (2003) with Newton's steps, right but for some last bits: nothing in it branches
// or waits, as quotients and roots of devices do, and every column of a panel waits
// for one.
func (x reals) inverseRoot(v kernel.Value) kernel.Value {
	if x.t != scalar.F32 {
		return x.over(x.number(1), x.sqrt(v))
	}
	// Subnormals are guessed badly.
	small := x.Compare(scalar.Lt, v, x.number(0x1p-60))
	u := x.Select(small, x.Mul(v, x.number(0x1p80)), v)
	y := x.Bitcast(x.Sub(x.Int(scalar.U32, 0x5f375a86), x.Shr(x.Bitcast(u, scalar.U32), 1)), scalar.F32)
	half := x.Mul(u, x.number(0.5))
	for range 3 {
		y = x.Mul(y, x.less(x.Mul(half, y), y, x.number(1.5)))
	}
	y = x.Select(small, x.Mul(y, x.number(0x1p40)), y)
	y = x.Select(x.zero(v), x.number(math.Inf(1)), y)
	y = x.Select(x.Compare(scalar.Lt, x.number(math.MaxFloat32), v), x.number(0), y)
	return x.Select(x.Compare(scalar.Le, x.number(0), v), y, x.number(math.NaN()))
}
