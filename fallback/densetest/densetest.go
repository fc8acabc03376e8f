// Package densetest makes tensors for the tests of fallback's packages.
package densetest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"nxvk/fallback/dense"
	"nxvk/ops"
)

// Tensor returns a value of a type out of numbers.
func Tensor(d ops.DType, shape ops.Shape, xs ...float64) dense.Value {
	v := dense.New(ops.Type{DType: d, Shape: shape})
	if len(xs) != shape.Size() {
		panic(fmt.Sprintf("%d numbers for %v", len(xs), shape))
	}
	if d.IsInteger() {
		is := make([]int64, len(xs))
		for i, x := range xs {
			is[i] = int64(x)
		}
		dense.StoreInt[d](v.Data, 0, is)
		return v
	}
	dense.StoreFloat[d](v.Data, 0, xs)
	return v
}

// Vector returns a value with one dimension.
func Vector(d ops.DType, xs ...float64) dense.Value { return Tensor(d, ops.Shape{len(xs)}, xs...) }

// Numbers reads a value as float64.
func Numbers(v dense.Value) []float64 {
	xs := make([]float64, v.Type.Size())
	dense.LoadFloat[v.Type.DType](xs, v.Data, 0, 1)
	return xs
}

// Random returns a value with numbers from a small range that every type has.
func Random(r *rand.Rand, t ops.Type) dense.Value {
	xs := make([]float64, t.Size())
	for i := range xs {
		switch {
		case t.DType.IsInteger() && t.DType.Class() == ops.Unsigned:
			xs[i] = float64(r.IntN(4))
		case t.DType.IsInteger():
			xs[i] = float64(r.IntN(4) - 2)
		default:
			xs[i] = math.Round(r.NormFloat64()*64) / 32
		}
	}
	return Tensor(t.DType, t.Shape, xs...)
}

// Peculiar returns numbers with many equal ones, both zeros, infinities and NaN.
func Peculiar(n int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	odd := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 0x1p-149, -0x1p-149, math.MaxFloat32}
	xs := make([]float64, n)
	for i := range xs {
		switch r.IntN(4) {
		case 0:
			xs[i] = odd[r.IntN(len(odd))]
		case 1:
			xs[i] = float64(r.IntN(9) - 4)
		default:
			xs[i] = float64(float32(r.NormFloat64() * 1e3))
		}
	}
	return xs
}
