package graph

import (
	"slices"

	"nxvk/ops"
)

// Swap returns a region in which a transposition of a product that nothing else reads, such as a gradient of
// a weight, is the product of the operands in the other order. The kernel then writes it as it is wanted.
//
// The terms of a sum are the same, but another tile may add them up in another order: a result is within
// the bound of products (decision 10 of ARCHITECTURE). The region that is given stays as it is.
func Swap(r *ops.Region) *ops.Region {
	s := &swapper{rewriter: newRewriter(r)}
	s.rewrite = s.transpose
	return dropUnread(s.region(r))
}

type swapper struct{ *rewriter }

// transpose rewrites a transposition of a product.
func (s *swapper) transpose(in *ops.Instr) bool {
	if in.Op != ops.Transpose || in.Ins[0].Lit != nil || s.uses[in.Ins[0].ID] != 1 {
		return false
	}
	dot := s.made[in.Ins[0].ID]
	if dot == nil || dot.Op != ops.Dot || dot.Ins[0].Lit != nil || dot.Ins[1].Lit != nil || !s.exchanges(in.Attrs[0], dot) {
		return false
	}
	a := dot.Attrs
	s.body = append(s.body, ops.Instr{Op: ops.Dot, Ins: []ops.Operand{dot.Ins[1], dot.Ins[0]}, Outs: in.Outs, Attrs: [][]int{a[2], a[3], a[0], a[1]}})
	return true
}

// exchanges reports whether a permutation puts the free axes of the right operand of a product before those
// of the left one, and leaves the batch where it is.
func (s *swapper) exchanges(axes []int, dot *ops.Instr) bool {
	batch := len(dot.Attrs[1])
	left := len(s.typeOf(dot.Ins[0]).Shape) - len(dot.Attrs[0]) - batch
	want := make([]int, 0, len(axes))
	for i := range axes {
		switch n := len(axes) - batch - left; {
		case i < batch:
			want = append(want, i)
		case i < batch+n:
			want = append(want, i+left)
		default:
			want = append(want, i-n)
		}
	}
	return slices.Equal(axes, want)
}

// dropUnread leaves out products, transpositions and padded values that nothing reads, also those in the regions of instructions. The region
// that is given stays as it is.
func dropUnread(r *ops.Region) *ops.Region {
	uses := usesIn(r)
	var drop func(r *ops.Region) *ops.Region
	drop = func(r *ops.Region) *ops.Region {
		out := &ops.Region{Params: r.Params, Values: r.Values}
		changed := false
		for _, in := range r.Body {
			if (in.Op == ops.Dot || in.Op == ops.Transpose || in.Op == ops.Pad || in.Op == ops.PutSlice) && uses[in.Outs[0].ID] == 0 {
				changed = true
				continue
			}
			for k, inner := range in.Regions {
				if in.Op.Info().Closed {
					break
				}
				if d := drop(inner); d != inner {
					in.Regions = slices.Clone(in.Regions)
					in.Regions[k], changed = d, true
				}
			}
			out.Body = append(out.Body, in)
		}
		if !changed {
			return r
		}
		return out
	}
	return drop(r)
}
