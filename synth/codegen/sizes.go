package codegen

import (
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
)

// The sizes of workgroups and the steps of an invocation, by profile. A GPU is
// fastest with one step of four elements an invocation; a processor with many.
const (
	GPULocal = 256
	CPULocal = 16
	CPUSteps = 8
	CPUFlat  = 256 // points below which a flat job is not worth fours
)

// WordsOf is how a device moves elements of a size: as words, several an element
// where it has none that large.
func WordsOf(t *lowering.Target, size int) (word kernel.Elem, n int) {
	switch {
	case size == 1:
		return kernel.U8, 1
	case size == 2:
		return kernel.U16, 1
	case size == 4:
		return kernel.U32, 1
	case t.Int64:
		return kernel.U64, size / 8
	}
	return kernel.U32, size / 4
}
