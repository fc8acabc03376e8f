package codegen

import (
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
)

// Workgroup sizes and steps of an invocation, by profile. A GPU is fastest with one step of four
// elements, a processor with many.
const (
	GPULocal = 256
	CPULocal = 16
	CPUSteps = 8
	CPUFlat  = 256 // points below which vectors do not pay
)

// WordsOf is the word that moves elements of a size, and how many words an element is.
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
