package reduction

import (
	"fmt"

	"nxvk/fallback/dense"
	"nxvk/fallback/elementwise"
	"nxvk/fallback/sched"
	"nxvk/ops"
)

var OrderKernels = map[ops.Op]dense.Kernel{
	ops.Sort:    func(in *dense.Call, args, outs []dense.Value) error { return byClass(in, args, outs, sortOf) },
	ops.Argsort: func(in *dense.Call, args, outs []dense.Value) error { return byClass(in, args, outs, argsortOf) },
	ops.TopK:    func(in *dense.Call, args, outs []dense.Value) error { return byClass(in, args, outs, topKOf) },

	ops.CumulativeSum:     accumulate,
	ops.CumulativeProduct: accumulate,
	ops.CumulativeMin:     accumulate,
	ops.CumulativeMax:     accumulate,
}

// ordering has the functions of an operation for the classes that have an order.
type ordering struct {
	float    func(in *dense.Call, args, outs []dense.Value)
	signed   func(in *dense.Call, args, outs []dense.Value)
	unsigned func(in *dense.Call, args, outs []dense.Value)
}

var (
	sortOf    = ordering{sortIn[float64], sortIn[int64], sortIn[uint64]}
	argsortOf = ordering{argsortIn[float64], argsortIn[int64], argsortIn[uint64]}
	topKOf    = ordering{topKIn[float64], topKIn[int64], topKIn[uint64]}
)

// byClass calls the function of the operand's class.
func byClass(in *dense.Call, args, outs []dense.Value, o ordering) error {
	switch args[0].Type.DType.Class() {
	case ops.Float:
		o.float(in, args, outs)
	case ops.Signed:
		o.signed(in, args, outs)
	case ops.Unsigned:
		o.unsigned(in, args, outs)
	default:
		return fmt.Errorf("%v of %v: %w", in.Op, args[0].Type.DType, dense.ErrComplex)
	}
	return nil
}

func sortIn[C dense.RealClass](in *dense.Call, args, outs []dense.Value) {
	load, d := dense.LoadAs[C](args[0].Type.DType), args[0].Type.DType
	store := dense.StoreAs[C](d)
	dense.EachLine(in.Worker, args[0].Type.Shape, in.Attrs[0][0], func(w *sched.Worker) func(l dense.Line) {
		var xs, order []C
		return func(l dense.Line) {
			xs, order = dense.Resize(xs, l.N), dense.Resize(order, l.N)
			dense.LoadLine(w, load, xs, args[0].Data, l)
			s := sortLine(w, xs, in.Attrs[1][0] != 0, l.N)
			defer s.end()
			eachItem(w, s.items, func(i, at int) { order[i] = xs[at] })
			dense.ScatterLine(w, store, outs[0].Data, l, order)
		}
	})
}

func argsortIn[C dense.RealClass](in *dense.Call, args, outs []dense.Value) {
	load, store := dense.LoadAs[C](args[0].Type.DType), dense.StoreInt[outs[0].Type.DType]
	dense.EachLine(in.Worker, args[0].Type.Shape, in.Attrs[0][0], func(w *sched.Worker) func(l dense.Line) {
		var xs []C
		var order []int64
		return func(l dense.Line) {
			xs, order = dense.Resize(xs, l.N), dense.Resize(order, l.N)
			dense.LoadLine(w, load, xs, args[0].Data, l)
			s := sortLine(w, xs, in.Attrs[1][0] != 0, l.N)
			defer s.end()
			eachItem(w, s.items, func(i, at int) { order[i] = int64(at) })
			dense.ScatterLine(w, store, outs[0].Data, l, order)
		}
	})
}

func topKIn[C dense.RealClass](in *dense.Call, args, outs []dense.Value) {
	k, shape := in.Attrs[0][0], args[0].Type.Shape
	load, store := dense.LoadAs[C](args[0].Type.DType), dense.StoreAs[C](outs[0].Type.DType)
	storeIndex := dense.StoreInt[outs[1].Type.DType]
	dense.EachLine(in.Worker, shape, len(shape)-1, func(w *sched.Worker) func(l dense.Line) {
		var xs, top []C
		var order []int64
		return func(l dense.Line) {
			xs, top, order = dense.Resize(xs, l.N), dense.Resize(top, k), dense.Resize(order, k)
			dense.LoadLine(w, load, xs, args[0].Data, l)
			s := sortLine(w, xs, true, k)
			defer s.end()
			eachItem(w, s.items[:k], func(i, at int) { top[i], order[i] = xs[at], int64(at) })
			to := dense.Line{At: l.At / l.N * k, Step: 1, N: k}
			dense.ScatterLine(w, store, outs[0].Data, to, top)
			dense.ScatterLine(w, storeIndex, outs[1].Data, to, order)
		}
	})
}

func accumulate(in *dense.Call, args, outs []dense.Value) error {
	switch args[0].Type.DType.Class() {
	case ops.Float:
		return accumulateIn(in, &elementwise.FloatScalars, args, outs)
	case ops.Signed:
		return accumulateIn(in, &elementwise.IntScalars, args, outs)
	case ops.Unsigned:
		return accumulateIn(in, &elementwise.UintScalars, args, outs)
	}
	return accumulateIn(in, &elementwise.ComplexScalars, args, outs)
}

// scanOperators has the operator of each cumulative operation.
var scanOperators = [ops.Count]ops.Op{
	ops.CumulativeSum: ops.Add, ops.CumulativeProduct: ops.Multiply,
	ops.CumulativeMin: ops.Min, ops.CumulativeMax: ops.Max,
}

func accumulateIn[C dense.Class](in *dense.Call, table *elementwise.Scalars[C], args, outs []dense.Value) error {
	join := table[scanOperators[in.Op]].Two
	if join == nil {
		return fmt.Errorf("%v of %v: %w", in.Op, args[0].Type.DType, elementwise.NoClass[C]())
	}
	d := args[0].Type.DType
	load, store := dense.LoadAs[C](d), dense.StoreAs[C](d)
	dense.EachLine(in.Worker, args[0].Type.Shape, in.Attrs[0][0], func(w *sched.Worker) func(l dense.Line) {
		var xs []C
		p := dense.Pacer{Worker: w}
		return func(l dense.Line) {
			xs = dense.Resize(xs, l.N)
			dense.LoadLine(w, load, xs, args[0].Data, l)
			if in.Attrs[1][0] != 0 {
				for i := l.N - 2; i >= 0; i-- {
					p.Step(2)
					xs[i] = join(xs[i+1], xs[i])
				}
			} else {
				for i := 1; i < l.N; i++ {
					p.Step(2)
					xs[i] = join(xs[i-1], xs[i])
				}
			}
			dense.ScatterLine(w, store, outs[0].Data, l, xs)
		}
	})
	return nil
}
