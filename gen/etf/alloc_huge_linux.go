package etf

import "syscall"

// hugePage is from which size a block is worth pages of the largest kind.
const hugePage = 2 << 20

// adviseHuge asks for large pages: each of the small ones would be a fault of its
// own when it is first written, which takes longer than the writing. A kernel that
// has none goes on with small ones.
func adviseHuge(mem []byte) {
	if len(mem) >= hugePage {
		_ = syscall.Madvise(mem, syscall.MADV_HUGEPAGE)
	}
}
