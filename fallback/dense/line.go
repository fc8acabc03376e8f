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

// EachLine has all lines along an axis carried out, on all processors: begin gives the function for the lines of a worker,
// which may share memory.
func EachLine(w *sched.Worker, shape ops.Shape, axis int, begin func(w *sched.Worker) func(l Line)) {
	if len(shape) == 0 {
		begin(w)(Line{At: 0, Step: 1, N: 1})
		return
	}
	step := shape.Strides()[axis]
	n := shape[axis]
	ParallelOn(w, shape.Size()/n, LineCost+n, func(w *sched.Worker, lo, hi int) {
		f := begin(w)
		for i := lo; i < hi; i++ {
			f(Line{At: i/step*step*n + i%step, Step: step, N: n})
		}
	})
}

// shortLine is up to how many elements of a line are moved at once: a function for Parallel is garbage.
const shortLine = 1 << 10

// LoadLine loads the elements of a line.
func LoadLine[C Class](w *sched.Worker, load Loader[C], xs []C, src []byte, l Line) {
	if len(xs) <= shortLine {
		load(xs, src, l.At, l.Step)
		return
	}
	Parallel(w, len(xs), 2, func(lo, hi int) { load(xs[lo:hi], src, l.At+lo*l.Step, l.Step) })
}

// ScatterLine stores the elements of a line.
func ScatterLine[C Class](w *sched.Worker, store Storer[C], dst []byte, l Line, xs []C) {
	if len(xs) <= shortLine {
		scatter(store, dst, l, xs)
		return
	}
	Parallel(w, len(xs), 2, func(lo, hi int) {
		scatter(store, dst, Line{At: l.At + lo*l.Step, Step: l.Step}, xs[lo:hi])
	})
}

func scatter[C Class](store Storer[C], dst []byte, l Line, xs []C) {
	if l.Step == 1 {
		store(dst, l.At, xs)
		return
	}
	for i := range xs {
		store(dst, l.At+i*l.Step, xs[i:i+1])
	}
}

// Resize gives a slice of n elements, in the memory of xs if that has room.
func Resize[T any](xs []T, n int) []T {
	if cap(xs) >= n {
		return xs[:n]
	}
	return make([]T, n)
}
