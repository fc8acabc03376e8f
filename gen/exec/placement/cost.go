package placement

import (
	"math/bits"

	"nxvk/fallback/fft"
	"nxvk/ops"
)

// InlineCost is how much work the host does in a turn of the Executor, in elements of
// about a nanosecond: more is a job. Handing a job over and taking it back costs about as
// much.
const InlineCost = 64 << 10

// HostCost estimates what an instruction costs on the host, in elements of about a
// nanosecond. It is as good as it has to be to tell little work from much.
func HostCost(in *ops.Instr, types []ops.Type) int {
	in0 := 1
	total := 0
	for i, t := range types {
		if i == 0 {
			in0 = t.Size()
		}
		total += t.Size()
	}
	out := 0
	for _, r := range in.Outs {
		out += r.Type.Size()
	}
	total += out
	if in.Op == ops.Dot || in.Op == ops.Conv {
		return total + saturated(out, contracted(in, types))
	}
	switch in.Op.Info().Kind {
	case ops.Pointwise:
		if quick(in, types) && alike(in, types) {
			return total / 2
		}
		return 4 * total
	case ops.Window:
		return total + saturated(4*max(out, types[len(types)-1].Size()), ops.Shape(in.Attrs[0]).Size())
	case ops.Order:
		return saturated(total, 8+bits.Len(uint(total)))
	case ops.Transform:
		return total + transformed(in, types[0].Shape)
	case ops.LinAlg:
		side := 1
		if s := types[0].Shape; len(s) > 0 {
			side = s[len(s)-1]
		}
		return saturated(4*max(in0, out), side)
	case ops.Fold, ops.Composite:
		return InlineCost + 1 // a region may take any time
	}
	return 2 * total
}

// contracted is how many products each element of a product of matrices or a convolution sums.
func contracted(in *ops.Instr, types []ops.Type) int {
	if in.Op == ops.Conv {
		kernel := types[1]
		return kernel.Size() / max(1, kernel.Shape[in.Attrs[ops.ConvKernelPermutation][0]])
	}
	n := 1
	for _, a := range in.Attrs[0] {
		n *= types[0].Shape[a]
	}
	return n
}

// transformed is the cost of the lines that a Fourier transform of a shape has.
func transformed(in *ops.Instr, shape ops.Shape) int {
	cost, size := 0, shape.Size()
	lengths, axes := in.Attrs[0], in.Attrs[1]
	for i := len(lengths) - 1; i >= 0; i-- {
		lines := size / max(1, shape[axes[i]])
		cost += saturated(lines, fft.LineCost(lengths[i]))
		size = saturated(lines, lengths[i])
	}
	return cost
}

// saturated is a product that does not overflow.
func saturated(a, b int) int {
	if hi, lo := bits.Mul64(uint64(a), uint64(b)); hi == 0 && lo < 1<<62 {
		return int(lo)
	}
	return 1 << 62
}
