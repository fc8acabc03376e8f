package lowering

import (
	"nxvk/ops"
	"nxvk/synth/kernel"
)

// ElemOf is how elements of each type lie in memory.
var ElemOf = [...]kernel.Elem{
	ops.U2: kernel.U8, ops.U4: kernel.U8, ops.U8: kernel.U8, ops.U16: kernel.U16,
	ops.U32: kernel.U32, ops.U64: kernel.U64,
	ops.S2: kernel.I8, ops.S4: kernel.I8, ops.S8: kernel.I8, ops.S16: kernel.I16,
	ops.S32: kernel.I32, ops.S64: kernel.I64,
	ops.F8: kernel.U8, ops.F8E4M3: kernel.U8, ops.BF16: kernel.U16, ops.F16: kernel.U16,
	ops.F32: kernel.F32, ops.F64: kernel.F64,
	ops.C64: kernel.F32, ops.C128: kernel.F64, // the parts
}
