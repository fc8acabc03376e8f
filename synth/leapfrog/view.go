package leapfrog

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// leapfrogViews return an element of the result of an operation that only moves
// elements.
var leapfrogViews map[ops.Op]func(w *leapfrogWriter, in *ops.Instr, idx []kernel.Value) kernel.Value

func init() {
	leapfrogViews = map[ops.Op]func(w *leapfrogWriter, in *ops.Instr, idx []kernel.Value) kernel.Value{
		ops.Reshape: (*leapfrogWriter).reshaped, ops.Squeeze: (*leapfrogWriter).reshaped,
		ops.BroadcastTo: (*leapfrogWriter).broadcast, ops.Transpose: (*leapfrogWriter).transposed,
		ops.Slice: (*leapfrogWriter).sliced, ops.Reverse: (*leapfrogWriter).reversed,
		ops.Pad: (*leapfrogWriter).padded, ops.Concatenate: (*leapfrogWriter).joined,
		ops.Stack: (*leapfrogWriter).stacked, ops.PutSlice: (*leapfrogWriter).put,
		ops.Constant: (*leapfrogWriter).constant, ops.Iota: (*leapfrogWriter).iota, ops.Eye: (*leapfrogWriter).eye,
		ops.Take: (*leapfrogWriter).taken, ops.IndexedAdd: nil, // which folds
	}
}

// long are the dimensions of a shape that are not 1.
func long(s ops.Shape) (dims []int) {
	for d, n := range s {
		if n > 1 {
			dims = append(dims, d)
		}
	}
	return dims
}

func (w *leapfrogWriter) reshaped(in *ops.Instr, idx []kernel.Value) kernel.Value {
	from, to := w.job.typeOf(in.Ins[0]).Shape, in.Outs[0].Type.Shape
	a, b := long(from), long(to)
	same := len(a) == len(b)
	for i := range a {
		same = same && from[a[i]] == to[b[i]]
	}
	if !same {
		return w.element(in.Ins[0], w.coordinates(w.flat(idx, to), from))
	}
	own := make([]kernel.Value, len(from))
	for d := range own {
		own[d] = w.Index(0)
	}
	for i := range a {
		own[a[i]] = idx[b[i]]
	}
	return w.element(in.Ins[0], own)
}

func (w *leapfrogWriter) broadcast(in *ops.Instr, idx []kernel.Value) kernel.Value {
	s := w.job.typeOf(in.Ins[0]).Shape
	own := make([]kernel.Value, len(s))
	for d, n := range s {
		if own[d] = w.Index(0); n > 1 {
			own[d] = idx[in.Attrs[0][d]]
		}
	}
	return w.element(in.Ins[0], own)
}

func (w *leapfrogWriter) transposed(in *ops.Instr, idx []kernel.Value) kernel.Value {
	own := make([]kernel.Value, len(idx))
	for d, a := range in.Attrs[0] {
		own[a] = idx[d]
	}
	return w.element(in.Ins[0], own)
}

func (w *leapfrogWriter) sliced(in *ops.Instr, idx []kernel.Value) kernel.Value {
	own := slices.Clone(idx)
	for d := range own {
		own[d] = w.Add(w.Index(in.Attrs[0][d]), w.Mul(idx[d], w.Index(in.Attrs[2][d])))
	}
	return w.element(in.Ins[0], own)
}

func (w *leapfrogWriter) reversed(in *ops.Instr, idx []kernel.Value) kernel.Value {
	own := slices.Clone(idx)
	for _, a := range in.Attrs[0] {
		own[a] = w.Sub(w.Index(in.Outs[0].Type.Shape[a]-1), idx[a])
	}
	return w.element(in.Ins[0], own)
}

// padded is an element of the operand, or the padding. Places before the operand
// are numbers that wrap, and so beyond it.
func (w *leapfrogWriter) padded(in *ops.Instr, idx []kernel.Value) kernel.Value {
	s := w.job.typeOf(in.Ins[0]).Shape
	own := slices.Clone(idx)
	inside := w.Compare(scalar.Eq, w.Index(0), w.Index(0))
	for d, n := range s {
		low, every := in.Attrs[0][3*d], in.Attrs[0][3*d+2]+1
		at := w.Add(idx[d], w.Const(scalar.U32, uint64(uint32(-low))))
		here := w.IsLess(at, w.Index((n-1)*every+1))
		place := at
		if every > 1 {
			var rest kernel.Value
			place, rest = w.DivMod(at, w.Index(every))
			here = w.And2(here, w.IsEqual(rest, w.Index(0)))
		}
		own[d] = w.Select(here, place, w.Index(0))
		inside = w.And2(inside, here)
	}
	return w.Select(inside, w.converted(in, in.Ins[0], w.element(in.Ins[0], own)),
		w.converted(in, in.Ins[1], w.element(in.Ins[1], nil)))
}

