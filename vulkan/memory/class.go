package memory

import "math/bits"

// The size classes of small buffers are the multiples of 256 bytes up to 1 KiB, then each power of
// two up to 1 MiB and three steps between two powers. Larger buffers are rounded up to a multiple
// of 2 MiB. Above 1 KiB, rounding loses at most a quarter of a small buffer.
const (
	alignment  = 256
	smallest   = 1 << 10 // up to here classes are multiples of the alignment
	largest    = 1 << 20 // the last class
	granule    = 2 << 20 // the size of slabs and of larger buffers is a multiple
	classCount = 4 + 4*10
	slabCount  = 8 // regions of a slab, at least
)

// classOf returns the class that holds n bytes, 1 ≤ n ≤ largest.
func classOf(n uint64) int {
	if n <= smallest {
		return int((n+alignment-1)/alignment) - 1
	}
	e := bits.Len64(n-1) - 1 // 2^e < n ≤ 2^(e+1)
	step := uint64(1) << (e - 2)
	k := (n - 1<<e + step - 1) / step
	return 4 + (e-10)*4 + int(k) - 1
}

// classSize returns the bytes of a class.
func classSize(c int) uint64 {
	if c < 4 {
		return uint64(c+1) * alignment
	}
	e := 10 + (c-4)/4
	return 1<<e + uint64((c-4)%4+1)<<(e-2)
}

// slabSize returns the bytes of a slab of a class.
func slabSize(class int) uint64 {
	return roundUp(classSize(class)*slabCount, granule)
}

func roundUp(n, to uint64) uint64 { return (n + to - 1) / to * to }
