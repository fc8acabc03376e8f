package dense

import (
	"nxvk/fallback/sched"
	"nxvk/ops"
)

func Convert(w *sched.Worker, dst, src Value) {
	from, to := src.Type.DType, dst.Type.DType
	if from == to && from.Bits() >= 8 {
		CopyBytes(w, dst.Data, src.Data)
		return
	}
	switch from.Class() {
	case ops.Float:
		convertVia(w, dst, src, LoadFloat[from], StoreFloat[to])
	case ops.Signed:
		convertVia(w, dst, src, LoadInt[from], StoreInt[to])
	case ops.Unsigned:
		convertVia(w, dst, src, LoadUint[from], StoreUint[to])
	default:
		convertVia(w, dst, src, LoadCplx[from], StoreCplx[to])
	}
}

func convertVia[C Class](w *sched.Worker, dst, src Value, load Loader[C], store Storer[C]) {
	n := src.Type.Size()
	if n < ParallelMin {
		convertRange(dst.Data, src.Data, 0, n, load, store)
		return
	}
	Parallel(w, n, 1, func(lo, hi int) { convertRange(dst.Data, src.Data, lo, hi, load, store) })
}

func convertRange[C Class](dst, src []byte, lo, hi int, load Loader[C], store Storer[C]) {
	s := ScratchPool.Get().(*Scratch)
	b := Buffers[C](s)[0]
	for ; lo < hi; lo += Chunk {
		part := b[:min(Chunk, hi-lo)]
		load(part, src, lo, 1)
		store(dst, lo, part)
	}
	ScratchPool.Put(s)
}

// As converts a value to another type. It returns the value itself where it has that type.
func As(w *sched.Worker, v Value, d ops.DType) Value {
	if v.Type.DType == d {
		return v
	}
	out := New(ops.Type{DType: d, Shape: v.Type.Shape})
	Convert(w, out, v)
	return out
}

// CopyBytes copies in slices.
func CopyBytes(w *sched.Worker, dst, src []byte) {
	if len(src) < ParallelMin {
		copy(dst, src)
		return
	}
	Parallel(w, len(src), 1, func(lo, hi int) { copy(dst[lo:hi], src[lo:hi]) })
}
