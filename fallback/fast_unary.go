package fallback

import (
	"math"

	"nxvk/fallback/sched"
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

// unaryTests are one predicate over the same types.
type unaryTests struct {
	f32 func(dst []uint8, x []float32)
	f64 func(dst []uint8, x []float64)
	s32 func(dst []uint8, x []int32)
	s64 func(dst []uint8, x []int64)
}

var fastUnary = [ops.Count]unaryLoops{
	ops.Negate: {negLoop[float32], negLoop[float64], negLoop[int32], negLoop[int64]},
	ops.Abs:    {absFloatLoop[float32], absFloatLoop[float64], absIntLoop[int32], absIntLoop[int64]},
	ops.Sqrt:   {f32: sqrtLoop[float32], f64: sqrtLoop[float64]},
}

var fastUnaryTests = [ops.Count]unaryTests{
	ops.LogicalNot: {zeroLoop[float32], zeroLoop[float64], zeroLoop[int32], zeroLoop[int64]},
	ops.IsNaN:      {f32: nanLoop[float32], f64: nanLoop[float64]},
	ops.IsInfinity: {f32: infinityLoop[float32], f64: infinityLoop[float64]},
}

// fastOne computes an instruction of one operand by a typed loop and reports
// whether it has one.
func fastOne(in *call, args []Value, out *Value) bool {
	if len(args) != 1 {
		return false
	}
	l, t := &fastUnary[in.Op], &fastUnaryTests[in.Op]
	same, test := out.Type.DType == args[0].Type.DType, out.Type.DType == ops.U8
	switch args[0].Type.DType {
	case ops.F32:
		return along(in.w, same, l.f32, args, out) || along(in.w, test, t.f32, args, out)
	case ops.F64:
		return along(in.w, same, l.f64, args, out) || along(in.w, test, t.f64, args, out)
	case ops.S32:
		return along(in.w, same, l.s32, args, out) || along(in.w, test, t.s32, args, out)
	case ops.S64:
		return along(in.w, same, l.s64, args, out) || along(in.w, test, t.s64, args, out)
	}
	return false
}

// along runs a loop where there is one and it applies.
func along[T, R any](w *sched.Worker, applies bool, loop func(dst []R, x []T), args []Value, out *Value) bool {
	if !applies || loop == nil {
		return false
	}
	dst, x := view[R](out.Data), view[T](args[0].Data)
	if len(dst) < parallelMin {
		loop(dst, x)
		return true
	}
	parallel(w, len(dst), 1, func(lo, hi int) { loop(dst[lo:hi], x[lo:hi]) })
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
