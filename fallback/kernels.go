package fallback

import (
	"nxvk/fallback/dense"
	"nxvk/fallback/elementwise"
	"nxvk/fallback/fft"
	"nxvk/fallback/linalg"
	"nxvk/fallback/matmul"
	"nxvk/fallback/movement"
	"nxvk/fallback/reduction"
	"nxvk/fallback/region"
	"nxvk/ops"
)

// HasLoop reports whether Run computes a pointwise operation on operands of a type by a loop
// over elements of that type, as quickly as it reads memory.
func HasLoop(op ops.Op, of ops.DType) bool { return elementwise.HasLoop(op, of) }

// The table from operation to kernel: each package of a family has a map of its own.
// Operations that other packages enter here override the pointwise ones.
func init() {
	for _, family := range []map[ops.Op]dense.Kernel{
		elementwise.Kernels,
		elementwise.SelectKernels,
		elementwise.BitKernels,
		movement.CreateKernels,
		movement.Kernels,
		movement.IndexKernels,
		reduction.Kernels,
		reduction.WindowKernels,
		reduction.OrderKernels,
		matmul.Kernels,
		linalg.Kernels,
		fft.Kernels,
		region.Kernels,
	} {
		dense.Register(family)
	}
}
