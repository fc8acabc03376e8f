package movement

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
	"nxvk/ops"
)

// ErrIndex is wrapped where an index lies outside of a tensor.
var ErrIndex = errors.New("out of bounds")

var IndexKernels = map[ops.Op]dense.Kernel{
	ops.Gather:        gather,
	ops.Take:          take,
	ops.TakeAlongAxis: takeAlongAxis,
	ops.IndexedAdd:    indexedAdd,
	ops.IndexedPut:    indexedPut,
}

// indices reads an index tensor. An index that does not fit an int64 becomes negative, and
// so is out of bounds.
func indices(w *sched.Worker, v dense.Value) []int64 {
	idx := make([]int64, v.Type.Size())
	load := dense.LoadInt[v.Type.DType]
	dense.Parallel(w, len(idx), 1, func(lo, hi int) { load(idx[lo:hi], v.Data, lo, 1) })
	return idx
}

func checkIndex(idx int64, axis int, shape ops.Shape) error {
	if idx < 0 || idx >= int64(shape[axis]) {
		return fmt.Errorf("index %d is %w for axis %d in shape %v", idx, ErrIndex, axis, shape)
	}
	return nil
}

// offsets reads positions along axes, one per row of indices, as distances in elements from
// the start of a tensor.
func offsets(w *sched.Worker, v dense.Value, axes []int, shape ops.Shape) ([]int, error) {
	idx, strides := indices(w, v), shape.Strides()
	at := make([]int, len(idx)/len(axes))
	var wrong atomic.Bool
	dense.Parallel(w, len(at), len(axes), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			for k, a := range axes {
				x := idx[i*len(axes)+k]
				if uint64(x) >= uint64(shape[a]) {
					wrong.Store(true)
					return
				}
				at[i] += int(x) * strides[a]
			}
		}
	})
	if wrong.Load() {
		return nil, firstWrong(idx, axes, shape)
	}
	return at, nil
}

// firstWrong is the error of the first index that is out of bounds.
func firstWrong(idx []int64, axes []int, shape ops.Shape) error {
	for i, x := range idx {
		if err := checkIndex(x, axes[i%len(axes)], shape); err != nil {
			return err
		}
	}
	return nil
}

// sliced describes the slices of a tensor at positions along axes: the shape of the other
// dimensions and the strides along them.
type sliced struct {
	Shape, Strides []int
	size           int
}

func SlicedBy(shape ops.Shape, axes []int) sliced {
	s := sliced{size: 1}
	strides := shape.Strides()
	for i, d := range shape {
		if !slices.Contains(axes, i) {
			s.Shape, s.Strides = append(s.Shape, d), append(s.Strides, strides[i])
			s.size *= d
		}
	}
	return s
}

// move copies one slice of a tensor to a dense place, or from there where it scatters.
func (s *sliced) move(w *sched.Worker, dst, src *dense.Value, dstAt, srcAt int, scatter bool) {
	m := newCopier(w)
	defer m.release()
	m.dstAt, m.srcAt = dstAt, srcAt
	n := s.size
	for i, d := range s.Shape {
		n /= d
		if scatter {
			m.push(d, s.Strides[i], n)
		} else {
			m.push(d, n, s.Strides[i])
		}
	}
	m.copy(dst, src)
}

func gather(in *dense.Call, args, outs []dense.Value) error {
	axes := in.Attrs[0]
	at, err := offsets(in.Worker, args[1], axes, args[0].Type.Shape)
	if err != nil {
		return err
	}
	s := SlicedBy(args[0].Type.Shape, axes)
	if s.size == 1 {
		pickEach(in.Worker, outs[0].Data, args[0].Data, args[0].Type.DType.Size(), at)
		return nil
	}
	dense.ParallelOn(in.Worker, len(at), s.size, func(w *sched.Worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			s.move(w, &outs[0], &args[0], i*s.size, at[i], false)
		}
	})
	return nil
}

