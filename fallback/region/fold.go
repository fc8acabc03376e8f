package region

import (
	"slices"

	"nxvk/fallback/dense"
	"nxvk/fallback/movement"
	"nxvk/fallback/reduction"
	"nxvk/fallback/sched"
	"nxvk/ops"
)

// Kernels are the operations that carry out a region.
var Kernels = map[ops.Op]dense.Kernel{ops.ReduceFun: reduceFun, ops.WindowReduce: windowFun, ops.Attention: composite}

// foldRoom bounds the elements whose places are listed at once.
const foldRoom = 1 << 20

// folder folds a function over lists of elements, one list per output, in order and from the
// initial value on, as Nx.BinaryBackend does. It computes many outputs at a time, so that the
// function works on vectors.
type folder struct {
	w      *sched.Worker
	fun    *ops.Region
	elems  dense.Value // in the type of the function's first parameter
	start  dense.Value // the initial value, in that of its second
	pad    []byte
	length int                     // of a list
	places func(out int, to []int) // the list of an output; -1 is the padding
}

// reduceFun folds a function over axes.
func reduceFun(in *dense.Call, args, outs []dense.Value) error {
	s, axes := args[0].Type.Shape, in.Attrs[0]
	strides := s.Strides()
	var lengths, steps []int
	for i := range s {
		if slices.Contains(axes, i) {
			lengths, steps = append(lengths, s[i]), append(steps, strides[i])
		}
	}
	kept, p := movement.SlicedBy(s, axes), dense.Pacer{Worker: in.Worker}
	offsets, bases := movement.Distances(&p, lengths, steps), movement.Distances(&p, kept.Shape, kept.Strides)
	return newFolder(in, args, len(offsets), func(out int, to []int) {
		for i, o := range offsets {
			to[i] = bases[out] + o
			p.Step(1)
		}
	}).evalAll(outs[0])
}

// windowFun folds a function over windows; padding counts as the initial value.
func windowFun(in *dense.Call, args, outs []dense.Value) error {
	w := reduction.Windows{Shape: args[0].Type.Shape, Strides: args[0].Type.Shape.Strides(), Out: outs[0].Type.Shape,
		Window: in.Attrs[0], Padding: in.Attrs[1], Every: in.Attrs[2], Dilations: in.Attrs[3]}
	p := dense.Pacer{Worker: in.Worker}
	return newFolder(in, args, ops.Shape(w.Window).Size(), func(out int, to []int) {
		i := 0
		w.Visit(out, func(at int) {
			to[i] = at
			i++
			p.Step(1)
		})
	}).evalAll(outs[0])
}

func newFolder(in *dense.Call, args []dense.Value, length int, places func(int, []int)) *folder {
	fun := in.Regions[0]
	elem, acc := fun.Params[0].Type.DType, fun.Params[1].Type.DType
	return &folder{w: in.Worker, fun: fun, elems: dense.As(in.Worker, args[0], elem), start: dense.As(in.Worker, args[1], acc),
		pad: dense.As(in.Worker, args[1], elem).Data, length: length, places: places}
}

// evalAll computes all outputs.
func (f *folder) evalAll(out dense.Value) error {
	n := out.Type.Size()
	batch := 1
	if vectors(f.fun) {
		batch = max(1, min(n, foldRoom/f.length))
	}
	width := out.Type.DType.Size()
	for lo := 0; lo < n; lo += batch {
		got, err := f.evalRange(lo, min(lo+batch, n))
		if err != nil {
			return err
		}
		copy(out.Data[lo*width:], got)
	}
	return nil
}

// evalRange computes the outputs from lo to hi.
func (f *folder) evalRange(lo, hi int) ([]byte, error) {
	n := hi - lo
	lists := make([]int, n*f.length)
	p := dense.Pacer{Worker: f.w}
	for i := range n {
		p.Step(4 * f.length)
		f.places(lo+i, lists[i*f.length:(i+1)*f.length])
	}
	batch := 0
	if vectors(f.fun) {
		batch = n
	}
	e := newEvaluator(f.fun, batch, nil)
	e.pace.Worker = f.w
	width := f.elems.Type.DType.Size()
	elem, acc := dense.Value{Data: make([]byte, n*width)}, dense.Value{Data: slices.Repeat(f.start.Data, n)}
	for r := range f.length {
		p.Step(4 * n)
		for i := range n {
			src := f.pad
			if at := lists[i*f.length+r]; at >= 0 {
				src = f.elems.Data[at*width : (at+1)*width]
			}
			copy(elem.Data[i*width:], src)
		}
		values, err := e.Eval(elem, acc)
		if err != nil {
			return nil, err
		}
		fillUp(acc.Data, values[0].Data)
	}
	return acc.Data, nil
}

// fillUp copies the result of a function, and repeats it where it is one constant.
func fillUp(dst, src []byte) {
	for n := 0; n < len(dst); n += len(src) {
		copy(dst[n:], src)
	}
}
