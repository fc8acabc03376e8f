package fused

import (
	"nxvk/ops"
	"nxvk/synth/conv"
	"nxvk/synth/dot"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
	"nxvk/synth/movement"
)

// Capabilities answers what the partitioner asks of the packages of operations.
type Capabilities struct{}

// Tiles is that of package movement.
func (Capabilities) Tiles(in *ops.Instr, operand ops.Type, t *lowering.Target) bool {
	return movement.Tiles(in, operand, t)
}

// Where a sum is long, and there are so many that the device is busy, the product
// takes so long that a pass over its results is next to nothing.
const (
	longSum      = 2048
	manyProducts = 1 << 18
)

// KeepsOut says why nothing comes into the kernels of a product: they do not have its
// results as these lie in memory, or there is little to gain. A processor's take
// nothing in: a dispatch costs it little, and its caches have the results.
func (Capabilities) KeepsOut(in *ops.Instr, types []ops.Type, t *lowering.Target) fusion.Reason {
	out := in.Outs[0].Type
	switch {
	case t.CPU:
		return fusion.ProductOfCPU
	case out.DType.IsComplex() || !t.Computes(out.DType) || dot.Supported(out.DType.Wide(), types, t) != nil:
		return fusion.OtherType
	case in.Op == ops.Conv && (in.Ins[0].Lit != nil || in.Ins[1].Lit != nil):
		return fusion.ReadsTensor
	case in.Op == ops.Conv:
		return keepsOut(conv.New(in, types, t))
	}
	k := 1
	for _, ax := range in.Attrs[0] {
		k *= types[0].Shape[ax]
	}
	if !pays(out.Size(), k) {
		return fusion.LongProduct
	}
	return ""
}

// pays reports whether a pass over the results of a product counts beside sums of
// k terms.
func pays(results, k int) bool { return results <= manyProducts || k < longSum }

// keepsOut is that of a convolution.
func keepsOut(c *conv.Convolution) fusion.Reason {
	switch {
	case !pays(c.In.Outs[0].Type.Size(), c.Depth()):
		return fusion.LongProduct
	case !c.InOrder():
		return fusion.OtherProduct
	}
	return ""
}
