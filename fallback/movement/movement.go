package movement

import (
	"slices"

	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
	"nxvk/ops"
)

var Kernels = map[ops.Op]dense.Kernel{
	ops.Bitcast:     bitcast,
	ops.Reshape:     sameBytes,
	ops.Squeeze:     sameBytes,
	ops.BroadcastTo: broadcastTo,
	ops.Transpose:   transpose,
	ops.Pad:         pad,
	ops.Reverse:     reverse,
	ops.Slice:       slice,
	ops.PutSlice:    putSlice,
	ops.Concatenate: concatenate,
	ops.Stack:       stack,
}

// sameBytes copies the operand of an operation that changes the shape alone.
func sameBytes(in *dense.Call, args, outs []dense.Value) error {
	dense.CopyBytes(in.Worker, outs[0].Data, args[0].Data)
	return nil
}

// bitcast copies bytes. Types of less than a byte fill the rest of the byte in their own
// ways, so these are converted.
func bitcast(in *dense.Call, args, outs []dense.Value) error {
	if args[0].Type.DType.Bits() < 8 {
		dense.Convert(in.Worker, outs[0], args[0])
		return nil
	}
	return sameBytes(in, args, outs)
}

func broadcastTo(in *dense.Call, args, outs []dense.Value) error {
	out, src := &outs[0], &args[0]
	steps := make([]int, len(out.Type.Shape))
	strides := src.Type.Shape.Strides()
	for i, axis := range in.Attrs[0] {
		if src.Type.Shape[i] != 1 {
			steps[axis] = strides[i]
		}
	}
	fill(in.Worker, out, src, steps, 0)
	return nil
}

// fill writes all elements of out in order, and reads src from element at on by steps.
func fill(w *sched.Worker, out, src *dense.Value, steps []int, at int) {
	m := newCopier(w)
	defer m.release()
	m.srcAt = at
	n := out.Type.Size()
	for i, d := range out.Type.Shape {
		n /= d
		m.push(d, n, steps[i])
	}
	m.copy(out, src)
}

func transpose(in *dense.Call, args, outs []dense.Value) error {
	Permute(in.Worker, &outs[0], &args[0], in.Attrs[0])
	return nil
}

// Permute makes dimension i of out dimension axes[i] of src.
func Permute(w *sched.Worker, out, src *dense.Value, axes []int) {
	strides := src.Type.Shape.Strides()
	steps := make([]int, len(axes))
	for i, a := range axes {
		steps[i] = strides[a]
	}
	fill(w, out, src, steps, 0)
}

func reverse(in *dense.Call, args, outs []dense.Value) error {
	steps, at := args[0].Type.Shape.Strides(), 0
	for _, a := range in.Attrs[0] {
		at += (args[0].Type.Shape[a] - 1) * steps[a]
		steps[a] = -steps[a]
	}
	fill(in.Worker, &outs[0], &args[0], steps, at)
	return nil
}

// pad writes the padding everywhere and then the operand over it: element i of
// a dimension lands at low + i * (1 + interior), or is cropped.
func pad(in *dense.Call, args, outs []dense.Value) error {
	out := &outs[0]
	src, value := dense.As(in.Worker, args[0], out.Type.DType), dense.As(in.Worker, args[1], out.Type.DType)
	fill(in.Worker, out, &value, make([]int, len(out.Type.Shape)), 0)
	m := newCopier(in.Worker)
	defer m.release()
	from, to := src.Type.Shape.Strides(), out.Type.Shape.Strides()
	for i, n := range src.Type.Shape {
		low, every := in.Attrs[0][3*i], 1+in.Attrs[0][3*i+2]
		first, last := 0, n-1
		if low < 0 {
			first = (-low + every - 1) / every
		}
		last = min(last, floorDiv(out.Type.Shape[i]-1-low, every))
		if last < first {
			return nil // all of it is cropped
		}
		m.srcAt += first * from[i]
		m.dstAt += (low + first*every) * to[i]
		m.push(last-first+1, every*to[i], from[i])
	}
	m.copy(out, &src)
	return nil
}

func floorDiv(a, b int) int {
	if a < 0 {
		return -((-a + b - 1) / b)
	}
	return a / b
}

// Starts returns where a slice of the given lengths begins: the attribute, or
// the scalar operands, clamped so that it fits.
func Starts(static []int, dynamic []dense.Value, shape ops.Shape, lengths []int) []int {
	at := slices.Clone(static)
	for _, v := range dynamic {
		var x [1]int64
		dense.LoadInt[v.Type.DType](x[:], v.Data, 0, 0)
		if v.Type.DType == ops.U64 && x[0] < 0 {
			x[0] = 1<<63 - 1
		}
		at = append(at, int(x[0]))
	}
	for i := range at {
		at[i] = max(0, min(at[i], shape[i]-lengths[i]))
	}
	return at
}

func slice(in *dense.Call, args, outs []dense.Value) error {
	at := Starts(in.Attrs[0], args[1:], args[0].Type.Shape, in.Attrs[1])
	steps, offset := args[0].Type.Shape.Strides(), 0
	for i, stride := range in.Attrs[2] {
		offset += at[i] * steps[i]
		steps[i] *= stride
	}
	fill(in.Worker, &outs[0], &args[0], steps, offset)
	return nil
}

func putSlice(in *dense.Call, args, outs []dense.Value) error {
	out := &outs[0]
	dense.Convert(in.Worker, *out, args[0])
	part := dense.As(in.Worker, args[1], out.Type.DType)
	at := Starts(in.Attrs[0], args[2:], out.Type.Shape, part.Type.Shape)
	putAt(in.Worker, out, &part, at)
	return nil
}

// putAt writes part over out from a position on.
func putAt(w *sched.Worker, out, part *dense.Value, at []int) {
	m := newCopier(w)
	defer m.release()
	to, from := out.Type.Shape.Strides(), part.Type.Shape.Strides()
	for i, n := range part.Type.Shape {
		m.dstAt += at[i] * to[i]
		m.push(n, to[i], from[i])
	}
	m.copy(out, part)
}

// partCost is the work of joining an operand, besides that of its elements.
const partCost = 64

func concatenate(in *dense.Call, args, outs []dense.Value) error {
	axis, at := in.Attrs[0][0], make([]int, len(outs[0].Type.Shape))
	p := dense.Pacer{Worker: in.Worker}
	for _, v := range args {
		p.Step(partCost + v.Type.Size())
		part := dense.As(in.Worker, v, outs[0].Type.DType)
		putAt(in.Worker, &outs[0], &part, at)
		at[axis] += v.Type.Shape[axis]
	}
	return nil
}

func stack(in *dense.Call, args, outs []dense.Value) error {
	axis, at := in.Attrs[0][0], make([]int, len(outs[0].Type.Shape))
	p := dense.Pacer{Worker: in.Worker}
	for _, v := range args {
		p.Step(partCost + v.Type.Size())
		part := dense.As(in.Worker, v, outs[0].Type.DType)
		part.Type.Shape = slices.Insert(slices.Clone(part.Type.Shape), axis, 1)
		putAt(in.Worker, &outs[0], &part, at)
		at[axis]++
	}
	return nil
}
