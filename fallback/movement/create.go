package movement

import (
	"nxvk/fallback/dense"
	"nxvk/ops"
)

var CreateKernels = map[ops.Op]dense.Kernel{
	ops.Constant: constant,
	ops.Tensor:   sameBytes,
	ops.Iota:     countUp,
	ops.Eye:      eye,
}

func constant(in *dense.Call, args, outs []dense.Value) error {
	x := dense.As(in.Worker, args[0], outs[0].Type.DType)
	fill(in.Worker, &outs[0], &x, make([]int, len(outs[0].Type.Shape)), 0)
	return nil
}

// countUp writes the index along the axis, or the flat index.
func countUp(in *dense.Call, _, outs []dense.Value) error {
	t := outs[0].Type
	period, each := t.Size(), 1 // every each elements the index steps, and starts again after period
	if axis := in.Attrs[0][0]; axis >= 0 {
		each = t.Shape.Strides()[axis]
		period = each * t.Shape[axis]
	}
	store := dense.StoreInt[t.DType]
	dense.Parallel(in.Worker, t.Size(), 1, func(lo, hi int) {
		s := dense.ScratchPool.Get().(*dense.Scratch)
		b := dense.Buffers[int64](s)[0]
		for ; lo < hi; lo += dense.Chunk {
			part := b[:min(dense.Chunk, hi-lo)]
			for i := range part {
				part[i] = int64((lo + i) % period / each)
			}
			store(outs[0].Data, lo, part)
		}
		dense.ScratchPool.Put(s)
	})
	return nil
}

func eye(in *dense.Call, _, outs []dense.Value) error {
	t, r := outs[0].Type, len(outs[0].Type.Shape)
	rows, cols := t.Shape[r-2], t.Shape[r-1]
	one, store, data := []int64{1}, dense.StoreInt[t.DType], outs[0].Data
	dense.Parallel(in.Worker, len(data), 1, func(lo, hi int) { clear(data[lo:hi]) })
	side := min(rows, cols)
	dense.Parallel(in.Worker, t.Size()/(rows*cols)*side, 4, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			matrix, i := k/side, k%side
			store(data, matrix*rows*cols+i*cols+i, one)
		}
	})
	return nil
}
