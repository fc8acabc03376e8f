package fallback

import (
	"fmt"

	"nxvk/fallback/sched"
	"nxvk/ops"
)

var orderKernels = map[ops.Op]kernel{
	ops.Sort:    func(in *call, args, outs []Value) error { return byClass(in, args, outs, sortOf) },
	ops.Argsort: func(in *call, args, outs []Value) error { return byClass(in, args, outs, argsortOf) },
	ops.TopK:    func(in *call, args, outs []Value) error { return byClass(in, args, outs, topKOf) },

	ops.CumulativeSum:     accumulate,
	ops.CumulativeProduct: accumulate,
	ops.CumulativeMin:     accumulate,
	ops.CumulativeMax:     accumulate,
}

// ordering is an operation in the classes that have an order.
type ordering struct {
	float    func(in *call, args, outs []Value)
	signed   func(in *call, args, outs []Value)
	unsigned func(in *call, args, outs []Value)
}

var (
	sortOf    = ordering{sortIn[float64], sortIn[int64], sortIn[uint64]}
	argsortOf = ordering{argsortIn[float64], argsortIn[int64], argsortIn[uint64]}
	topKOf    = ordering{topKIn[float64], topKIn[int64], topKIn[uint64]}
)

// byClass computes in the class of the operand.
func byClass(in *call, args, outs []Value, o ordering) error {
	switch args[0].Type.DType.Class() {
	case ops.Float:
		o.float(in, args, outs)
	case ops.Signed:
		o.signed(in, args, outs)
	case ops.Unsigned:
		o.unsigned(in, args, outs)
	default:
		return fmt.Errorf("%v of %v: %w", in.Op, args[0].Type.DType, ErrComplex)
	}
	return nil
}

// lineCost is what a line counts for, beside its elements.
const lineCost = 64

// line is one run of elements along an axis.
type line struct{ at, step, n int }

// eachLine calls f for all runs along an axis, on all cores.
func eachLine(w *sched.Worker, shape ops.Shape, axis int, f func(w *sched.Worker, l line)) {
	if len(shape) == 0 {
		f(w, line{at: 0, step: 1, n: 1})
		return
	}
	step := shape.Strides()[axis]
	n := shape[axis]
	parallelOn(w, shape.Size()/n, lineCost+n, func(w *sched.Worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			f(w, line{at: i/step*step*n + i%step, step: step, n: n})
		}
	})
}

func sortIn[C realClass](in *call, args, outs []Value) {
	load, d := loadAs[C](args[0].Type.DType), args[0].Type.DType
	store := storeAs[C](d)
	eachLine(in.w, args[0].Type.Shape, in.Attrs[0][0], func(w *sched.Worker, l line) {
		xs, order := make([]C, l.n), make([]C, l.n)
		loadLine(w, load, xs, args[0].Data, l)
		ranks(w, xs, in.Attrs[1][0] != 0, func(items []ranked) {
			parallel(w, len(items), 4, func(lo, hi int) {
				for i, x := range items[lo:hi] {
					order[lo+i] = xs[x.at]
				}
			})
		})
		scatterLine(w, store, outs[0].Data, l, order)
	})
}

// loadLine loads the elements of a line.
func loadLine[C class](w *sched.Worker, load loader[C], xs []C, src []byte, l line) {
	parallel(w, len(xs), 2, func(lo, hi int) { load(xs[lo:hi], src, l.at+lo*l.step, l.step) })
}

// scatterLine stores the elements of a line.
func scatterLine[C class](w *sched.Worker, store storer[C], dst []byte, l line, xs []C) {
	parallel(w, len(xs), 2, func(lo, hi int) {
		if l.step == 1 {
			store(dst, l.at+lo, xs[lo:hi])
			return
		}
		for i := lo; i < hi; i++ {
			store(dst, l.at+i*l.step, xs[i:i+1])
		}
	})
}

func argsortIn[C realClass](in *call, args, outs []Value) {
	load, store := loadAs[C](args[0].Type.DType), storeInt[outs[0].Type.DType]
	eachLine(in.w, args[0].Type.Shape, in.Attrs[0][0], func(w *sched.Worker, l line) {
		xs, order := make([]C, l.n), make([]int64, l.n)
		loadLine(w, load, xs, args[0].Data, l)
		ranks(w, xs, in.Attrs[1][0] != 0, func(items []ranked) {
			parallel(w, len(items), 1, func(lo, hi int) {
				for i, x := range items[lo:hi] {
					order[lo+i] = int64(x.at)
				}
			})
		})
		scatterLine(w, store, outs[0].Data, l, order)
	})
}

func topKIn[C realClass](in *call, args, outs []Value) {
	k, shape := in.Attrs[0][0], args[0].Type.Shape
	load, store := loadAs[C](args[0].Type.DType), storeAs[C](outs[0].Type.DType)
	storeIndex := storeInt[outs[1].Type.DType]
	eachLine(in.w, shape, len(shape)-1, func(w *sched.Worker, l line) {
		xs, top, order := make([]C, l.n), make([]C, k), make([]int64, k)
		loadLine(w, load, xs, args[0].Data, l)
		ranks(w, xs, true, func(items []ranked) {
			parallel(w, k, 4, func(lo, hi int) {
				for i, x := range items[lo:hi] {
					top[lo+i], order[lo+i] = xs[x.at], int64(x.at)
				}
			})
		})
		to := line{at: l.at / l.n * k, step: 1, n: k}
		scatterLine(w, store, outs[0].Data, to, top)
		scatterLine(w, storeIndex, outs[1].Data, to, order)
	})
}

func accumulate(in *call, args, outs []Value) error {
	switch args[0].Type.DType.Class() {
	case ops.Float:
		return accumulateIn(in, &floatScalars, args, outs)
	case ops.Signed:
		return accumulateIn(in, &intScalars, args, outs)
	case ops.Unsigned:
		return accumulateIn(in, &uintScalars, args, outs)
	}
	return accumulateIn(in, &complexScalars, args, outs)
}

// running is the operator of each running reduction.
var running = [ops.Count]ops.Op{
	ops.CumulativeSum: ops.Add, ops.CumulativeProduct: ops.Multiply,
	ops.CumulativeMin: ops.Min, ops.CumulativeMax: ops.Max,
}

func accumulateIn[C class](in *call, table *scalars[C], args, outs []Value) error {
	join := table[running[in.Op]].two
	if join == nil {
		return fmt.Errorf("%v of %v: %w", in.Op, args[0].Type.DType, noClass[C]())
	}
	d := args[0].Type.DType
	load, store := loadAs[C](d), storeAs[C](d)
	eachLine(in.w, args[0].Type.Shape, in.Attrs[0][0], func(w *sched.Worker, l line) {
		xs := make([]C, l.n)
		loadLine(w, load, xs, args[0].Data, l)
		p := pace{w: w}
		if in.Attrs[1][0] != 0 {
			for i := l.n - 2; i >= 0; i-- {
				p.step(2)
				xs[i] = join(xs[i+1], xs[i])
			}
		} else {
			for i := 1; i < l.n; i++ {
				p.step(2)
				xs[i] = join(xs[i-1], xs[i])
			}
		}
		scatterLine(w, store, outs[0].Data, l, xs)
	})
	return nil
}
