package dense

import (
	"nxvk/fallback/sched"
	"nxvk/ops"
)

// LoadAll reads a whole value.
func LoadAll[C Class](w *sched.Worker, v Value) []C {
	xs := make([]C, v.Type.Size())
	load := LoadAs[C](v.Type.DType)
	Parallel(w, len(xs), 1, func(lo, hi int) { load(xs[lo:hi], v.Data, lo, 1) })
	return xs
}

// StoreAll writes a whole value.
func StoreAll[C Class](w *sched.Worker, v Value, xs []C) {
	store := StoreAs[C](v.Type.DType)
	Parallel(w, len(xs), 1, func(lo, hi int) { store(v.Data, lo, xs[lo:hi]) })
}

// LineCost is the work of a line besides that of its elements, for Parallel.
const LineCost = 64

// Line is the elements along one axis: n of them, step apart, from element at on.
type Line struct{ At, Step, N int }

// EachLine calls f for all lines along an axis, on all processors.
func EachLine(w *sched.Worker, shape ops.Shape, axis int, f func(w *sched.Worker, l Line)) {
	if len(shape) == 0 {
		f(w, Line{At: 0, Step: 1, N: 1})
		return
	}
	step := shape.Strides()[axis]
	n := shape[axis]
	ParallelOn(w, shape.Size()/n, LineCost+n, func(w *sched.Worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			f(w, Line{At: i/step*step*n + i%step, Step: step, N: n})
		}
	})
}

// LoadLine loads the elements of a line.
func LoadLine[C Class](w *sched.Worker, load Loader[C], xs []C, src []byte, l Line) {
	Parallel(w, len(xs), 2, func(lo, hi int) { load(xs[lo:hi], src, l.At+lo*l.Step, l.Step) })
}

// ScatterLine stores the elements of a line.
func ScatterLine[C Class](w *sched.Worker, store Storer[C], dst []byte, l Line, xs []C) {
	Parallel(w, len(xs), 2, func(lo, hi int) {
		if l.Step == 1 {
			store(dst, l.At+lo, xs[lo:hi])
			return
		}
		for i := lo; i < hi; i++ {
			store(dst, l.At+i*l.Step, xs[i:i+1])
		}
	})
}
