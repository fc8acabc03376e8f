package graph

import (
	"slices"

	"nxvk/ops"
)

// Fold returns a region in which pointwise instructions have literals as operands in the place of what is
// computed of literals alone, and of tensors whose elements are all one literal, inside of loops and branches,
// too. Patterns that look for numbers find them there. The region is not changed.
func Fold(r *ops.Region, eval Eval) *ops.Region {
	if eval == nil {
		return r
	}
	return (&folder{eval: eval, known: make(map[ops.ID]*ops.Literal), shapes: make(map[ops.ID]ops.Shape)}).region(r)
}

// folder knows the values that have been seen.
type folder struct {
	eval   Eval
	known  map[ops.ID]*ops.Literal // that all elements equal
	shapes map[ops.ID]ops.Shape
}

func (f *folder) region(r *ops.Region) *ops.Region {
	for _, p := range r.Params {
		f.shapes[p.ID] = p.Type.Shape
	}
	body, changed := slices.Clone(r.Body), false
	for i := range body {
		in := &body[i]
		changed = f.operands(in) || changed
		changed = f.constant(in) || changed
		for _, o := range in.Outs {
			f.shapes[o.ID] = o.Type.Shape
		}
		for k, inner := range in.Regions {
			if in.Op.Info().Closed {
				break
			}
			if folded := f.region(inner); folded != inner {
				in.Regions = slices.Clone(in.Regions)
				in.Regions[k], changed = folded, true
			}
		}
	}
	if !changed {
		return r
	}
	return &ops.Region{Params: r.Params, Body: body, Values: r.Values}
}

// operands gives a pointwise instruction literals, where another operand has the shape of the result.
func (f *folder) operands(in *ops.Instr) (changed bool) {
	if in.Op.Info().Kind != ops.Pointwise || len(in.Outs) != 1 {
		return false
	}
	out := in.Outs[0].Type.Shape
	shaped := len(out) == 0 || slices.ContainsFunc(in.Ins, func(o ops.Operand) bool {
		return o.Lit == nil && f.known[o.ID] == nil && f.shapes[o.ID].Equal(out)
	})
	for k, o := range in.Ins {
		if lit := f.known[o.ID]; o.Lit == nil && lit != nil && shaped && !rounds(lit, in) {
			if !changed {
				in.Ins, changed = slices.Clone(in.Ins), true
			}
			in.Ins[k] = ops.Operand{Lit: lit}
		}
	}
	return changed
}

// rounds reports whether an integer is rounded before a float instruction if it is a literal, and not otherwise.
func rounds(lit *ops.Literal, in *ops.Instr) bool {
	d := lit.Type.DType
	return d.IsInteger() && d.Bits() > 24 && in.Outs[0].Type.DType.IsFloat()
}

// constant makes an instruction of scalar literals a constant, and knows what one is.
func (f *folder) constant(in *ops.Instr) bool {
	if in.Op != ops.Constant && in.Op.Info().Kind != ops.Pointwise || len(in.Outs) != 1 || in.Outs[0].Type.DType.IsComplex() {
		return false
	}
	for _, o := range in.Ins {
		if o.Lit == nil || len(o.Lit.Type.Shape) > 0 || o.Lit.Hold != nil {
			return false
		}
	}
	out := in.Outs[0].Type
	if in.Op == ops.Constant {
		if in.Ins[0].Lit.Type.DType == out.DType {
			f.known[in.Outs[0].ID] = in.Ins[0].Lit
		}
		return false
	}
	if len(out.Shape) > 0 {
		return false
	}
	data, err := f.eval(in)
	if err != nil {
		return false // it fails when it runs, too, and says so
	}
	lit := &ops.Literal{Type: out, Data: data}
	f.known[in.Outs[0].ID] = lit
	return become(in, ops.Constant, []ops.Operand{{Lit: lit}})
}