func (w *leapfrogWriter) joined(in *ops.Instr, idx []kernel.Value) kernel.Value {
	axis, base := in.Attrs[0][0], 0
	var x kernel.Value
	for i, o := range in.Ins {
		n := w.job.typeOf(o).Shape[axis]
		own := slices.Clone(idx)
		at := w.Sub(idx[axis], w.Index(base))
		here := w.IsLess(at, w.Index(n))
		own[axis] = w.Select(here, at, w.Index(0))
		part := w.converted(in, o, w.element(o, own))
		if i == 0 {
			x = part
		} else {
			x = w.Select(here, part, x)
		}
		base += n
	}
	return x
}

func (w *leapfrogWriter) stacked(in *ops.Instr, idx []kernel.Value) kernel.Value {
	axis := in.Attrs[0][0]
	own := slices.Delete(slices.Clone(idx), axis, axis+1)
	var x kernel.Value
	for i, o := range in.Ins {
		part := w.converted(in, o, w.element(o, own))
		if i == 0 {
			x = part
		} else {
			x = w.Select(w.IsEqual(idx[axis], w.Index(i)), part, x)
		}
	}
	return x
}

// converted is an element of an operand in the type of the result.
func (w *leapfrogWriter) converted(in *ops.Instr, o ops.Operand, x kernel.Value) kernel.Value {
	return w.Cast(x, w.job.typeOf(o).DType, in.Outs[0].Type.DType)
}

func (w *leapfrogWriter) put(in *ops.Instr, idx []kernel.Value) kernel.Value {
	s := w.job.typeOf(in.Ins[1]).Shape
	own := slices.Clone(idx)
	inside := w.Compare(scalar.Eq, w.Index(0), w.Index(0))
	for d, n := range s {
		at := w.Sub(idx[d], w.Index(in.Attrs[0][d]))
		here := w.IsLess(at, w.Index(n))
		own[d] = w.Select(here, at, w.Index(0))
		inside = w.And2(inside, here)
	}
	return w.Select(inside, w.converted(in, in.Ins[1], w.element(in.Ins[1], own)),
		w.converted(in, in.Ins[0], w.element(in.Ins[0], idx)))
}

func (w *leapfrogWriter) constant(in *ops.Instr, _ []kernel.Value) kernel.Value {
	return w.converted(in, in.Ins[0], w.element(in.Ins[0], nil))
}

func (w *leapfrogWriter) iota(in *ops.Instr, idx []kernel.Value) kernel.Value {
	var at kernel.Value
	if axis := in.Attrs[0][0]; axis >= 0 {
		at = idx[axis]
	} else {
		at = w.flat(idx, in.Outs[0].Type.Shape)
	}
	return w.stored(in.Outs[0].Type.DType, w.Convert(at, codegen.WideType(in.Outs[0].Type.DType)))
}

func (w *leapfrogWriter) eye(in *ops.Instr, idx []kernel.Value) kernel.Value {
	n := len(idx)
	return w.Convert(w.Convert(w.IsEqual(idx[n-2], idx[n-1]), scalar.U32), codegen.WideType(in.Outs[0].Type.DType))
}

// taken is an element that an index chooses. Indices are data: the host has refused
// those that are out of bounds where the chain began.
func (w *leapfrogWriter) taken(in *ops.Instr, idx []kernel.Value) kernel.Value {
	axis, n := in.Attrs[0][0], len(w.job.typeOf(in.Ins[1]).Shape)
	at := w.element(in.Ins[1], idx[axis:axis+n])
	limit := w.Index(w.job.typeOf(in.Ins[0]).Shape[axis] - 1)
	own := slices.Concat(idx[:axis], []kernel.Value{w.Clamp(at, limit)}, idx[axis+n:])
	return w.element(in.Ins[0], own)
}
