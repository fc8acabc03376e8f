package elementwise

import (
	"math"

	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
	"nxvk/ops"
)

// unaryLoops are the typed loops of one operation of one operand, where the result has the
// operand's type.
type unaryLoops struct {
	F32 func(dst, x []float32)
	F64 func(dst, x []float64)
	s32 func(dst, x []int32)
	s64 func(dst, x []int64)
}

// unaryTest has the typed loops of one predicate.
type unaryTest struct {
	f32 func(dst []uint8, x []float32)
	f64 func(dst []uint8, x []float64)
	s32 func(dst []uint8, x []int32)
	s64 func(dst []uint8, x []int64)
}

var UnaryLoops = [ops.Count]unaryLoops{
	ops.Negate: {negLoop[float32], negLoop[float64], negLoop[int32], negLoop[int64]},
	ops.Abs:    {absFloatLoop[float32], absFloatLoop[float64], absIntLoop[int32], absIntLoop[int64]},
	ops.Sqrt:   {F32: sqrtLoop[float32], F64: sqrtLoop[float64]},
}

var unaryTests = [ops.Count]unaryTest{
	ops.LogicalNot: {zeroLoop[float32], zeroLoop[float64], zeroLoop[int32], zeroLoop[int64]},
	ops.IsNaN:      {f32: nanLoop[float32], f64: nanLoop[float64]},
	ops.IsInfinity: {f32: infinityLoop[float32], f64: infinityLoop[float64]},
}

// runUnary computes an instruction of one operand by a typed loop and reports
// whether it has one.
func runUnary(in *dense.Call, args []dense.Value, out *dense.Value) bool {
	if len(args) != 1 {
		return false
	}
	l, t := &UnaryLoops[in.Op], &unaryTests[in.Op]
	same, test := out.Type.DType == args[0].Type.DType, out.Type.DType == ops.U8
	switch args[0].Type.DType {
	case ops.F32:
		return runAlong(in.Worker, same, l.F32, args, out) || runAlong(in.Worker, test, t.f32, args, out)
	case ops.F64:
		return runAlong(in.Worker, same, l.F64, args, out) || runAlong(in.Worker, test, t.f64, args, out)
	case ops.S32:
		return runAlong(in.Worker, same, l.s32, args, out) || runAlong(in.Worker, test, t.s32, args, out)
	case ops.S64:
		return runAlong(in.Worker, same, l.s64, args, out) || runAlong(in.Worker, test, t.s64, args, out)
	}
	return false
}

// runAlong runs a loop. It reports false where there is none or it does not apply.
func runAlong[T, R any](w *sched.Worker, applies bool, loop func(dst []R, x []T), args []dense.Value, out *dense.Value) bool {
	if !applies || loop == nil {
		return false
	}
	dst, x := dense.View[R](out.Data), dense.View[T](args[0].Data)
	if len(dst) < dense.ParallelMin {
		loop(dst, x)
		return true
	}
	dense.Parallel(w, len(dst), 1, func(lo, hi int) { loop(dst[lo:hi], x[lo:hi]) })
	return true
}

func negLoop[T int32 | int64 | float32 | float64](dst, x []T) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = dense.Quiet(-x[i])
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
		dst[i] = dense.Quiet(T(math.Abs(float64(x[i]))))
	}
}

func sqrtLoop[T float32 | float64](dst, x []T) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = dense.Quiet(T(math.Sqrt(float64(x[i]))))
	}
}
