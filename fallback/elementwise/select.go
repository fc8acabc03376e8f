package elementwise

import (
	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
	"nxvk/ops"
)

// SelectKernels are the pointwise operations that compute in no class.
var SelectKernels = map[ops.Op]dense.Kernel{
	ops.Select: selectOp,
	ops.AsType: asType,
}

func asType(in *dense.Call, args, outs []dense.Value) error {
	dense.Convert(in.Worker, outs[0], args[0])
	return nil
}

// selectOp chooses whole elements and computes in no class: it converts the branches to the
// type of the result first.
func selectOp(in *dense.Call, args, outs []dense.Value) error {
	on, off, out := dense.As(in.Worker, args[1], outs[0].Type.DType), dense.As(in.Worker, args[2], outs[0].Type.DType), &outs[0]
	pred := truths(in.Worker, args[0])
	switch out.Type.DType.Size() {
	case 1:
		selectElements[uint8](in.Worker, out, pred, on, off)
	case 2:
		selectElements[uint16](in.Worker, out, pred, on, off)
	case 4:
		selectElements[uint32](in.Worker, out, pred, on, off)
	case 8:
		selectElements[uint64](in.Worker, out, pred, on, off)
	default:
		selectElements[complex128](in.Worker, out, pred, on, off)
	}
	return nil
}

// truths returns bytes that are 0 where an element is 0.
func truths(w *sched.Worker, v dense.Value) dense.Value {
	if d := v.Type.DType; d == ops.U8 {
		return v
	}
	out := dense.New(ops.Type{DType: ops.U8, Shape: v.Type.Shape})
	not := ops.Instr{Op: ops.NotEqual, Outs: []ops.Result{{Type: out.Type}}}
	zero := dense.New(ops.Type{DType: v.Type.DType})
	if err := Pointwise(&dense.Call{Instr: &not, Worker: w}, []dense.Value{v, zero}, []dense.Value{out}); err != nil {
		panic("BUG: " + err.Error())
	}
	return out
}

func selectElements[T any](w *sched.Worker, out *dense.Value, pred, on, off dense.Value) {
	s := dense.ScratchPool.Get().(*dense.Scratch)
	defer dense.ScratchPool.Put(s)
	args := [dense.MaxOperands]dense.Value{pred, on, off}
	s.Plan.Broadcast(out.Type.Shape, args[:])
	dst, p, x, y := dense.View[T](out.Data), pred.Data, dense.View[T](on.Data), dense.View[T](off.Data)
	if s.Plan.N < dense.ParallelMin {
		selectRange(&s.Plan, &s.Cur, dst, p, x, y, 0, s.Plan.N)
		return
	}
	plan := &s.Plan
	dense.Parallel(w, plan.N, 1, func(lo, hi int) {
		selectRange(plan, new(dense.Cursor), dst, p, x, y, lo, hi)
	})
}

func selectRange[T any](plan *dense.Plan, c *dense.Cursor, dst []T, p []byte, x, y []T, lo, hi int) {
	c.Seek(plan, lo)
	step := plan.Steps[0]
	for lo < hi {
		n := c.Ahead(hi - lo)
		a, b, d := c.At[0], c.At[1], c.At[2]
		for i := lo; i < lo+n; i++ {
			if p[a] != 0 {
				dst[i] = x[b]
			} else {
				dst[i] = y[d]
			}
			a, b, d = a+step[0], b+step[1], d+step[2]
		}
		c.Advance(n)
		lo += n
	}
}
