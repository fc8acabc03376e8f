package tile

import (
	"nxvk/ops"
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
)

// Largest finds the largest matrices of a device for operands of a type that fit takes, which is called for larger ones only. It
// reports false where there are none. The matrices of scores become operands, so that columns are as many as terms.
func Largest(t *lowering.Target, d ops.DType, fits func(gemm.Matrix) bool) bool {
	size := 0
	for _, s := range t.Matrices {
		if s.Type == d && s.N == s.K && s.N%Vector == 0 && s.M*s.N > size && fits(s) {
			size = s.M * s.N
		}
	}
	return size > 0
}
