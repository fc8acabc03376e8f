package tile

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
)

// The models of time of an attention and of its gradient compare kernels with products that keep the scores in memory.
// The rates of those products are an H200's, a second; their ratios differ little between devices.
const (
	MemoryRate   = 4e12  // bytes
	multiplyRate = 45e12 // operations of a product by fused multiply-adds
	matrixRate   = 250e12
)

// ProductRate is how many operations a second a device does in a product of operands of a type.
func ProductRate(d ops.DType, t *lowering.Target) float64 {
	if slices.ContainsFunc(t.Matrices, func(m gemm.Matrix) bool { return m.Type == d }) {
		return matrixRate
	}
	return multiplyRate
}

// largeScores is the size of scores, in bytes, from which on they are not stored: few drivers allocate more at once.
const largeScores = 1 << 32

// Storable reports whether a device can store scores of so many bytes. Without addresses, a binding covers them.
func Storable(bytes float64, t *lowering.Target) bool {
	bound := t.MaxBinding > 0 && !t.Addresses && !t.Addressable
	return bytes < largeScores && (!bound || bytes <= float64(t.MaxBinding))
}
