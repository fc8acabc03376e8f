// Package spirv writes kernels as SPIR-V words. It knows the instruction
// encoding, the structure rules of shaders and the two ways in which a kernel
// reaches memory: 64-bit addresses in the push constants, or storage-buffer
// bindings.
//
// The package refuses to know tensors, operations and Vulkan handles. It does
// not optimise: it writes the instructions of the kernel, one by one.
// Start reading at Compile, and for kernels that are written by hand at Splice.
package spirv

import (
	"nxvk/synth/kernel"
)

// Options say what the device can do and how the kernel reaches memory.
type Options struct {
	Addresses   bool // buffer addresses in front of the parameters; else bindings 0, 1, … of set 0
	Preserve32  bool // shaderSignedZeroInfNanPreserveFloat32
	Preserve64  bool // shaderSignedZeroInfNanPreserveFloat64
	RoundEven32 bool // shaderRoundingModeRTEFloat32
	RoundEven64 bool // shaderRoundingModeRTEFloat64
	Denorm32    bool // shaderDenormPreserveFloat32
	Denorm64    bool // shaderDenormPreserveFloat64
}

// ParamOffset returns where the parameters begin in the push constants of a
// kernel with n buffers.
func (o Options) ParamOffset(n int) int {
	if o.Addresses {
		return 8 * n
	}
	return 0
}

// Compile writes a verified kernel as a module whose entry point is "main".
func Compile(k *kernel.Kernel, o Options) []uint32 {
	m := newModule(k, o)
	defer scratches.Put(m.scratch)
	m.declareMemory()
	m.function()
	return m.assemble()
}
