package attention

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/lowering"
)

// Inline returns a region with the instructions of each attention that it states in the place of the attention, and
// the results of their last products. The region is not changed; without attention it is returned itself.
func Inline(r *ops.Region) (*ops.Region, map[ops.ID]bool) {
	if !states(r) {
		return r, nil
	}
	x := &inliner{next: r.LastID(), stated: map[ops.ID]bool{}}
	return x.region(r), x.stated
}

// FindStated is Find for the attention whose last products are stated: it is one instruction wherever a kernel
// computes it.
func FindStated(r *ops.Region, stated map[ops.ID]bool, t *lowering.Target) *ops.Region {
	if t == nil || t.CPU || !t.Allows(lowering.RuleAttention) {
		return r
	}
	return find(r, t, map[ops.ID]ops.Type{}, stated)
}

// states reports whether a region has attention that was stated.
func states(r *ops.Region) bool {
	return slices.ContainsFunc(r.Body, func(in ops.Instr) bool {
		return in.Op == ops.Attention || !in.Op.Info().Closed && slices.ContainsFunc(in.Regions, states)
	})
}

// inliner copies regions.
type inliner struct {
	next   ops.ID // the last id that is taken
	stated map[ops.ID]bool
}

func (x *inliner) region(r *ops.Region) *ops.Region {
	out := &ops.Region{Params: r.Params, Values: r.Values}
	for _, in := range r.Body {
		switch {
		case in.Op == ops.Attention:
			out.Body = append(out.Body, x.inline(&in)...)
			continue
		case !in.Op.Info().Closed && len(in.Regions) > 0:
			in.Regions = slices.Clone(in.Regions)
			for k, inner := range in.Regions {
				in.Regions[k] = x.region(inner)
			}
		}
		out.Body = append(out.Body, in)
	}
	return out
}

// inline is the region of an attention under new ids. Its value is the result of a reshape to the same shape, which
// costs nothing: the value may be a parameter.
func (x *inliner) inline(in *ops.Instr) []ops.Instr {
	r := in.Regions[0]
	is := make(map[ops.ID]ops.Operand, len(r.Params)+len(r.Body))
	for i, p := range r.Params {
		is[p.ID] = in.Ins[i]
	}
	body := make([]ops.Instr, 0, len(r.Body)+1)
	last := ops.ID(0)
	for _, one := range r.Body {
		one.Ins, one.Outs = operandsOf(one.Ins, is), slices.Clone(one.Outs)
		for i, o := range one.Outs {
			x.next++
			is[o.ID], one.Outs[i].ID = ops.Operand{ID: x.next}, x.next
		}
		if one.Op == ops.Dot {
			last = one.Outs[0].ID
		}
		body = append(body, one)
	}
	x.stated[last] = true
	return append(body, ops.Instr{Op: ops.Reshape, Ins: operandsOf(r.Values, is), Outs: in.Outs})
}

// operandsOf replaces values by operands that stand for them.
func operandsOf(list []ops.Operand, is map[ops.ID]ops.Operand) []ops.Operand {
	out := slices.Clone(list)
	for i, o := range out {
		if o.Lit == nil {
			out[i] = is[o.ID]
		}
	}
	return out
}
