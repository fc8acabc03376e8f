package reduction

import (
	"fmt"
	"math"

	"nxvk/fallback/dense"
	"nxvk/fallback/elementwise"
	"nxvk/fallback/sched"
	"nxvk/ops"
)

var WindowKernels = map[ops.Op]dense.Kernel{
	ops.WindowSum: windowReduce, ops.WindowProduct: windowReduce,
	ops.WindowMax: windowReduce, ops.WindowMin: windowReduce,
	ops.WindowScatterMax: windowScatter, ops.WindowScatterMin: windowScatter,
}

// Windows walks windows over a tensor.
type Windows struct {
	Shape, Strides                    []int // of the tensor
	Window, Padding, Every, Dilations []int
	Out                               ops.Shape // how many windows there are
}

// Visit calls f for each place of window number i, in order: the flat index of
// an element, or -1 in the padding.
func (w *Windows) Visit(i int, f func(at int)) {
	first := make([]int, len(w.Shape))
	for k := len(first) - 1; k >= 0; k-- {
		first[k] = i%w.Out[k]*w.Every[k] - w.Padding[2*k]
		i /= w.Out[k]
	}
	w.along(0, 0, true, first, f)
}

func (w *Windows) along(k, at int, inside bool, first []int, f func(at int)) {
	if k == len(first) {
		if !inside {
			at = -1
		}
		f(at)
		return
	}
	for j := range w.Window[k] {
		p := first[k] + j*w.Dilations[k]
		w.along(k+1, at+p*w.Strides[k], inside && p >= 0 && p < w.Shape[k], first, f)
	}
}

func windowReduce(in *dense.Call, args, outs []dense.Value) error {
	d := args[0].Type.DType
	switch d.Class() {
	case ops.Float:
		return windowIn(in, &elementwise.FloatScalars, math.Inf(-1), math.Inf(1), args, outs)
	case ops.Signed:
		top := int64(1)<<(d.Bits()-1) - 1
		return windowIn(in, &elementwise.IntScalars, -top-1, top, args, outs)
	case ops.Unsigned:
		return windowIn(in, &elementwise.UintScalars, 0, uint64(math.MaxUint64)>>(64-d.Bits()), args, outs)
	}
	return windowIn(in, &elementwise.ComplexScalars, 0, 0, args, outs)
}

// windowOperators has the operator of each windowed reduction.
var windowOperators = [ops.Count]ops.Op{
	ops.WindowSum: ops.Add, ops.WindowProduct: ops.Multiply,
	ops.WindowMax: ops.Max, ops.WindowMin: ops.Min,
}

// windowIn reduces windows in a class. lowest and highest are the extremes of
// the element type: padding counts as one of them in a minimum or maximum.
func windowIn[C dense.Class](in *dense.Call, table *elementwise.Scalars[C], lowest, highest C, args, outs []dense.Value) error {
	op := windowOperators[in.Op]
	join := table[op].Two
	if join == nil {
		return fmt.Errorf("%v of %v: %w", in.Op, args[0].Type.DType, elementwise.NoClass[C]())
	}
	identity := map[ops.Op]C{ops.Add: 0, ops.Multiply: 1, ops.Max: lowest, ops.Min: highest}[op]
	w := Windows{Shape: args[0].Type.Shape, Strides: args[0].Type.Shape.Strides(), Out: outs[0].Type.Shape,
		Window: in.Attrs[0], Padding: in.Attrs[1], Every: in.Attrs[2], Dilations: in.Attrs[3]}
	xs, store := dense.LoadAll[C](in.Worker, args[0]), dense.StoreAs[C](outs[0].Type.DType)
	dense.ParallelOn(in.Worker, outs[0].Type.Size(), ops.Shape(w.Window).Size(), func(by *sched.Worker, lo, hi int) {
		acc, p := make([]C, 1), dense.Pacer{Worker: by}
		for i := lo; i < hi; i++ {
			acc[0] = identity
			w.Visit(i, func(at int) {
				x := identity
				if at >= 0 {
					x = xs[at]
				}
				acc[0] = join(x, acc[0])
				p.Step(1)
			})
			store(outs[0].Data, i, acc)
		}
	})
	return nil
}

// windowScatter finds the place of each window's extreme and adds the source element there.
func windowScatter(in *dense.Call, args, outs []dense.Value) error {
	ones := make([]int, len(args[0].Type.Shape))
	for i := range ones {
		ones[i] = 1
	}
	w := &Windows{Shape: args[0].Type.Shape, Strides: args[0].Type.Shape.Strides(), Out: args[1].Type.Shape,
		Window: in.Attrs[0], Padding: in.Attrs[1], Every: in.Attrs[2], Dilations: ones}
	var places []int
	switch args[0].Type.DType.Class() {
	case ops.Float:
		places = extremePlaces[float64](in.Worker, in.Op, w, args)
	case ops.Signed:
		places = extremePlaces[int64](in.Worker, in.Op, w, args)
	case ops.Unsigned:
		places = extremePlaces[uint64](in.Worker, in.Op, w, args)
	default:
		return fmt.Errorf("%v of %v: %w", in.Op, args[0].Type.DType, dense.ErrComplex)
	}
	switch outs[0].Type.DType.Class() {
	case ops.Float:
		addPlaces[float64](in.Worker, places, args, outs)
	case ops.Signed:
		addPlaces[int64](in.Worker, places, args, outs)
	case ops.Unsigned:
		addPlaces[uint64](in.Worker, places, args, outs)
	default:
		addPlaces[complex128](in.Worker, places, args, outs)
	}
	return nil
}

// extremePlaces returns the flat index of each window's extreme, the last of equal ones. It
// is -1 where the extreme is in the padding, which holds the initial value.
func extremePlaces[C dense.RealClass](by *sched.Worker, op ops.Op, w *Windows, args []dense.Value) []int {
	xs, initial := dense.LoadAll[C](by, args[0]), dense.LoadAll[C](by, args[2])[0]
	places := make([]int, w.Out.Size())
	dense.ParallelOn(by, len(places), ops.Shape(w.Window).Size(), func(by *sched.Worker, lo, hi int) {
		p := dense.Pacer{Worker: by}
		for i := lo; i < hi; i++ {
			var best C
			first := true
			w.Visit(i, func(at int) {
				x := initial
				if at >= 0 {
					x = xs[at]
				}
				if first || (op == ops.WindowScatterMax && x >= best) || (op == ops.WindowScatterMin && x <= best) {
					best, places[i], first = x, at, false
				}
				p.Step(1)
			})
		}
	})
	return places
}

// addPlaces adds each source element to its place of a tensor that holds the
// initial value.
func addPlaces[C dense.Class](w *sched.Worker, places []int, args, outs []dense.Value) {
	source, initial := dense.LoadAll[C](w, args[1]), dense.LoadAll[C](w, args[2])[0]
	out := make([]C, outs[0].Type.Size())
	dense.Parallel(w, len(out), 1, func(lo, hi int) {
		for i := range out[lo:hi] {
			out[lo+i] = initial
		}
	})
	p := dense.Pacer{Worker: w}
	for i, at := range places {
		p.Step(2)
		if at >= 0 {
			out[at] += source[i]
		}
	}
	dense.StoreAll(w, outs[0], out)
}
