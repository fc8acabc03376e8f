package factor

import (
	"math"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// inverseRoot is 1 / sqrt(x), NaN below zero. For f32 it is the guess of Lomont
// (2003) with Newton's steps, right but for some last bits: nothing in it branches
// or waits, as quotients and roots of devices do, and every column of a panel waits
// for one.
func (w Arith) inverseRoot(v kernel.Value) kernel.Value {
	if w.T.Part() != scalar.F32 {
		return w.Over(w.Real(1), w.Sqrt(v))
	}
	// Subnormals are guessed badly.
	small := w.Compare(scalar.Lt, v, w.Real(0x1p-60))
	y := w.GuessedRoot(w.Select(small, w.Mul(v, w.Real(0x1p80)), v))
	y = w.Select(small, w.Mul(y, w.Real(0x1p40)), y)
	y = w.Select(w.Zero(v), w.Real(math.Inf(1)), y)
	y = w.Select(w.Compare(scalar.Lt, w.Real(math.MaxFloat32), v), w.Real(0), y)
	return w.Select(w.Compare(scalar.Le, w.Real(0), v), y, w.Real(math.NaN()))
}

// GuessedRoot is inverseRoot of a normal number of f32 that is above zero.
func (w Arith) GuessedRoot(v kernel.Value) kernel.Value {
	y := w.Bitcast(w.Sub(w.Int(scalar.U32, 0x5f375a86), w.Shr(w.Bitcast(v, scalar.U32), 1)), scalar.F32)
	half := w.Mul(v, w.Real(0.5))
	for range 3 {
		y = w.Mul(y, w.Less(w.Mul(half, y), y, w.Real(1.5)))
	}
	return y
}

// PivotRoot is the root of a pivot of Cholesky's factorisation. Where that is
// negative the root is NaN, or imaginary among complex numbers, as Nx has it. The
// pivots of Hermitian matrices are real: what rounding leaves beside is dropped.
func (w Arith) PivotRoot(d kernel.Value) kernel.Value {
	if !kernel.IsPair(d) {
		return w.Sqrt(d)
	}
	zero := w.Real(0)
	re, _ := w.Parts(d)
	negative, size := w.Compare(scalar.Lt, re, zero), w.Abs(re)
	root := w.Sqrt(size)
	return w.Select(negative, w.Pair(zero, root), w.Pair(root, zero))
}

// InversePivotRoot is its inverse.
func (w Arith) InversePivotRoot(d kernel.Value) kernel.Value {
	if !kernel.IsPair(d) {
		return w.inverseRoot(d)
	}
	zero := w.Real(0)
	re, _ := w.Parts(d)
	negative, inverse := w.Compare(scalar.Lt, re, zero), w.inverseRoot(w.Abs(re))
	return w.Select(negative, w.Pair(zero, w.Neg(inverse)), w.Pair(inverse, zero))
}
