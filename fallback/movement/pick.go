package movement

import (
	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
	"nxvk/ops"
)

// pickEach copies single elements of a size: element at[i] of src to place i of
// dst.
func pickEach(w *sched.Worker, dst, src []byte, size int, at []int) {
	switch size {
	case 1:
		pick(w, dst, src, at)
	case 2:
		pick(w, dense.View[uint16](dst), dense.View[uint16](src), at)
	case 4:
		pick(w, dense.View[uint32](dst), dense.View[uint32](src), at)
	case 8:
		pick(w, dense.View[uint64](dst), dense.View[uint64](src), at)
	case ops.C128.Size():
		pick(w, dense.View[complex128](dst), dense.View[complex128](src), at)
	default:
		panic("BUG: elements of an unknown size")
	}
}

func pick[T any](w *sched.Worker, dst, src []T, at []int) {
	dense.Parallel(w, len(at), 1, func(lo, hi int) {
		to := dst[lo:hi]
		for i, from := range at[lo:hi] {
			to[i] = src[from]
		}
	})
}
