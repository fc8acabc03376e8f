package fallback

import (
	"fmt"

	"nxvk/ops"
)

// viewed is the result of an instruction that only gives elements of its operand
// another shape or leaves some at the ends out: the operand's memory.
func viewed(in *ops.Instr, args []Value) (v Value, ok bool) {
	switch in.Op {
	case ops.Reshape, ops.Squeeze:
		ok = true
	case ops.Slice:
		return partOf(in, args)
	case ops.Pad:
		ok = args[0].Type.DType == in.Outs[0].Type.DType
		for _, n := range in.Attrs[0] {
			ok = ok && n == 0
		}
	}
	if !ok {
		return v, false
	}
	return Value{Type: in.Outs[0].Type, Data: args[0].Data}, true
}

// partOf is a slice whose elements follow each other in the operand.
func partOf(in *ops.Instr, args []Value) (v Value, ok bool) {
	if len(args) > 1 {
		return v, false // its place is computed
	}
	shape, lengths := args[0].Type.Shape, in.Attrs[1]
	at, whole := 0, true
	steps, begin := shape.Strides(), starts(in.Attrs[0], nil, shape, lengths)
	for i := len(shape) - 1; i >= 0; i-- {
		if (in.Attrs[2][i] != 1 || !whole) && lengths[i] != 1 {
			return v, false
		}
		whole = whole && lengths[i] == shape[i]
		at += begin[i] * steps[i]
	}
	width := args[0].Type.DType.Size()
	return Value{Type: in.Outs[0].Type, Data: args[0].Data[at*width : at*width+in.Outs[0].Type.Bytes()]}, true
}

// bind settles how an instruction is computed between fixed memory. What Run finds out
// at each call costs more than a few elements do.
func (p *preparer) bind(in *ops.Instr, args, outs []Value) func() error {
	k := kernels[in.Op]
	switch {
	case k == nil:
		return func() error { return fmt.Errorf("%v: %w", in.Op, ErrUnsupported) }
	case in.Op.Info().Kind == ops.Pointwise && outs[0].Type.Size() < chunk:
		if run := p.pointwise(in, args, &outs[0]); run != nil {
			return run
		}
	}
	e, c := p.e, &call{Instr: in}
	return func() error {
		if err := e.check(); err != nil {
			return err
		}
		c.w = e.pace.w
		return k(c, args, outs)
	}
}

// pointwise is a pointwise operation of few floats, nil for others. It computes with
// the loops that the function pointwise takes, so the bits are the same.
func (p *preparer) pointwise(in *ops.Instr, args []Value, out *Value) func() error {
	if classOf(&call{Instr: in}, args) != ops.Float {
		return nil
	}
	d := args[0].Type.DType
	switch {
	case len(args) == 1 && d == ops.F64 && out.Type.DType == d:
		if run := bindOne(fastUnary[in.Op].f64, args, out); run != nil {
			return run
		}
	case len(args) == 1 && d == ops.F32 && out.Type.DType == d:
		if run := bindOne(fastUnary[in.Op].f32, args, out); run != nil {
			return run
		}
	case len(args) == 2 && d == ops.F64 && args[1].Type.DType == d:
		if run := bindTwo(p, out.Type.DType == d, fastLoops[in.Op].f64, fastTests[in.Op].f64, args, out); run != nil {
			return run
		}
	case len(args) == 2 && d == ops.F32 && args[1].Type.DType == d:
		if run := bindTwo(p, out.Type.DType == d, fastLoops[in.Op].f32, fastTests[in.Op].f32, args, out); run != nil {
			return run
		}
	}
	return p.bindFloats(in, args, out)
}

func bindOne[T float32 | float64](loop func(dst, x []T), args []Value, out *Value) func() error {
	if loop == nil {
		return nil
	}
	dst, x := view[T](out.Data), view[T](args[0].Data)
	return func() error {
		loop(dst, x)
		return nil
	}
}

// bindTwo takes the loop of an operation, or that of a comparison.
func bindTwo[T float32 | float64](p *preparer, same bool, loop func(dst, x, y []T), test func(dst []uint8, x, y []T), args []Value, out *Value) func() error {
	switch {
	case same && loop != nil:
		return bindLoop(p, loop, args, out)
	case test != nil && out.Type.DType == ops.U8:
		return bindLoop(p, test, args, out)
	}
	return nil
}

func bindLoop[T, R any](p *preparer, loop func(dst []R, x, y []T), args []Value, out *Value) func() error {
	dst, x, y := view[R](out.Data), view[T](args[0].Data), view[T](args[1].Data)
	if len(x) == len(dst) && len(y) == len(dst) {
		return func() error {
			loop(dst, x, y)
			return nil
		}
	}
	j, s := &fastJob[T, R]{plan: new(plan), loop: loop, dst: dst, x: x, y: y}, p.scratch
	j.plan.broadcast(out.Type.Shape, args)
	return func() error {
		j.run(s, 0, len(dst))
		return nil
	}
}

// bindFloats computes element by element in float64.
func (p *preparer) bindFloats(in *ops.Instr, args []Value, out *Value) func() error {
	fn := &floatScalars[in.Op]
	if !fn.exists() {
		return nil
	}
	j := &job[float64]{plan: new(plan), fn: fn, arity: len(args), store: storeAs[float64](out.Type.DType), dst: out.Data}
	for k := range args {
		j.loads[k], j.srcs[k] = loadAs[float64](args[k].Type.DType), args[k].Data
	}
	j.plan.broadcast(out.Type.Shape, args)
	n, s := out.Type.Size(), p.scratch
	return func() error {
		j.run(s, 0, n)
		return nil
	}
}
