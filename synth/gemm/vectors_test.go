package gemm

import (
	"testing"

	"nxvk/ops"
)

// TestSingleVector holds how a vector is multiplied: blocks of results and invocations of a workgroup. A multiprocessor has one
// workgroup at most, and each reads 64 bytes of a row or more of a large matrix.
func TestSingleVector(t *testing.T) {
	for _, c := range []struct {
		k, m            int
		blocks, threads int // 0 where k is shared out, or where there are too few workgroups
	}{
		{1024, 2048, 4, 512}, {1024, 3072, 4, 512}, {1024, 6144, 8, 512}, {3072, 1024, 2, 512}, {4096, 1024, 2, 512}, {4608, 1024, 2, 1024},
		{4096, 4096, 4, 512}, {4096, 14336, 16, 512}, {14336, 4096, 8, 1024}, {5632, 2048, 4, 1024}, {2048, 5632, 8, 512}, {8960, 1536, 4, 1024},
		{4096, 128256, 8, 512}, {1 << 16, 1024, 0, 0}, {1 << 16, 256, 0, 0}, {512, 512, 0, 0},
	} {
		p := rowMajor(ops.F32, c.m, 1, c.k, 1)
		p.Operands, p.A = ops.BF16, Strides{Row: 1, Col: c.m}
		blocks, threads, ok := p.single(gpu)
		if !ok {
			blocks, threads = 0, 0
		}
		if blocks != c.blocks || threads != c.threads {
			t.Errorf("%d by %dx%d: %d blocks, %d invocations; want %d, %d", c.k, c.k, c.m, blocks, threads, c.blocks, c.threads)
		}
	}
}
