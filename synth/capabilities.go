package synth

import "nxvk/ops"

// capabilities answers what the partitioner asks of the packages of operations.
type capabilities struct{}

// Tiles is that of package movement.
func (capabilities) Tiles(in *ops.Instr, operand ops.Type, t *Target) bool {
	return tiles(in, operand, t)
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
func (capabilities) KeepsOut(in *ops.Instr, types []ops.Type, t *Target) reason {
	out := in.Outs[0].Type
	switch {
	case t.CPU:
		return productOfCPU
	case out.DType.IsComplex() || !t.computes(out.DType) || dotSupported(out.DType.Wide(), types, t) != nil:
		return otherType
	case in.Op == ops.Conv && (in.Ins[0].Lit != nil || in.Ins[1].Lit != nil):
		return readsTensor
	case in.Op == ops.Conv:
		return keepsOut(newConvolution(in, types, t))
	}
	k := 1
	for _, ax := range in.Attrs[0] {
		k *= types[0].Shape[ax]
	}
	if !pays(out.Size(), k) {
		return longProduct
	}
	return ""
}

// pays reports whether a pass over the results of a product counts beside sums of
// k terms.
func pays(results, k int) bool { return results <= manyProducts || k < longSum }

// keepsOut is that of a convolution.
func keepsOut(c *convolution) reason {
	switch {
	case !pays(c.in.Outs[0].Type.Size(), c.depth()):
		return longProduct
	case !c.inOrder():
		return otherProduct
	}
	return ""
}
