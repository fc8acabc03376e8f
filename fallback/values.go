package fallback

import (
	"fmt"

	"nxvk/fallback/dense"
	"nxvk/fallback/linalg"
	"nxvk/fallback/movement"
	"nxvk/fallback/region"
	"nxvk/ops"
)

// Value is a dense tensor in host memory; see dense.Value.
type Value = dense.Value

// Evaluator evaluates a region again and again; see region.Evaluator.
type Evaluator = region.Evaluator

// The errors of kernels, which wrap them.
var (
	ErrUnsupported = dense.ErrUnsupported // an operation that the host does not compute
	ErrComplex     = dense.ErrComplex     // an operation that complex numbers do not have
	ErrIndex       = movement.ErrIndex    // an index outside of its dimension
	ErrSingular    = linalg.ErrSingular   // a system without a solution
)

// NewEvaluator returns an evaluator of a region; see region.NewEvaluator.
func NewEvaluator(r *ops.Region, data ...Value) *Evaluator { return region.NewEvaluator(r, data...) }

// Nonzero reports whether a scalar predicate holds; see region.Nonzero.
func Nonzero(v Value) bool { return region.Nonzero(v) }

// CheckIndices reports the first index of an instruction that is outside of its
// dimension; see movement.CheckIndices.
func CheckIndices(in *ops.Instr, shape ops.Shape, idx Value) error {
	return movement.CheckIndices(in, shape, idx)
}

// Convert writes the elements of src to dst in dst's type: floats truncate
// toward zero where they become integers, NaN becomes 0 and infinities the
// extremes; integers wrap; a complex number that becomes real loses its
// imaginary part. Both have the same number of elements.
func Convert(dst, src Value) error {
	if a, b := src.Type.Size(), dst.Type.Size(); a != b {
		return fmt.Errorf("convert %v to %v: %w differs", src.Type, dst.Type, ops.ErrShape)
	}
	one, other := [1]Value{dst}, [1]Value{src}
	if dense.Aligned(one[:]) && dense.Aligned(other[:]) {
		dense.Convert(nil, dst, src)
		return nil
	}
	return dense.RunMoved(func(in *dense.Call, args, outs []Value) error {
		dense.Convert(in.Worker, outs[0], args[0])
		return nil
	}, &dense.Call{}, other[:], one[:])
}
