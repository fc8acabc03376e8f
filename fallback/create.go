package fallback

import "nxvk/ops"

var createKernels = map[ops.Op]kernel{
	ops.Constant: constant,
	ops.Tensor:   sameBytes,
	ops.Iota:     ramp,
	ops.Eye:      eye,
}

func constant(in *call, args, outs []Value) error {
	x := asDType(in.w, args[0], outs[0].Type.DType)
	fill(in.w, &outs[0], &x, make([]int, len(outs[0].Type.Shape)), 0)
	return nil
}

// ramp writes the index along the axis, or the flat index.
func ramp(in *call, _, outs []Value) error {
	t := outs[0].Type
	period, each := t.Size(), 1 // every each elements the index steps, and starts again after period
	if axis := in.Attrs[0][0]; axis >= 0 {
		each = t.Shape.Strides()[axis]
		period = each * t.Shape[axis]
	}
	store := storeInt[t.DType]
	parallel(in.w, t.Size(), 1, func(lo, hi int) {
		s := scratches.Get().(*scratch)
		b := bufs[int64](s)[0]
		for ; lo < hi; lo += chunk {
			part := b[:min(chunk, hi-lo)]
			for i := range part {
				part[i] = int64((lo + i) % period / each)
			}
			store(outs[0].Data, lo, part)
		}
		scratches.Put(s)
	})
	return nil
}

func eye(in *call, _, outs []Value) error {
	t, r := outs[0].Type, len(outs[0].Type.Shape)
	rows, cols := t.Shape[r-2], t.Shape[r-1]
	one, store, data := []int64{1}, storeInt[t.DType], outs[0].Data
	parallel(in.w, len(data), 1, func(lo, hi int) { clear(data[lo:hi]) })
	side := min(rows, cols)
	parallel(in.w, t.Size()/(rows*cols)*side, 4, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			matrix, i := k/side, k%side
			store(data, matrix*rows*cols+i*cols+i, one)
		}
	})
	return nil
}