// take copies the elements behind the axis, for each position before the axis and each
// index.
func take(in *dense.Call, args, outs []dense.Value) error {
	shape, axis := args[0].Type.Shape, in.Attrs[0][0]
	at, err := offsets(in.Worker, args[1], in.Attrs[0], shape)
	if err != nil {
		return err
	}
	size := args[0].Type.DType.Size()
	inner := shape.Strides()[axis] * size
	outer := inner * shape[axis]
	dst, src := outs[0].Data, args[0].Data
	if inner == size && len(at) > 1 {
		for row := 0; len(dst) > 0; row++ {
			pickEach(in.Worker, dst[:len(at)*size], src[row*outer:(row+1)*outer], size, at)
			dst = dst[len(at)*size:]
		}
		return nil
	}
	dense.ParallelOn(in.Worker, len(dst)/inner, inner, func(w *sched.Worker, lo, hi int) {
		base, j := lo/len(at)*outer, lo%len(at)
		for i := lo; i < hi; i++ {
			from := base + at[j]*size
			dense.CopyBytes(w, dst[i*inner:(i+1)*inner], src[from:from+inner])
			if j++; j == len(at) {
				base, j = base+outer, 0
			}
		}
	})
	return nil
}

func takeAlongAxis(in *dense.Call, args, outs []dense.Value) error {
	shape, axis := args[0].Type.Shape, in.Attrs[0][0]
	idx, strides := indices(in.Worker, args[1]), shape.Strides()
	var p dense.Plan
	p.Reset()
	for i := len(shape) - 1; i >= 0; i-- {
		step := strides[i]
		if i == axis {
			step = 0
		}
		p.Push(args[1].Type.Shape[i], [dense.MaxOperands]int{step})
	}
	p.Finish()
	var c dense.Cursor
	c.Seek(&p, 0)
	size := args[0].Type.DType.Size()
	pace := dense.Pacer{Worker: in.Worker}
	for i, x := range idx {
		if err := checkIndex(x, axis, shape); err != nil {
			return err
		}
		pace.Step(4)
		from := (c.At[0] + int(x)*strides[axis]) * size
		copy(outs[0].Data[i*size:(i+1)*size], args[0].Data[from:from+size])
		c.Advance(1)
	}
	return nil
}

func indexedPut(in *dense.Call, args, outs []dense.Value) error {
	at, err := offsets(in.Worker, args[1], in.Attrs[0], args[0].Type.Shape)
	if err != nil {
		return err
	}
	dense.Convert(in.Worker, outs[0], args[0])
	updates := dense.As(in.Worker, args[2], outs[0].Type.DType)
	s := SlicedBy(args[0].Type.Shape, in.Attrs[0])
	p := dense.Pacer{Worker: in.Worker}
	for i, to := range at { // in order: the last one stays
		p.Step(max(8, s.size))
		s.move(in.Worker, &outs[0], &updates, to, i*s.size, true)
	}
	return nil
}

func indexedAdd(in *dense.Call, args, outs []dense.Value) error {
	switch outs[0].Type.DType.Class() {
	case ops.Float:
		return addAt[float64](in, args, outs)
	case ops.Signed:
		return addAt[int64](in, args, outs)
	case ops.Unsigned:
		return addAt[uint64](in, args, outs)
	}
	return addAt[complex128](in, args, outs)
}

// addAt adds in the class, so that a sum of many updates is rounded once.
func addAt[C dense.Class](in *dense.Call, args, outs []dense.Value) error {
	at, err := offsets(in.Worker, args[1], in.Attrs[0], args[0].Type.Shape)
	if err != nil {
		return err
	}
	target, updates := dense.LoadAll[C](in.Worker, args[0]), dense.LoadAll[C](in.Worker, args[2])
	s := SlicedBy(args[0].Type.Shape, in.Attrs[0])
	p := dense.Pacer{Worker: in.Worker}
	inner := Distances(&p, s.Shape, s.Strides)
	for i, to := range at {
		p.Step(s.size)
		for j, x := range updates[i*s.size : (i+1)*s.size] {
			target[to+inner[j]] += x
		}
	}
	dense.StoreAll(in.Worker, outs[0], target)
	return nil
}

// Distances lists the distances of the elements of a box from its first, in row-major order.
func Distances(p *dense.Pacer, lengths, strides []int) []int {
	at := []int{0}
	for i, n := range lengths {
		next := make([]int, 0, len(at)*n)
		for _, a := range at {
			for j := range n {
				next = append(next, a+j*strides[i])
				p.Step(1)
			}
		}
		at = next
	}
	return at
}

// CheckIndices reports the first index of a Gather, Take, TakeAlongAxis,
// IndexedAdd or IndexedPut that is outside of its dimension, as Run does. shape
// is that of the tensor.
func CheckIndices(in *ops.Instr, shape ops.Shape, idx dense.Value) error {
	if args := []dense.Value{idx}; !dense.Aligned(args) {
		data := dense.Alloc(len(idx.Data))
		copy(data, idx.Data)
		idx.Data = data
	}
	return firstWrong(indices(nil, idx), in.Attrs[0], shape)
}
