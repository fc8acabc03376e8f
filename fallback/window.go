package fallback

import (
	"fmt"
	"math"

	"nxvk/fallback/sched"
	"nxvk/ops"
)

var windowKernels = map[ops.Op]kernel{
	ops.WindowSum: windowReduce, ops.WindowProduct: windowReduce,
	ops.WindowMax: windowReduce, ops.WindowMin: windowReduce,
	ops.WindowScatterMax: windowScatter, ops.WindowScatterMin: windowScatter,
	ops.Conv: conv,
}

// windows walks windows over a tensor.
type windows struct {
	shape, strides                    []int // of the tensor
	window, padding, every, dilations []int
	out                               ops.Shape // how many windows there are
}

// visit calls f for each place of window number i, in order: the flat index of
// an element, or -1 in the padding.
func (w *windows) visit(i int, f func(at int)) {
	first := make([]int, len(w.shape))
	for k := len(first) - 1; k >= 0; k-- {
		first[k] = i%w.out[k]*w.every[k] - w.padding[2*k]
		i /= w.out[k]
	}
	w.along(0, 0, true, first, f)
}

func (w *windows) along(k, at int, inside bool, first []int, f func(at int)) {
	if k == len(first) {
		if !inside {
			at = -1
		}
		f(at)
		return
	}
	for j := range w.window[k] {
		p := first[k] + j*w.dilations[k]
		w.along(k+1, at+p*w.strides[k], inside && p >= 0 && p < w.shape[k], first, f)
	}
}

func windowReduce(in *call, args, outs []Value) error {
	d := args[0].Type.DType
	switch d.Class() {
	case ops.Float:
		return windowIn(in, &floatScalars, math.Inf(-1), math.Inf(1), args, outs)
	case ops.Signed:
		top := int64(1)<<(d.Bits()-1) - 1
		return windowIn(in, &intScalars, -top-1, top, args, outs)
	case ops.Unsigned:
		return windowIn(in, &uintScalars, 0, uint64(math.MaxUint64)>>(64-d.Bits()), args, outs)
	}
	return windowIn(in, &complexScalars, 0, 0, args, outs)
}

// windowOps is the operator of each reduction.
var windowOps = [ops.Count]ops.Op{
	ops.WindowSum: ops.Add, ops.WindowProduct: ops.Multiply,
	ops.WindowMax: ops.Max, ops.WindowMin: ops.Min,
}

// windowIn reduces windows in a class. lowest and highest are the extremes of
// the element type, which padding counts as.
func windowIn[C class](in *call, table *scalars[C], lowest, highest C, args, outs []Value) error {
	op := windowOps[in.Op]
	join := table[op].two
	if join == nil {
		return fmt.Errorf("%v of %v: %w", in.Op, args[0].Type.DType, noClass[C]())
	}
	identity := map[ops.Op]C{ops.Add: 0, ops.Multiply: 1, ops.Max: lowest, ops.Min: highest}[op]
	w := windows{shape: args[0].Type.Shape, strides: args[0].Type.Shape.Strides(), out: outs[0].Type.Shape,
		window: in.Attrs[0], padding: in.Attrs[1], every: in.Attrs[2], dilations: in.Attrs[3]}
	xs, store := loadAll[C](in.w, args[0]), storeAs[C](outs[0].Type.DType)
	parallelOn(in.w, outs[0].Type.Size(), ops.Shape(w.window).Size(), func(by *sched.Worker, lo, hi int) {
		acc, p := make([]C, 1), pace{w: by}
		for i := lo; i < hi; i++ {
			acc[0] = identity
			w.visit(i, func(at int) {
				x := identity
				if at >= 0 {
					x = xs[at]
				}
				acc[0] = join(x, acc[0])
				p.step(1)
			})
			store(outs[0].Data, i, acc)
		}
	})
	return nil
}

// windowScatter finds the place of each window's extreme and adds there.
func windowScatter(in *call, args, outs []Value) error {
	ones := make([]int, len(args[0].Type.Shape))
	for i := range ones {
		ones[i] = 1
	}
	w := &windows{shape: args[0].Type.Shape, strides: args[0].Type.Shape.Strides(), out: args[1].Type.Shape,
		window: in.Attrs[0], padding: in.Attrs[1], every: in.Attrs[2], dilations: ones}
	var places []int
	switch args[0].Type.DType.Class() {
	case ops.Float:
		places = extremePlaces[float64](in.w, in.Op, w, args)
	case ops.Signed:
		places = extremePlaces[int64](in.w, in.Op, w, args)
	case ops.Unsigned:
		places = extremePlaces[uint64](in.w, in.Op, w, args)
	default:
		return fmt.Errorf("%v of %v: %w", in.Op, args[0].Type.DType, ErrComplex)
	}
	switch outs[0].Type.DType.Class() {
	case ops.Float:
		addPlaces[float64](in.w, places, args, outs)
	case ops.Signed:
		addPlaces[int64](in.w, places, args, outs)
	case ops.Unsigned:
		addPlaces[uint64](in.w, places, args, outs)
	default:
		addPlaces[complex128](in.w, places, args, outs)
	}
	return nil
}

// extremePlaces returns the flat index of each window's extreme, the last of
// equal ones; -1 where that is in the padding, which holds the initial value.
func extremePlaces[C realClass](by *sched.Worker, op ops.Op, w *windows, args []Value) []int {
	xs, initial := loadAll[C](by, args[0]), loadAll[C](by, args[2])[0]
	places := make([]int, w.out.Size())
	parallelOn(by, len(places), ops.Shape(w.window).Size(), func(by *sched.Worker, lo, hi int) {
		p := pace{w: by}
		for i := lo; i < hi; i++ {
			var best C
			first := true
			w.visit(i, func(at int) {
				x := initial
				if at >= 0 {
					x = xs[at]
				}
				if first || (op == ops.WindowScatterMax && x >= best) || (op == ops.WindowScatterMin && x <= best) {
					best, places[i], first = x, at, false
				}
				p.step(1)
			})
		}
	})
	return places
}

// addPlaces adds each source element to its place of a tensor that holds the
// initial value.
func addPlaces[C class](w *sched.Worker, places []int, args, outs []Value) {
	source, initial := loadAll[C](w, args[1]), loadAll[C](w, args[2])[0]
	out := make([]C, outs[0].Type.Size())
	parallel(w, len(out), 1, func(lo, hi int) {
		for i := range out[lo:hi] {
			out[lo+i] = initial
		}
	})
	p := pace{w: w}
	for i, at := range places {
		p.step(2)
		if at >= 0 {
			out[at] += source[i]
		}
	}
	storeAll(w, outs[0], out)
}
