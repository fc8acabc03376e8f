package factor

import (
	"math"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// inverseRoot is 1 / sqrt(x), NaN below zero. That of f32 is the guess of Lomont
// (2003) with Newton's steps, right but for some last bits: nothing in it branches
// or waits, as quotients and roots of devices do, and every column of a panel waits
// for one.
func (x Arith) inverseRoot(v kernel.Value) kernel.Value {
	if x.T.Part() != scalar.F32 {
		return x.Over(x.Real(1), x.Sqrt(v))
	}
	// Subnormals are guessed badly.
	small := x.Compare(scalar.Lt, v, x.Real(0x1p-60))
	y := x.GuessedRoot(x.Select(small, x.Mul(v, x.Real(0x1p80)), v))
	y = x.Select(small, x.Mul(y, x.Real(0x1p40)), y)
	y = x.Select(x.Zero(v), x.Real(math.Inf(1)), y)
	y = x.Select(x.Compare(scalar.Lt, x.Real(math.MaxFloat32), v), x.Real(0), y)
	return x.Select(x.Compare(scalar.Le, x.Real(0), v), y, x.Real(math.NaN()))
}

// GuessedRoot is inverseRoot of a normal number of f32 that is above zero.
func (x Arith) GuessedRoot(v kernel.Value) kernel.Value {
	y := x.Bitcast(x.Sub(x.Int(scalar.U32, 0x5f375a86), x.Shr(x.Bitcast(v, scalar.U32), 1)), scalar.F32)
	half := x.Mul(v, x.Real(0.5))
	for range 3 {
		y = x.Mul(y, x.Less(x.Mul(half, y), y, x.Real(1.5)))
	}
	return y
}

// PivotRoot is the root of a pivot of Cholesky's factorisation. Where that is
// negative the root is NaN, or imaginary among complex numbers, as Nx has it. The
// pivots of Hermitian matrices are real: what rounding leaves beside is dropped.
func (x Arith) PivotRoot(d kernel.Value) kernel.Value {
	if !kernel.IsPair(d) {
		return x.Sqrt(d)
	}
	zero := x.Real(0)
	re, _ := x.Parts(d)
	negative, size := x.Compare(scalar.Lt, re, zero), x.Abs(re)
	root := x.Sqrt(size)
	return x.Select(negative, x.Pair(zero, root), x.Pair(root, zero))
}

// InversePivotRoot is its inverse.
func (x Arith) InversePivotRoot(d kernel.Value) kernel.Value {
	if !kernel.IsPair(d) {
		return x.inverseRoot(d)
	}
	zero := x.Real(0)
	re, _ := x.Parts(d)
	negative, inverse := x.Compare(scalar.Lt, re, zero), x.inverseRoot(x.Abs(re))
	return x.Select(negative, x.Pair(zero, x.Neg(inverse)), x.Pair(inverse, zero))
}
