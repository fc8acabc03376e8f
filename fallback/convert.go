package fallback

import (
	"fmt"

	"nxvk/fallback/sched"
	"nxvk/ops"
)

// Convert writes the elements of src to dst in dst's type: floats truncate
// toward zero where they become integers, NaN becomes 0 and infinities the
// extremes; integers wrap; a complex number that becomes real loses its
// imaginary part. Both have the same number of elements.
func Convert(dst, src Value) error {
	if a, b := src.Type.Size(), dst.Type.Size(); a != b {
		return fmt.Errorf("convert %v to %v: %w differs", src.Type, dst.Type, ops.ErrShape)
	}
	one, other := [1]Value{dst}, [1]Value{src}
	if aligned(one[:]) && aligned(other[:]) {
		convert(nil, dst, src)
		return nil
	}
	return runMoved(func(in *call, args, outs []Value) error {
		convert(in.w, outs[0], args[0])
		return nil
	}, &call{}, other[:], one[:])
}

func asType(in *call, args, outs []Value) error {
	convert(in.w, outs[0], args[0])
	return nil
}

func convert(w *sched.Worker, dst, src Value) {
	from, to := src.Type.DType, dst.Type.DType
	if from == to && from.Bits() >= 8 {
		copyBytes(w, dst.Data, src.Data)
		return
	}
	switch from.Class() {
	case ops.Float:
		convertVia(w, dst, src, loadFloat[from], storeFloat[to])
	case ops.Signed:
		convertVia(w, dst, src, loadInt[from], storeInt[to])
	case ops.Unsigned:
		convertVia(w, dst, src, loadUint[from], storeUint[to])
	default:
		convertVia(w, dst, src, loadCplx[from], storeCplx[to])
	}
}

func convertVia[C class](w *sched.Worker, dst, src Value, load loader[C], store storer[C]) {
	n := src.Type.Size()
	if n < parallelMin {
		convertRange(dst.Data, src.Data, 0, n, load, store)
		return
	}
	parallel(w, n, 1, func(lo, hi int) { convertRange(dst.Data, src.Data, lo, hi, load, store) })
}

func convertRange[C class](dst, src []byte, lo, hi int, load loader[C], store storer[C]) {
	s := scratches.Get().(*scratch)
	b := bufs[C](s)[0]
	for ; lo < hi; lo += chunk {
		part := b[:min(chunk, hi-lo)]
		load(part, src, lo, 1)
		store(dst, lo, part)
	}
	scratches.Put(s)
}

// asDType returns v in another type: itself where the type is the same.
func asDType(w *sched.Worker, v Value, d ops.DType) Value {
	if v.Type.DType == d {
		return v
	}
	out := newValue(ops.Type{DType: d, Shape: v.Type.Shape})
	convert(w, out, v)
	return out
}
