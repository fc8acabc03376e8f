package fallback

import (
	"nxvk/fallback/sched"
	"nxvk/ops"
)

// Binary operations whose operands have one type that is also the result's, or
// that compare, skip conversion: each has a loop over stored elements. Rounding
// a float32 sum, product or quotient once is what float64 and a conversion
// give, so results are the same bits.

// loops are one operation over the types that programs use most.
type loops struct {
	f32 func(dst, x, y []float32)
	f64 func(dst, x, y []float64)
	s32 func(dst, x, y []int32)
	s64 func(dst, x, y []int64)
	u8  func(dst, x, y []uint8)
}

// tests are one comparison over the same types.
type tests struct {
	f32 func(dst []uint8, x, y []float32)
	f64 func(dst []uint8, x, y []float64)
	s32 func(dst []uint8, x, y []int32)
	s64 func(dst []uint8, x, y []int64)
	u8  func(dst []uint8, x, y []uint8)
}

var fastLoops = [ops.Count]loops{
	ops.Add:       {addLoop[float32], addLoop[float64], addLoop[int32], addLoop[int64], addLoop[uint8]},
	ops.Subtract:  {subLoop[float32], subLoop[float64], subLoop[int32], subLoop[int64], subLoop[uint8]},
	ops.Multiply:  {mulLoop[float32], mulLoop[float64], mulLoop[int32], mulLoop[int64], mulLoop[uint8]},
	ops.Divide:    {f32: divLoop[float32], f64: divLoop[float64]},
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

var fastTests = [ops.Count]tests{
	ops.Equal:        {eqLoop[float32], eqLoop[float64], eqLoop[int32], eqLoop[int64], eqLoop[uint8]},
	ops.NotEqual:     {neLoop[float32], neLoop[float64], neLoop[int32], neLoop[int64], neLoop[uint8]},
	ops.Greater:      {gtLoop[float32], gtLoop[float64], gtLoop[int32], gtLoop[int64], gtLoop[uint8]},
	ops.Less:         {ltLoop[float32], ltLoop[float64], ltLoop[int32], ltLoop[int64], ltLoop[uint8]},
	ops.GreaterEqual: {geLoop[float32], geLoop[float64], geLoop[int32], geLoop[int64], geLoop[uint8]},
	ops.LessEqual:    {leLoop[float32], leLoop[float64], leLoop[int32], leLoop[int64], leLoop[uint8]},

	ops.LogicalAnd: {bothLoop[float32], bothLoop[float64], bothLoop[int32], bothLoop[int64], bothLoop[uint8]},
	ops.LogicalOr:  {eitherLoop[float32], eitherLoop[float64], eitherLoop[int32], eitherLoop[int64], eitherLoop[uint8]},
	ops.LogicalXor: {oneLoop[float32], oneLoop[float64], oneLoop[int32], oneLoop[int64], oneLoop[uint8]},
}

// fast computes an instruction by a typed loop and reports whether it has one.
func fast(in *call, args []Value, out *Value) bool {
	if len(args) != 2 || args[0].Type.DType != args[1].Type.DType {
		return false
	}
	l, t := &fastLoops[in.Op], &fastTests[in.Op]
	same := out.Type.DType == args[0].Type.DType
	switch args[0].Type.DType {
	case ops.F32:
		return typed(in.w, same, l.f32, args, out) || typed(in.w, true, t.f32, args, out)
	case ops.F64:
		return typed(in.w, same, l.f64, args, out) || typed(in.w, true, t.f64, args, out)
	case ops.S32:
		return typed(in.w, same, l.s32, args, out) || typed(in.w, true, t.s32, args, out)
	case ops.S64:
		return typed(in.w, same, l.s64, args, out) || typed(in.w, true, t.s64, args, out)
	case ops.U8:
		return typed(in.w, same, l.u8, args, out) || typed(in.w, true, t.u8, args, out)
	}
	return false
}

// fastJob is a typed loop over a plan.
type fastJob[T, R any] struct {
	plan *plan
	loop func(dst []R, x, y []T)
	dst  []R
	x, y []T
}

// typed runs a loop where there is one and it applies.
func typed[T, R any](w *sched.Worker, applies bool, loop func(dst []R, x, y []T), args []Value, out *Value) bool {
	if !applies || loop == nil {
		return false
	}
	dst, x, y := view[R](out.Data), view[T](args[0].Data), view[T](args[1].Data)
	if len(dst) < chunk && len(x) == len(dst) && len(y) == len(dst) {
		loop(dst, x, y)
		return true
	}
	j := fastJob[T, R]{loop: loop, dst: dst, x: x, y: y}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.plan.broadcast(out.Type.Shape, args)
	j.plan = &s.plan
	if len(dst) < parallelMin {
		j.run(s, 0, len(dst))
		return true
	}
	shared := j
	parallel(w, len(dst), 1, func(lo, hi int) {
		own := scratches.Get().(*scratch)
		shared.run(own, lo, hi)
		scratches.Put(own)
	})
	return true
}

// run computes elements lo to hi. A stretched operand is spread over a buffer,
// so that loops only ever see dense operands.
func (j *fastJob[T, R]) run(s *scratch, lo, hi int) {
	b := bufs[T](s)
	c := &s.cur
	c.seek(j.plan, lo)
	step := &j.plan.steps[0]
	limit := hi - lo
	if step[0] == 0 || step[1] == 0 {
		limit = chunk
	}
	for lo < hi {
		n := c.run(min(limit, hi-lo))
		x, y := spread(b[0], j.x, c.at[0], step[0], n), spread(b[1], j.y, c.at[1], step[1], n)
		j.loop(j.dst[lo:lo+n], x, y)
		c.advance(n)
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
