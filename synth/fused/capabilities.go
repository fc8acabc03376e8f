package fused

import (
	"math"

	"nxvk/ops"
	"nxvk/synth/conv"
	"nxvk/synth/dot"
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
	"nxvk/synth/movement"
	"nxvk/synth/partition"
	"nxvk/synth/reduction"
)

// Capabilities answers the partitioner's questions about the kernels of operations.
type Capabilities struct{}

// Tiles reports whether package movement copies a transposition in tiles.
func (Capabilities) Tiles(in *ops.Instr, operand ops.Type, t *lowering.Target) bool {
	return movement.Tiles(in, operand, t)
}

// FoldsAcross reports whether package reduction loads what is transposed as it lies in memory.
func (Capabilities) FoldsAcross(fold, transposition *ops.Instr, operand ops.Type, t *lowering.Target) bool {
	return reduction.Loads(fold, transposition, operand, t)
}

// A product of many long sums takes so long that another pass over its results costs
// next to nothing.
const (
	longSum      = 2048
	manyProducts = 1 << 18
)

// KeepsOut says why the kernels of a product have no epilogue: they hold its results
// in another order than memory, or the gain is small. Kernels for processors have
// none, because a dispatch costs a processor little and its caches hold the results.
func (Capabilities) KeepsOut(in *ops.Instr, types []ops.Type, t *lowering.Target) partition.Reason {
	out := in.Outs[0].Type
	switch {
	case t.CPU:
		return partition.ProductOfCPU
	case out.DType.IsComplex() || !t.Computes(out.DType) || dot.Supported(out.DType.Wide(), types, t) != nil:
		return partition.OtherType
	case in.Op == ops.Conv && (in.Ins[0].Lit != nil || in.Ins[1].Lit != nil):
		return partition.ReadsTensor
	case in.Op == ops.Conv:
		return keepsOut(conv.New(in, types, t))
	}
	k := 1
	for _, ax := range in.Attrs[0] {
		k *= types[0].Shape[ax]
	}
	if !pays(out.Size(), k) {
		return partition.LongProduct
	}
	return ""
}

// An epilogue of matrix hardware is carried out by the few invocations that hold the sums, so that an operation takes
// about as long as several in a kernel of its own, where memory bounds them. That takes another pass over the
// results and a dispatch. The times are of an H200, where a bf16 product of 32×197×768 by 768×3072 takes 325 µs with a gelu of 116
// operations, and one of as many terms without an epilogue 99.
const (
	operationSeconds = 0.07e-12 // of an element
	// fewOperations may always be an epilogue, such as those of a bias, a scale and a bound.
	fewOperations = 32
)

// MostOperations bounds the operations of an epilogue for an element.
func (Capabilities) MostOperations(in *ops.Instr, types []ops.Type, t *lowering.Target) int {
	onHardware := in.Op == ops.Dot && dot.OnHardware(in, types, t) || in.Op == ops.Conv && conv.New(in, types, t).OnHardware()
	if !onHardware {
		return math.MaxInt
	}
	out := in.Outs[0].Type
	apart := gemm.Moved(2*out.Bytes()) / float64(max(1, out.Size()))
	return max(fewOperations, int(apart/operationSeconds))
}

// pays reports whether a pass over the results of a product counts beside sums of
// k terms.
func pays(results, k int) bool { return results <= manyProducts || k < longSum }

// keepsOut is KeepsOut for a convolution.
func keepsOut(c *conv.Convolution) partition.Reason {
	switch {
	case !pays(c.In.Outs[0].Type.Size(), c.Depth()):
		return partition.LongProduct
	case !c.InOrder():
		return partition.OtherProduct
	}
	return ""
}
