package fallback

import (
	"fmt"
	"slices"
	"sync/atomic"

	"nxvk/fallback/sched"
	"nxvk/ops"
)

var indexKernels = map[ops.Op]kernel{
	ops.Gather:        gather,
	ops.Take:          take,
	ops.TakeAlongAxis: takeAlongAxis,
	ops.IndexedAdd:    indexedAdd,
	ops.IndexedPut:    indexedPut,
}

// indices reads an index tensor. What does not fit an int64 is negative, and
// so out of bounds.
func indices(w *sched.Worker, v Value) []int64 {
	idx := make([]int64, v.Type.Size())
	load := loadInt[v.Type.DType]
	parallel(w, len(idx), 1, func(lo, hi int) { load(idx[lo:hi], v.Data, lo, 1) })
	return idx
}

func checkIndex(idx int64, axis int, shape ops.Shape) error {
	if idx < 0 || idx >= int64(shape[axis]) {
		return fmt.Errorf("index %d is %w for axis %d in shape %v", idx, ErrIndex, axis, shape)
	}
	return nil
}

// offsets reads positions along axes, one a row of indices, as distances in
// elements from the start of a tensor.
func offsets(w *sched.Worker, v Value, axes []int, shape ops.Shape) ([]int, error) {
	idx, strides := indices(w, v), shape.Strides()
	at := make([]int, len(idx)/len(axes))
	var wrong atomic.Bool
	parallel(w, len(at), len(axes), func(lo, hi int) {
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

// sliced is how a tensor falls into slices: what lies along the dimensions that
// are no axes.
type sliced struct {
	shape, strides []int
	size           int
}

func slicedBy(shape ops.Shape, axes []int) sliced {
	s := sliced{size: 1}
	strides := shape.Strides()
	for i, d := range shape {
		if !slices.Contains(axes, i) {
			s.shape, s.strides = append(s.shape, d), append(s.strides, strides[i])
			s.size *= d
		}
	}
	return s
}

// move copies one slice out of a tensor to a dense place, or back where it
// scatters.
func (s *sliced) move(w *sched.Worker, dst, src *Value, dstAt, srcAt int, scatter bool) {
	m := newMoves(w)
	defer m.release()
	m.dstAt, m.srcAt = dstAt, srcAt
	n := s.size
	for i, d := range s.shape {
		n /= d
		if scatter {
			m.push(d, s.strides[i], n)
		} else {
			m.push(d, n, s.strides[i])
		}
	}
	m.copy(dst, src)
}

func gather(in *call, args, outs []Value) error {
	axes := in.Attrs[0]
	at, err := offsets(in.w, args[1], axes, args[0].Type.Shape)
	if err != nil {
		return err
	}
	s := slicedBy(args[0].Type.Shape, axes)
	if s.size == 1 {
		pickEach(in.w, outs[0].Data, args[0].Data, args[0].Type.DType.Size(), at)
		return nil
	}
	parallelOn(in.w, len(at), s.size, func(w *sched.Worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			s.move(w, &outs[0], &args[0], i*s.size, at[i], false)
		}
	})
	return nil
}

// take copies, for each position before the axis and each index, what lies
// behind the axis.
func take(in *call, args, outs []Value) error {
	shape, axis := args[0].Type.Shape, in.Attrs[0][0]
	at, err := offsets(in.w, args[1], in.Attrs[0], shape)
	if err != nil {
		return err
	}
	size := args[0].Type.DType.Size()
	inner := shape.Strides()[axis] * size
	outer := inner * shape[axis]
	dst, src := outs[0].Data, args[0].Data
	if inner == size && len(at) > 1 {
		for row := 0; len(dst) > 0; row++ {
			pickEach(in.w, dst[:len(at)*size], src[row*outer:(row+1)*outer], size, at)
			dst = dst[len(at)*size:]
		}
		return nil
	}
	parallelOn(in.w, len(dst)/inner, inner, func(w *sched.Worker, lo, hi int) {
		base, j := lo/len(at)*outer, lo%len(at)
		for i := lo; i < hi; i++ {
			from := base + at[j]*size
			copyBytes(w, dst[i*inner:(i+1)*inner], src[from:from+inner])
			if j++; j == len(at) {
				base, j = base+outer, 0
			}
		}
	})
	return nil
}

func takeAlongAxis(in *call, args, outs []Value) error {
	shape, axis := args[0].Type.Shape, in.Attrs[0][0]
	idx, strides := indices(in.w, args[1]), shape.Strides()
	var p plan
	p.reset()
	for i := len(shape) - 1; i >= 0; i-- {
		step := strides[i]
		if i == axis {
			step = 0
		}
		p.push(args[1].Type.Shape[i], [maxOperands]int{step})
	}
	p.finish()
	var c cursor
	c.seek(&p, 0)
	size := args[0].Type.DType.Size()
	pace := pace{w: in.w}
	for i, x := range idx {
		if err := checkIndex(x, axis, shape); err != nil {
			return err
		}
		pace.step(4)
		from := (c.at[0] + int(x)*strides[axis]) * size
		copy(outs[0].Data[i*size:(i+1)*size], args[0].Data[from:from+size])
		c.advance(1)
	}
	return nil
}

func indexedPut(in *call, args, outs []Value) error {
	at, err := offsets(in.w, args[1], in.Attrs[0], args[0].Type.Shape)
	if err != nil {
		return err
	}
	convert(in.w, outs[0], args[0])
	updates := asDType(in.w, args[2], outs[0].Type.DType)
	s := slicedBy(args[0].Type.Shape, in.Attrs[0])
	p := pace{w: in.w}
	for i, to := range at { // in order: the last one stays
		p.step(max(8, s.size))
		s.move(in.w, &outs[0], &updates, to, i*s.size, true)
	}
	return nil
}

func indexedAdd(in *call, args, outs []Value) error {
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
func addAt[C class](in *call, args, outs []Value) error {
	at, err := offsets(in.w, args[1], in.Attrs[0], args[0].Type.Shape)
	if err != nil {
		return err
	}
	target, updates := loadAll[C](in.w, args[0]), loadAll[C](in.w, args[2])
	s := slicedBy(args[0].Type.Shape, in.Attrs[0])
	p := pace{w: in.w}
	inner := distances(&p, s.shape, s.strides)
	for i, to := range at {
		p.step(s.size)
		for j, x := range updates[i*s.size : (i+1)*s.size] {
			target[to+inner[j]] += x
		}
	}
	storeAll(in.w, outs[0], target)
	return nil
}

// loadAll reads a whole value.
func loadAll[C class](w *sched.Worker, v Value) []C {
	xs := make([]C, v.Type.Size())
	load := loadAs[C](v.Type.DType)
	parallel(w, len(xs), 1, func(lo, hi int) { load(xs[lo:hi], v.Data, lo, 1) })
	return xs
}

// storeAll writes a whole value.
func storeAll[C class](w *sched.Worker, v Value, xs []C) {
	store := storeAs[C](v.Type.DType)
	parallel(w, len(xs), 1, func(lo, hi int) { store(v.Data, lo, xs[lo:hi]) })
}

// distances lists where the elements of a box are, from its first, in row-major order.
func distances(p *pace, lengths, strides []int) []int {
	at := []int{0}
	for i, n := range lengths {
		next := make([]int, 0, len(at)*n)
		for _, a := range at {
			for j := range n {
				next = append(next, a+j*strides[i])
				p.step(1)
			}
		}
		at = next
	}
	return at
}

// CheckIndices reports the first index of a Gather, Take, TakeAlongAxis,
// IndexedAdd or IndexedPut that is outside of its dimension, as Run does. shape
// is that of the tensor.
func CheckIndices(in *ops.Instr, shape ops.Shape, idx Value) error {
	if args := []Value{idx}; !aligned(args) {
		data := fresh(len(idx.Data))
		copy(data, idx.Data)
		idx.Data = data
	}
	return firstWrong(indices(nil, idx), in.Attrs[0], shape)
}
