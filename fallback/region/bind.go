package region

import (
	"fmt"

	"nxvk/fallback/dense"
	"nxvk/fallback/elementwise"
	"nxvk/fallback/movement"
	"nxvk/ops"
)

// viewOfOperand returns the result of an instruction as a view of its operand's memory. It
// reports false where elements move.
func viewOfOperand(in *ops.Instr, args []dense.Value) (v dense.Value, ok bool) {
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
	return dense.Value{Type: in.Outs[0].Type, Data: args[0].Data}, true
}

// partOf returns the view of a slice. It reports false unless the elements follow each other.
func partOf(in *ops.Instr, args []dense.Value) (v dense.Value, ok bool) {
	if len(args) > 1 {
		return v, false // its place is computed
	}
	shape, lengths := args[0].Type.Shape, in.Attrs[1]
	at, whole := 0, true
	steps, begin := shape.Strides(), movement.Starts(in.Attrs[0], nil, shape, lengths)
	for i := len(shape) - 1; i >= 0; i-- {
		if (in.Attrs[2][i] != 1 || !whole) && lengths[i] != 1 {
			return v, false
		}
		whole = whole && lengths[i] == shape[i]
		at += begin[i] * steps[i]
	}
	width := args[0].Type.DType.Size()
	return dense.Value{Type: in.Outs[0].Type, Data: args[0].Data[at*width : at*width+in.Outs[0].Type.Bytes()]}, true
}

// bind returns the step of an instruction on fixed memory. It looks up once what Run looks up
// at each call, which costs more than to compute a few elements.
func (p *binder) bind(in *ops.Instr, args, outs []dense.Value) func() error {
	k := dense.Lookup(in.Op)
	switch {
	case k == nil:
		return func() error { return fmt.Errorf("%v: %w", in.Op, dense.ErrUnsupported) }
	case in.Op.Info().Kind == ops.Pointwise && outs[0].Type.Size() < dense.Chunk:
		if run := p.bindPointwise(in, args, &outs[0]); run != nil {
			return run
		}
	}
	e, c := p.e, &dense.Call{Instr: in}
	return func() error {
		if err := e.check(); err != nil {
			return err
		}
		c.Worker = e.pace.Worker
		return k(c, args, outs)
	}
}

// bindPointwise returns the step of a pointwise operation of few floats, and nil for others.
// It uses the loops of elementwise.Pointwise, so the bits are the same.
func (p *binder) bindPointwise(in *ops.Instr, args []dense.Value, out *dense.Value) func() error {
	if elementwise.ClassOf(&dense.Call{Instr: in}, args) != ops.Float {
		return nil
	}
	d := args[0].Type.DType
	switch {
	case len(args) == 1 && d == ops.F64 && out.Type.DType == d:
		if run := bindOne(elementwise.UnaryLoops[in.Op].F64, args, out); run != nil {
			return run
		}
	case len(args) == 1 && d == ops.F32 && out.Type.DType == d:
		if run := bindOne(elementwise.UnaryLoops[in.Op].F32, args, out); run != nil {
			return run
		}
	case len(args) == 2 && d == ops.F64 && args[1].Type.DType == d:
		if run := bindTwo(p, out.Type.DType == d, elementwise.BinaryLoops[in.Op].F64, elementwise.Comparisons[in.Op].F64, args, out); run != nil {
			return run
		}
	case len(args) == 2 && d == ops.F32 && args[1].Type.DType == d:
		if run := bindTwo(p, out.Type.DType == d, elementwise.BinaryLoops[in.Op].F32, elementwise.Comparisons[in.Op].F32, args, out); run != nil {
			return run
		}
	}
	return p.bindFloats(in, args, out)
}

func bindOne[T float32 | float64](loop func(dst, x []T), args []dense.Value, out *dense.Value) func() error {
	if loop == nil {
		return nil
	}
	dst, x := dense.View[T](out.Data), dense.View[T](args[0].Data)
	return func() error {
		loop(dst, x)
		return nil
	}
}

// bindTwo binds the typed loop of an operation, or that of a comparison.
func bindTwo[T float32 | float64](p *binder, same bool, loop func(dst, x, y []T), test func(dst []uint8, x, y []T), args []dense.Value, out *dense.Value) func() error {
	switch {
	case same && loop != nil:
		return bindLoop(p, loop, args, out)
	case test != nil && out.Type.DType == ops.U8:
		return bindLoop(p, test, args, out)
	}
	return nil
}

func bindLoop[T, R any](p *binder, loop func(dst []R, x, y []T), args []dense.Value, out *dense.Value) func() error {
	dst, x, y := dense.View[R](out.Data), dense.View[T](args[0].Data), dense.View[T](args[1].Data)
	if len(x) == len(dst) && len(y) == len(dst) {
		return func() error {
			loop(dst, x, y)
			return nil
		}
	}
	j, s := &elementwise.BinaryJob[T, R]{Plan: new(dense.Plan), Loop: loop, Dst: dst, X: x, Y: y}, p.scratch
	j.Plan.Broadcast(out.Type.Shape, args)
	return func() error {
		j.Run(s, 0, len(dst))
		return nil
	}
}

// bindFloats binds the function of an element in float64.
func (p *binder) bindFloats(in *ops.Instr, args []dense.Value, out *dense.Value) func() error {
	fn := &elementwise.FloatScalars[in.Op]
	if !fn.Exists() {
		return nil
	}
	j := &elementwise.Job[float64]{Plan: new(dense.Plan), Fn: fn, Arity: len(args), Store: dense.StoreAs[float64](out.Type.DType), Dst: out.Data}
	for k := range args {
		j.Loads[k], j.Srcs[k] = dense.LoadAs[float64](args[k].Type.DType), args[k].Data
	}
	j.Plan.Broadcast(out.Type.Shape, args)
	n, s := out.Type.Size(), p.scratch
	return func() error {
		j.Run(s, 0, n)
		return nil
	}
}
