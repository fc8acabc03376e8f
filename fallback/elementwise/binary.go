package elementwise

import (
	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
	"nxvk/ops"
)

// Binary operations have typed loops over stored elements where both operands have the type
// of the result, or are compared. A loop skips the conversion to a class. Its results have
// the same bits: a float32 sum, product or quotient that is rounded once equals the one
// that is computed in float64 and then converted.

// loops are the typed loops of one operation, for the types that programs use most.
type loops struct {
	F32 func(dst, x, y []float32)
	F64 func(dst, x, y []float64)
	s32 func(dst, x, y []int32)
	s64 func(dst, x, y []int64)
	u8  func(dst, x, y []uint8)
}

// comparison has the typed loops of one comparison.
type comparison struct {
	F32 func(dst []uint8, x, y []float32)
	F64 func(dst []uint8, x, y []float64)
	s32 func(dst []uint8, x, y []int32)
	s64 func(dst []uint8, x, y []int64)
	u8  func(dst []uint8, x, y []uint8)
}

var BinaryLoops = [ops.Count]loops{
	ops.Add:       {addLoop[float32], addLoop[float64], addLoop[int32], addLoop[int64], addLoop[uint8]},
	ops.Subtract:  {subLoop[float32], subLoop[float64], subLoop[int32], subLoop[int64], subLoop[uint8]},
	ops.Multiply:  {mulLoop[float32], mulLoop[float64], mulLoop[int32], mulLoop[int64], mulLoop[uint8]},
	ops.Divide:    {F32: divLoop[float32], F64: divLoop[float64]},
	ops.Quotient:  {s32: quotLoop[int32], s64: quotLoop[int64], u8: quotLoop[uint8]},
	ops.Remainder: {s32: remLoop[int32], s64: remLoop[int64], u8: remLoop[uint8]},
	ops.Min:       {minFloatLoop[float32], minFloatLoop[float64], minLoop[int32], minLoop[int64], minLoop[uint8]},
	ops.Max:       {maxFloatLoop[float32], maxFloatLoop[float64], maxLoop[int32], maxLoop[int64], maxLoop[uint8]},

	ops.BitwiseAnd: {s32: andLoop[int32], s64: andLoop[int64], u8: andLoop[uint8]},
	ops.BitwiseOr:  {s32: orLoop[int32], s64: orLoop[int64], u8: orLoop[uint8]},
	ops.BitwiseXor: {s32: xorLoop[int32], s64: xorLoop[int64], u8: xorLoop[uint8]},
	ops.LeftShift:  {s32: leftLoop[int32], s64: leftLoop[int64], u8: leftLoop[uint8]},
	ops.RightShift: {s32: rightLoop[int32], s64: rightLoop[int64], u8: rightLoop[uint8]},
}

var Comparisons = [ops.Count]comparison{
	ops.Equal:        {eqLoop[float32], eqLoop[float64], eqLoop[int32], eqLoop[int64], eqLoop[uint8]},
	ops.NotEqual:     {neLoop[float32], neLoop[float64], neLoop[int32], neLoop[int64], neLoop[uint8]},
	ops.Greater:      {gtLoop[float32], gtLoop[float64], gtLoop[int32], gtLoop[int64], gtLoop[uint8]},
	ops.Less:         {ltLoop[float32], ltLoop[float64], ltLoop[int32], ltLoop[int64], ltLoop[uint8]},
	ops.GreaterEqual: {geLoop[float32], geLoop[float64], geLoop[int32], geLoop[int64], geLoop[uint8]},
	ops.LessEqual:    {leLoop[float32], leLoop[float64], leLoop[int32], leLoop[int64], leLoop[uint8]},

	ops.LogicalAnd: {andTruthLoop[float32], andTruthLoop[float64], andTruthLoop[int32], andTruthLoop[int64], andTruthLoop[uint8]},
	ops.LogicalOr:  {orTruthLoop[float32], orTruthLoop[float64], orTruthLoop[int32], orTruthLoop[int64], orTruthLoop[uint8]},
	ops.LogicalXor: {xorTruthLoop[float32], xorTruthLoop[float64], xorTruthLoop[int32], xorTruthLoop[int64], xorTruthLoop[uint8]},
}

