package fallback

import (
	"math"

	"nxvk/ops"
)

// unaryLoops are one operation of one operand over the types that programs use
// most, where the result has the operand's.
type unaryLoops struct {
	f32 func(dst, x []float32)
	f64 func(dst, x []float64)
	s32 func(dst, x []int32)
	s64 func(dst, x []int64)
}

var fastUnary = [ops.Count]unaryLoops{
	ops.Negate: {negLoop[float32], negLoop[float64], negLoop[int32], negLoop[int64]},
	ops.Abs:    {absFloatLoop[float32], absFloatLoop[float64], absIntLoop[int32], absIntLoop[int64]},
	ops.Sqrt:   {f32: sqrtLoop[float32], f64: sqrtLoop[float64]},
}

// fastOne computes an instruction of one operand by a typed loop and reports
// whether it has one.
func fastOne(in *ops.Instr, args []Value, out *Value) bool {
	if len(args) != 1 || args[0].Type.DType != out.Type.DType {
		return false
	}
	l := &fastUnary[in.Op]
	switch args[0].Type.DType {
	case ops.F32:
		return along(l.f32, args, out)
	case ops.F64:
		return along(l.f64, args, out)
	case ops.S32:
		return along(l.s32, args, out)
	case ops.S64:
		return along(l.s64, args, out)
	}
	return false
}

func along[T any](loop func(dst, x []T), args []Value, out *Value) bool {
	if loop == nil {
		return false
	}
	dst, x := view[T](out.Data), view[T](args[0].Data)
	if len(dst) < parallelMin {
		loop(dst, x)
		return true
	}
	parallel(len(dst), 1, func(lo, hi int) { loop(dst[lo:hi], x[lo:hi]) })
	return true
}

func negLoop[T int32 | int64 | float32 | float64](dst, x []T) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = quiet(-x[i])
	}
}

func absIntLoop[T int32 | int64](dst, x []T) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = max(x[i], -x[i])
	}
}

func absFloatLoop[T float32 | float64](dst, x []T) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = quiet(T(math.Abs(float64(x[i]))))
	}
}

func sqrtLoop[T float32 | float64](dst, x []T) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = quiet(T(math.Sqrt(float64(x[i]))))
	}
}
