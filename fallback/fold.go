package fallback

import (
	"slices"

	"nxvk/fallback/sched"
	"nxvk/ops"
)

var foldKernels = map[ops.Op]kernel{ops.ReduceFun: reduceFun, ops.WindowReduce: windowFun}

// foldRoom bounds the places that are listed at once.
const foldRoom = 1 << 20

// folder folds a function over lists of elements, one list an output: as
// Nx.BinaryBackend does, from the initial value on and in order. Outputs are
// taken many at a time, so that the function works on vectors.
type folder struct {
	w      *sched.Worker
	fun    *ops.Region
	elems  Value // in the type of the function's first parameter
	start  Value // the initial value, in that of its second
	pad    []byte
	length int                     // of a list
	places func(out int, to []int) // the list of an output; -1 is the padding
}

// reduceFun folds a function over axes.
func reduceFun(in *call, args, outs []Value) error {
	s, axes := args[0].Type.Shape, in.Attrs[0]
	strides := s.Strides()
	var lengths, steps []int
	for i := range s {
		if slices.Contains(axes, i) {
			lengths, steps = append(lengths, s[i]), append(steps, strides[i])
		}
	}
	kept, p := slicedBy(s, axes), pace{w: in.w}
	offsets, bases := distances(&p, lengths, steps), distances(&p, kept.shape, kept.strides)
	return newFolder(in, args, len(offsets), func(out int, to []int) {
		for i, o := range offsets {
			to[i] = bases[out] + o
			p.step(1)
		}
	}).into(outs[0])
}

// windowFun folds a function over windows; padding counts as the initial value.
func windowFun(in *call, args, outs []Value) error {
	w := windows{shape: args[0].Type.Shape, strides: args[0].Type.Shape.Strides(), out: outs[0].Type.Shape,
		window: in.Attrs[0], padding: in.Attrs[1], every: in.Attrs[2], dilations: in.Attrs[3]}
	p := pace{w: in.w}
	return newFolder(in, args, ops.Shape(w.window).Size(), func(out int, to []int) {
		i := 0
		w.visit(out, func(at int) {
			to[i] = at
			i++
			p.step(1)
		})
	}).into(outs[0])
}

func newFolder(in *call, args []Value, length int, places func(int, []int)) *folder {
	fun := in.Regions[0]
	elem, acc := fun.Params[0].Type.DType, fun.Params[1].Type.DType
	return &folder{w: in.w, fun: fun, elems: asDType(in.w, args[0], elem), start: asDType(in.w, args[1], acc),
		pad: asDType(in.w, args[1], elem).Data, length: length, places: places}
}

// into computes all outputs.
func (f *folder) into(out Value) error {
	n := out.Type.Size()
	lanes := 1
	if vectors(f.fun) {
		lanes = max(1, min(n, foldRoom/f.length))
	}
	width := out.Type.DType.Size()
	for lo := 0; lo < n; lo += lanes {
		got, err := f.some(lo, min(lo+lanes, n))
		if err != nil {
			return err
		}
		copy(out.Data[lo*width:], got)
	}
	return nil
}

// some computes the outputs from lo to hi.
func (f *folder) some(lo, hi int) ([]byte, error) {
	n := hi - lo
	lists := make([]int, n*f.length)
	p := pace{w: f.w}
	for i := range n {
		p.step(4 * f.length)
		f.places(lo+i, lists[i*f.length:(i+1)*f.length])
	}
	lanes := 0
	if vectors(f.fun) {
		lanes = n
	}
	e := newEvaluator(f.fun, lanes, nil)
	e.pace.w = f.w
	width := f.elems.Type.DType.Size()
	elem, acc := Value{Data: make([]byte, n*width)}, Value{Data: slices.Repeat(f.start.Data, n)}
	for r := range f.length {
		p.step(4 * n)
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

// fillUp copies what a function gave; where it gave a constant, to all.
func fillUp(dst, src []byte) {
	for n := 0; n < len(dst); n += len(src) {
		copy(dst[n:], src)
	}
}