// HasLoop reports whether a typed loop computes an operation on operands of a type.
func HasLoop(op ops.Op, of ops.DType) bool {
	l, t := &BinaryLoops[op], &Comparisons[op]
	u, p := &UnaryLoops[op], &unaryTests[op]
	switch of {
	case ops.F32:
		return l.F32 != nil || t.F32 != nil || u.F32 != nil || p.f32 != nil
	case ops.F64:
		return l.F64 != nil || t.F64 != nil || u.F64 != nil || p.f64 != nil
	case ops.S32:
		return l.s32 != nil || t.s32 != nil || u.s32 != nil || p.s32 != nil
	case ops.S64:
		return l.s64 != nil || t.s64 != nil || u.s64 != nil || p.s64 != nil
	case ops.U8:
		return l.u8 != nil || t.u8 != nil
	}
	return false
}

// runBinary computes an instruction by a typed loop and reports whether it has one.
func runBinary(in *dense.Call, args []dense.Value, out *dense.Value) bool {
	if len(args) != 2 || args[0].Type.DType != args[1].Type.DType {
		return false
	}
	l, t := &BinaryLoops[in.Op], &Comparisons[in.Op]
	same := out.Type.DType == args[0].Type.DType
	switch args[0].Type.DType {
	case ops.F32:
		return runTyped(in.Worker, same, l.F32, args, out) || runTyped(in.Worker, true, t.F32, args, out)
	case ops.F64:
		return runTyped(in.Worker, same, l.F64, args, out) || runTyped(in.Worker, true, t.F64, args, out)
	case ops.S32:
		return runTyped(in.Worker, same, l.s32, args, out) || runTyped(in.Worker, true, t.s32, args, out)
	case ops.S64:
		return runTyped(in.Worker, same, l.s64, args, out) || runTyped(in.Worker, true, t.s64, args, out)
	case ops.U8:
		return runTyped(in.Worker, same, l.u8, args, out) || runTyped(in.Worker, true, t.u8, args, out)
	}
	return false
}

// BinaryJob is a typed loop with the plan and the elements of one instruction.
type BinaryJob[T, R any] struct {
	Plan *dense.Plan
	Loop func(dst []R, x, y []T)
	Dst  []R
	X, Y []T
}

// runTyped runs a loop. It reports false where there is none or it does not apply.
func runTyped[T, R any](w *sched.Worker, applies bool, loop func(dst []R, x, y []T), args []dense.Value, out *dense.Value) bool {
	if !applies || loop == nil {
		return false
	}
	dst, x, y := dense.View[R](out.Data), dense.View[T](args[0].Data), dense.View[T](args[1].Data)
	if len(dst) < dense.Chunk && len(x) == len(dst) && len(y) == len(dst) {
		loop(dst, x, y)
		return true
	}
	j := BinaryJob[T, R]{Loop: loop, Dst: dst, X: x, Y: y}
	s := dense.ScratchPool.Get().(*dense.Scratch)
	defer dense.ScratchPool.Put(s)
	s.Plan.Broadcast(out.Type.Shape, args)
	j.Plan = &s.Plan
	if len(dst) < dense.ParallelMin {
		j.Run(s, 0, len(dst))
		return true
	}
	shared := j
	dense.Parallel(w, len(dst), 1, func(lo, hi int) {
		own := dense.ScratchPool.Get().(*dense.Scratch)
		shared.Run(own, lo, hi)
		dense.ScratchPool.Put(own)
	})
	return true
}

// Run computes elements lo to hi. A broadcast operand is copied to a buffer, so
// that loops have dense operands.
func (j *BinaryJob[T, R]) Run(s *dense.Scratch, lo, hi int) {
	b := dense.Buffers[T](s)
	c := &s.Cur
	c.Seek(j.Plan, lo)
	step := &j.Plan.Steps[0]
	limit := hi - lo
	if step[0] == 0 || step[1] == 0 {
		limit = dense.Chunk
	}
	for lo < hi {
		n := c.Ahead(min(limit, hi-lo))
		x, y := spread(b[0], j.X, c.At[0], step[0], n), spread(b[1], j.Y, c.At[1], step[1], n)
		j.Loop(j.Dst[lo:lo+n], x, y)
		c.Advance(n)
		lo += n
	}
}

// spread returns n elements of src from at on, repeated where the step is 0.
func spread[T any](buf, src []T, at, step, n int) []T {
	if step == 1 {
		return src[at : at+n]
	}
	x := src[at]
	for i := range buf[:n] {
		buf[i] = x
	}
	return buf[:n]
}
