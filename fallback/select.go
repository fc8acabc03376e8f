package fallback

import (
	"nxvk/fallback/sched"
	"nxvk/ops"
)

// elementKernels are the pointwise operations that compute in no class.
var elementKernels = map[ops.Op]kernel{
	ops.Select: selectOp,
	ops.AsType: asType,
}

// selectOp chooses whole elements, so it computes in no class: the branches
// are brought to the type of the result first.
func selectOp(in *call, args, outs []Value) error {
	on, off, out := asDType(in.w, args[1], outs[0].Type.DType), asDType(in.w, args[2], outs[0].Type.DType), &outs[0]
	pred := truths(in.w, args[0])
	switch out.Type.DType.Size() {
	case 1:
		choose[uint8](in.w, out, pred, on, off)
	case 2:
		choose[uint16](in.w, out, pred, on, off)
	case 4:
		choose[uint32](in.w, out, pred, on, off)
	case 8:
		choose[uint64](in.w, out, pred, on, off)
	default:
		choose[complex128](in.w, out, pred, on, off)
	}
	return nil
}

// truths is a value as bytes that are 0 where an element is.
func truths(w *sched.Worker, v Value) Value {
	if d := v.Type.DType; d == ops.U8 {
		return v
	}
	out := newValue(ops.Type{DType: ops.U8, Shape: v.Type.Shape})
	not := ops.Instr{Op: ops.NotEqual, Outs: []ops.Result{{Type: out.Type}}}
	zero := newValue(ops.Type{DType: v.Type.DType})
	if err := pointwise(&call{&not, w}, []Value{v, zero}, []Value{out}); err != nil {
		panic("BUG: " + err.Error())
	}
	return out
}

func choose[T any](w *sched.Worker, out *Value, pred, on, off Value) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	args := [maxOperands]Value{pred, on, off}
	s.plan.broadcast(out.Type.Shape, args[:])
	dst, p, x, y := view[T](out.Data), pred.Data, view[T](on.Data), view[T](off.Data)
	if s.plan.n < parallelMin {
		chooseRange(&s.plan, &s.cur, dst, p, x, y, 0, s.plan.n)
		return
	}
	plan := &s.plan
	parallel(w, plan.n, 1, func(lo, hi int) {
		chooseRange(plan, new(cursor), dst, p, x, y, lo, hi)
	})
}

func chooseRange[T any](plan *plan, c *cursor, dst []T, p []byte, x, y []T, lo, hi int) {
	c.seek(plan, lo)
	step := plan.steps[0]
	for lo < hi {
		n := c.run(hi - lo)
		a, b, d := c.at[0], c.at[1], c.at[2]
		for i := lo; i < lo+n; i++ {
			if p[a] != 0 {
				dst[i] = x[b]
			} else {
				dst[i] = y[d]
			}
			a, b, d = a+step[0], b+step[1], d+step[2]
		}
		c.advance(n)
		lo += n
	}
}
