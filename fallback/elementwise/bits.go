package elementwise

import (
	"math/bits"

	"nxvk/fallback/dense"
	"nxvk/ops"
)

var BitKernels = map[ops.Op]dense.Kernel{
	ops.CountLeadingZeros: countBits(func(x uint64, width int) uint64 {
		return uint64(bits.LeadingZeros64(x) - (64 - width))
	}),
	ops.PopulationCount: countBits(func(x uint64, _ int) uint64 { return uint64(bits.OnesCount64(x)) }),
}

// countBits returns a kernel that counts bits of integers as they are stored: it reads them
// without sign, and passes the width of their type.
func countBits(count func(x uint64, width int) uint64) dense.Kernel {
	return func(in *dense.Call, args, outs []dense.Value) error {
		d := args[0].Type.DType
		width := d.Bits()
		if d.Class() == ops.Signed {
			d = ops.U2 + (d - ops.S2)
		}
		load, store := dense.LoadUint[d], dense.StoreUint[outs[0].Type.DType]
		if load == nil || !args[0].Type.DType.IsInteger() {
			return dense.ErrUnsupported
		}
		dense.Parallel(in.Worker, args[0].Type.Size(), 1, func(lo, hi int) {
			s := dense.ScratchPool.Get().(*dense.Scratch)
			defer dense.ScratchPool.Put(s)
			buf := dense.Buffers[uint64](s)[0]
			for ; lo < hi; lo += dense.Chunk {
				xs := buf[:min(dense.Chunk, hi-lo)]
				load(xs, args[0].Data, lo, 1)
				for i, x := range xs {
					xs[i] = count(x, width)
				}
				store(outs[0].Data, lo, xs)
			}
		})
		return nil
	}
}
