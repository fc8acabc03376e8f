package fallback

import (
	"math/bits"

	"nxvk/ops"
)

var bitKernels = map[ops.Op]kernel{
	ops.CountLeadingZeros: countBits(func(x uint64, width int) uint64 {
		return uint64(bits.LeadingZeros64(x) - (64 - width))
	}),
	ops.PopulationCount: countBits(func(x uint64, _ int) uint64 { return uint64(bits.OnesCount64(x)) }),
}

// countBits makes a kernel that looks at the bits of integers as stored: they
// are read without sign, and the width of the type is known.
func countBits(count func(x uint64, width int) uint64) kernel {
	return func(in *call, args, outs []Value) error {
		d := args[0].Type.DType
		width := d.Bits()
		if d.Class() == ops.Signed {
			d = ops.U2 + (d - ops.S2)
		}
		load, store := loadUint[d], storeUint[outs[0].Type.DType]
		if load == nil || !args[0].Type.DType.IsInteger() {
			return ErrUnsupported
		}
		parallel(in.w, args[0].Type.Size(), 1, func(lo, hi int) {
			s := scratches.Get().(*scratch)
			defer scratches.Put(s)
			buf := bufs[uint64](s)[0]
			for ; lo < hi; lo += chunk {
				xs := buf[:min(chunk, hi-lo)]
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
